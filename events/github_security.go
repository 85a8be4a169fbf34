package events

import "cmp"

// alert describes a security alert.
func (f *forge) alert(event *Event) {
	alert := f.child("alert")
	advisory, rule := alert.child("security_advisory"), alert.child("rule")
	what := cmp.Or(advisory.text("summary"), rule.text("description"), rule.text("name"), alert.text("secret_type_display_name"),
		named("secret", alert.text("secret_type")), alert.text("affected_package_name"))
	event.Title = f.inRepo("Security alert", f.action) + ": " + cmp.Or(what, f.kind)
	event.Text = joined("\n", named("in", alert.text("dependency", "manifest_path")), advisory.text("description"))
	event.Severity = ""
	event.setSeverity(cmp.Or(advisory.text("severity"), rule.text("security_severity_level"), rule.text("severity"), "high"))
	event.Fingerprint = joined(" ", f.repo, f.kind, alert.text("number"))
	event.StartedAt = timeOf(alert.text("created_at"))
	event.setLabel("package", alert.text("dependency", "package", "name"))
	event.setLabel("cve", advisory.text("cve_id"))
	switch f.action {
	case "fixed", "dismissed", "auto_dismissed", "resolved", "closed_by_user", "dismiss", "resolve":
		event.Status = Resolved
	default:
		event.Status = Firing
	}
	event.addLink("Alert", "html_url", alert.text("html_url"))
}

// advisory describes a security advisory of GitHub's, or of a repository.
func (f *forge) advisory(event *Event) {
	advisory := f.child(f.kind)
	event.Title = f.inRepo("Security advisory", f.action) + ": " + cmp.Or(advisory.text("summary"), advisory.text("ghsa_id"))
	event.Text = advisory.text("description")
	event.setSeverity(advisory.text("severity"))
	event.addLabels(advisory, "ghsa_id", "cve_id")
	address := advisory.text("html_url")
	if id := advisory.text("ghsa_id"); address == "" && id != "" {
		address = "https://github.com/advisories/" + id
	}
	event.addLink("Advisory", "html_url", address)
}
