package events

// Claims lists the sources that take a webhook for one of theirs, but for the one that takes what nobody does.
func Claims(w Webhook) []string {
	w.Source = ""
	in, _, err := standard.open(w)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range known {
		if s.name != generic.name && s.claims(in) {
			names = append(names, s.name)
		}
	}
	return names
}
