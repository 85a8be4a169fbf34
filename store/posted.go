package store

// Record is what is kept of a message that was admitted, so that a resolve, a repeat or a count of what was held
// back finds it. lua/admit.lua writes it, lua/ack.lua adds where it is in Slack. Times are microseconds of
// Redis's clock.
type PostedMessage struct {
	Category string        `json:"category,omitempty"`
	At       int64         `json:"at,string,omitempty"` // of the admission
	Events   []PostedEvent `json:"events,omitempty"`    // what the message lists: one, or the first of a bundle
	// Members are the events of the bundle beyond those, by their fingerprints: when each was over, in seconds; 0 = it is not.
	Members           map[string]int64 `json:"members,omitempty"`
	Untracked         int64            `json:"more,omitempty"` // events of the bundle that are not followed
	UntrackedResolved int64            `json:"over,omitempty"` // and those that were over when they came
	// Bundle is the name of a bundle that further calls add to, and Before are the messages that told of the same before.
	Bundle  string   `json:"bundle,omitempty"`
	Earlier []string `json:"before,omitempty"`

	Repeats    int64 `json:"repeats,omitempty"` // how often it was told again
	LastRepeat int64 `json:"last,string,omitempty"`
	// Held is how many events of the category were held back since, and what the last one was.
	Merged      int64  `json:"held,omitempty"`
	MergedAt    int64  `json:"held_at,string,omitempty"`
	MergedTitle string `json:"held_title,omitempty"`
	LastEdit    int64  `json:"edit,string,omitempty"` // the number of the last edit
	EditDue     int64  `json:"due,string,omitempty"`  // when that is due
	InSlack     bool   `json:"shown,omitempty"`       // it is in Slack
	Channel     string `json:"channel,omitempty"`     // Slack's id of the channel
	TS          string `json:"ts,omitempty"`          // Slack's name of the message; webhooks do not tell it
}

// RecordEvent is one event of a message.
type PostedEvent struct {
	Fingerprint string `json:"f,omitempty"`
	Payload     string `json:"p,omitempty"`
	Resolved    int64  `json:"r,string,omitempty"` // when; 0 = it is not
}

// Digest is what a digest says: the payload of an entry, written by lua/digest.lua.
type Digest struct {
	ID     string           `json:"id"`
	From   int64            `json:"from,string"`
	Last   int64            `json:"last,string"`
	Counts map[string]int64 `json:"counts"` // "d:<category>:<severity>" dropped, "x:..." expired, "t:<title>"
	Silent []string         `json:"silent"` // categories of which nothing got through
	Closed bool             `json:"closed"` // nothing will be added
	Post   int64            `json:"post,string"`
}

// Waiting is a message that waits for a slot.
type DelayedMessage struct {
	Number  int64
	Payload []byte
}
