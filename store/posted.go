package store

// PostedMessage is what is remembered of an admitted message, so that a resolve, a repeat or a merged event finds it.
// lua/admit.lua writes it, lua/ack.lua adds where it is in Slack, and lua/mark.lua who acknowledged or muted it. Times are
// microseconds of the store's clock.
type PostedMessage struct {
	Category string        `json:"category,omitempty"`
	At       int64         `json:"at,string,omitempty"`   // when it was admitted
	From     int64         `json:"from,string,omitempty"` // of a digest: when the first event was dropped that it counts
	Events   []PostedEvent `json:"events,omitempty"`      // those that the message lists: one, or the first of a bundle
	// Members are the further events of the bundle, by fingerprint: when each was resolved, in seconds; 0 = it is firing.
	Members map[string]int64 `json:"members,omitempty"`
	// Untracked is the number of events of the bundle beyond these, and UntrackedResolved of those of them that are resolved.
	Untracked         int64 `json:"more,omitempty"`
	UntrackedResolved int64 `json:"over,omitempty"`
	// Bundle is the name of a bundle that later calls add to, and Earlier are the numbers of the messages that reported
	// the same alerts before.
	Bundle  string   `json:"bundle,omitempty"`
	Earlier []string `json:"before,omitempty"`

	Repeats    int64 `json:"repeats,omitempty"`     // how often a firing was repeated
	LastRepeat int64 `json:"last,string,omitempty"` // when it was last
	// Merged is the number of later events of the category that were counted on this message; the last of them arrived at
	// MergedAt with MergedTitle.
	Merged      int64  `json:"held,omitempty"`
	MergedAt    int64  `json:"held_at,string,omitempty"`
	MergedTitle string `json:"held_title,omitempty"`

	// Acknowledged is who acknowledged the message, and Muted who muted it; nil = nobody.
	Acknowledged *Mark `json:"ack,omitempty"`
	Muted        *Mark `json:"mute,omitempty"`

	LastEdit int64  `json:"edit,string,omitempty"` // the number of the last edit's entry
	EditDue  int64  `json:"due,string,omitempty"`  // when that entry is due
	InSlack  bool   `json:"shown,omitempty"`       // it was delivered, or may have been
	Channel  string `json:"channel,omitempty"`     // Slack's id of the channel
	TS       string `json:"ts,omitempty"`          // Slack's id of the message; incoming webhooks do not return it
}

// PostedEvent is one event that a message lists.
type PostedEvent struct {
	Fingerprint string `json:"f,omitempty"`
	Payload     string `json:"p,omitempty"`
	Resolved    int64  `json:"r,string,omitempty"` // when it was resolved; 0 = it is firing
}

// Firing reports whether any alert of the message is firing.
func (m *PostedMessage) Firing() bool {
	for _, event := range m.Events {
		if event.Fingerprint != "" && event.Resolved == 0 {
			return true
		}
	}
	for _, overAt := range m.Members {
		if overAt == 0 {
			return true
		}
	}
	return m.Members != nil && m.Untracked > 0
}
