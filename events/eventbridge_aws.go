package events

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Fields of a detail that name what an event is about, the narrowest last. Names of units are few and make a category; names of
// things are many.
var (
	awsUnits = []string{
		"stateMachineArn", "clusterArn", "stack-id", "pipeline", "stage", "action", "project-name", "application", "deploymentGroup",
		"AutoScalingGroupName", "jobName", "job-name", "repository-name", "configRuleName", "check-name", "backupVaultName",
	}
	awsThings = []string{"instance-id", "SourceIdentifier", "resourceId", "resourceArn", "volume", "group"}
	awsTexts  = []string{
		"reason", "message", "Message", "description", "StatusMessage", "statusReason", "stoppedReason", "statusMessage", "cause",
		"errorMessage", "Cause",
	}
	awsOutcomes = []string{
		"build-status", "state", "status", "scan-status", "currentStatus", "lastStatus", "result", "StatusCode",
	}
)

// change decodes an event of a service of AWS: a build that failed, a task that stopped, a resource that is not compliant.
func (e *Event) change(o, detail object) {
	kind := o.text("detail-type")
	topic := strings.TrimSuffix(strings.TrimSuffix(kind, " Unsuccessful"), " Successful")
	unit, thing := namesIn(detail, awsUnits), namesIn(detail, awsThings)
	if strings.HasPrefix(kind, "ECS") && !strings.HasPrefix(kind, "ECS Task") {
		unit = joined(" ", unit, arnName(strings.Join(o.texts("resources"), "")))
	} else if strings.Contains(kind, "CloudTrail") {
		unit = detail.text("eventName")
	}
	outcome := awsOutcomeOf(kind, detail)
	e.awsOutcome(outcome, joined(" ", topic, unit, thing))
	e.Category = joined(" ", topic, unit)
	subject := joined(" ", unit, thing)
	if topic == kind {
		subject = joined(" ", subject, spaced(strings.ToLower(outcome)))
	}
	e.Title = joined(": ", kind, subject)
	e.Text = cmp.Or(detail.first(awsTexts...), detail.text("status-details", "status-reason"),
		detail.text("newEvaluationResult", "annotation"))
	e.addLabels(detail, "errorCode", "EC2InstanceId")
	e.setLabel("user", detail.text("userIdentity", "arn"))
	e.addLink("Log", "deep-link", detail.text("additional-information", "logs", "deep-link"))
}

func namesIn(detail object, fields []string) string {
	var names []string
	for _, field := range fields {
		names = append(names, arnName(detail.text(field)))
	}
	return joined(" ", names...)
}

// awsOutcomeOf is the word for what happened.
func awsOutcomeOf(kind string, detail object) string {
	switch {
	case strings.HasPrefix(kind, "ECS Task"):
		return ecsTaskOutcome(detail)
	case strings.HasPrefix(kind, "ECS"):
		return detail.text("eventName")
	case strings.HasSuffix(kind, "Unsuccessful"):
		return "unsuccessful"
	case strings.HasSuffix(kind, "Successful"):
		return "successful"
	default:
		return cmp.Or(detail.text("status-details", "status"), detail.text("newEvaluationResult", "complianceType"),
			detail.text("responseElements", "ConsoleLogin"), detail.first(awsOutcomes...))
	}
}

// ecsTaskOutcome is the status of a task, or how it failed.
func ecsTaskOutcome(detail object) string {
	for _, container := range detail.objects("containers") {
		if code := container.text("exitCode"); code != "" && code != "0" {
			return "failed with exit code " + code
		}
	}
	if strings.Contains(detail.text("stopCode"), "Failed") {
		return "failed to start"
	}
	return detail.text("lastStatus")
}

// Parts of words for outcomes. A word with one of the first list is a failure even where it has one of the others too.
var (
	awsFailures  = []string{"fail", "fault", "error", "timed_out", "timeout", "rollback", "unsuccess", "non_compliant"}
	awsSuccesses = []string{"success", "succeeded", "compliant", "complete", "steady_state"}
	awsProgress  = []string{"start", "running", "progress", "pending", "provision", "submitted", "queued", "created", "stopped"}
)

// awsOutcome sets severity and status from the word for what happened.
func (e *Event) awsOutcome(word, fingerprint string) {
	word = strings.ToLower(word)
	in := func(part string) bool { return strings.Contains(word, part) }
	switch {
	case slices.ContainsFunc(awsFailures, in):
		e.Severity, e.Status, e.Fingerprint = Error, Firing, fingerprint
	case slices.ContainsFunc(awsProgress, in):
		e.Severity = Info
	case slices.ContainsFunc(awsSuccesses, in):
		e.Severity, e.Status, e.Fingerprint = Info, Resolved, fingerprint
	default:
		e.Severity = Warning
	}
}

// finding decodes what GuardDuty, Inspector, Macie, Access Analyzer or Security Hub found.
func (e *Event) finding(kind string, finding object) {
	first := func(names ...string) string {
		for _, name := range names {
			if text := cmp.Or(finding.text(name), finding.text(strings.ToUpper(name[:1])+name[1:])); text != "" {
				return text
			}
		}
		return ""
	}
	types := append(finding.texts("Types"), first("type", "generatorId", "findingType"))
	e.Category = joined(" ", kind, types[0])
	e.Title = joined(": ", kind, first("title", "resource", "type"))
	e.Text = first("description")
	e.Fingerprint = cmp.Or(first("id"), finding.text("findingArn"))
	e.Status = Firing
	switch cmp.Or(finding.text("Workflow", "Status"), finding.text("RecordState"), first("status"), finding.text("service", "archived")) {
	case "RESOLVED", "SUPPRESSED", "ARCHIVED", "CLOSED", "true":
		e.Status = Resolved
	}
	if finding.text("RecordState") == "ARCHIVED" {
		e.Status = Resolved
	}
	severity := cmp.Or(first("severity"), finding.text("severity", "description"), finding.text("Severity", "Label"))
	if score, err := strconv.ParseFloat(severity, 64); err == nil {
		severity = guarddutySeverity(score)
	}
	e.setSeverity(severity)
	e.setLabel("resource", cmp.Or(finding.text("resource", "instanceDetails", "instanceId"), finding.text("resource", "resourceType")))
	for _, resource := range append(finding.objects("Resources"), finding.objects("resources")...) {
		e.setLabel("resource", resource.first("Id", "id"))
	}
}

// guarddutySeverity is the word for a score of 1 to 10
// (https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_findings-severity.html).
func guarddutySeverity(score float64) string {
	switch {
	case score >= 9:
		return "critical"
	case score >= 7:
		return "high"
	case score >= 4:
		return "medium"
	default:
		return "low"
	}
}

// arnName is the name at the end of an ARN, without an id after it, as in stack/NAME/ID; any other text is itself.
func arnName(arn string) string {
	if !strings.HasPrefix(arn, "arn:") {
		return arn
	}
	last := arn[strings.LastIndexByte(arn, ':')+1:]
	if parts := strings.Split(last, "/"); len(parts) > 1 {
		if parts[0] == "stack" {
			return parts[1]
		}
		return parts[len(parts)-1]
	}
	return last
}
