package simulation

import "time"

// Result are the counts of a played trace. An event is shown when a message with it is posted, or when a message that is
// posted counts it.
type Result struct {
	Name      string `json:"name"`
	Received  int64  `json:"received"`
	Sent      int64  `json:"sent"` // admitted events
	Merged    int64  `json:"merged"`
	Dropped   int64  `json:"dropped"`
	Duplicate int64  `json:"duplicate"`
	Muted     int64  `json:"muted"`
	Expired   int64  `json:"expired"` // of Sent

	Messages int64 `json:"messages"` // posted in Slack, with the digests
	Digests  int64 `json:"digests"`  // of Messages
	Edits    int64 `json:"edits"`    // of messages in Slack

	// Unheard is how many categories had events that were dropped or expired, and none that was shown. UnheardCritical of
	// them had critical events.
	Unheard         int `json:"unheard"`
	UnheardCritical int `json:"unheard_critical"`
	// CriticalLost is how many critical events that began an alert were dropped or expired.
	CriticalLost int64 `json:"critical_lost"`
	// Problems is how many alerts fired for longer than [Setting].Lasting, each firing up to its resolve. Of ProblemsUnheard of them,
	// CriticalUnheard of which were critical, no message said anything while they waited: not alone, not in a group, not as
	// flapping, and not by the alert that inhibits them.
	Problems        int64 `json:"problems"`
	ProblemsUnheard int64 `json:"problems_unheard"`
	CriticalUnheard int64 `json:"critical_unheard"`
	// LatestNotice is the longest time from the beginning of a problem that was heard to the first message about it, in seconds.
	LatestNotice float64 `json:"latest_notice"`
	// LongestSilence is the longest of all categories that were heard, in seconds, and LongestSilent the name of that category.
	LongestSilence float64 `json:"longest_silence"`
	LongestSilent  string  `json:"longest_silent,omitempty"`

	Categories []Category `json:"categories"` // the busiest first

	// PostedPerStep and ReceivedPerStep are messages and events over time, for charts. Messages that are posted after the
	// last event may need more steps.
	PostedPerStep   []int64       `json:"-"`
	ReceivedPerStep []int64       `json:"-"`
	Step            time.Duration `json:"-"`
}

// Category are the counts of one category. Times are in seconds.
type Category struct {
	Category  string `json:"category"`
	Received  int64  `json:"received"`
	Sent      int64  `json:"sent"`
	Merged    int64  `json:"merged"`
	Dropped   int64  `json:"dropped"`
	Duplicate int64  `json:"duplicate"`
	Expired   int64  `json:"expired"`
	Critical  int64  `json:"critical"` // of Received: critical events that begin an alert
	// FirstNoticeDelay is the time from its first event to the first that was shown; nil = none was.
	FirstNoticeDelay *float64 `json:"first_notice_delay"`
	// LongestSilence is the longest time from an event that was not shown at once to the next one that was shown. It ends, too,
	// when all alerts that were not shown are resolved, and with the last event.
	LongestSilence float64 `json:"longest_silence"`
}

// IsUnheard reports whether events of the category were dropped or expired, and none was shown.
func (c *Category) IsUnheard() bool { return c.FirstNoticeDelay == nil && c.Dropped+c.Expired > 0 }

// category returns the counts of a category; nil = it has none.
func (r *Result) category(name string) *Category {
	for i := range r.Categories {
		if r.Categories[i].Category == name {
			return &r.Categories[i]
		}
	}
	return nil
}
