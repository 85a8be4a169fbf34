package store

import (
	"cmp"
	"strings"
	"time"
)

// DigestTerms say when a digest of what was dropped or expired is due. The zero value is no digest.
type DigestTerms struct {
	// Interval is the time that one digest covers; 0 = no digests.
	Interval time.Duration
	// EditEvery is the time between two edits of a digest, which then is posted a third of it after the first drop; 0 = a
	// digest is posted once, at the end of the interval.
	EditEvery time.Duration
	// Minimum is how many events a digest must contain to be posted before the end of the interval.
	Minimum int64
}

// Digest is the payload of a digest's entry, as lua/digest.lua writes it. Times are microseconds of the store's clock.
type Digest struct {
	ID     string           `json:"id"`
	From   int64            `json:"from,string"` // when the first event was counted
	Last   int64            `json:"last,string"` // when the last event was counted
	Counts map[string]int64 `json:"counts"`      // keyed as [DigestCount.Key] is, and "t:<title>"
	Silent []string         `json:"silent"`      // categories of which no event was admitted
	Closed bool             `json:"closed"`      // nothing will be added
	Post   int64            `json:"post,string"` // the number of the entry that posts it
}

// OtherCategory counts the categories that exceed a bound.
const OtherCategory = "other"

// Bounds of what one call adds to a digest. There are fewer titles than counts, so that titles never displace counts.
const (
	maxDigestCounts = 1000
	maxDigestTitles = 100
)

// DigestCount is what a digest counts separately.
type DigestCount struct {
	Expired  bool // before Slack accepted it; otherwise it was dropped
	Category string
	Severity string
	Status   Status
	Level    string // the level that refused, or the reason ([Outcome.Reason]); "" = expired, or not known
}

// Key returns the key of the count in [Digest.Counts]: "d:<category>:<severity>:<status>:<level>" for drops, and
// "x:<category>:<severity>:<status>" for expired events.
func (c DigestCount) Key() string {
	if c.Expired {
		return "x:" + c.Category + ":" + c.Severity + ":" + string(c.Status)
	}
	return "d:" + c.Category + ":" + c.Severity + ":" + string(c.Status) + ":" + c.Level
}

// ParseDigestCount reads a key of [Digest.Counts]; ok is false for that of a title. Older versions wrote neither status nor level.
func ParseDigestCount(key string) (count DigestCount, ok bool) {
	parts := strings.SplitN(key, ":", 5)
	if len(parts) < 3 || parts[0] != "d" && parts[0] != "x" {
		return DigestCount{}, false
	}
	parts = append(parts, "", "")
	return DigestCount{
		Expired: parts[0] == "x", Category: parts[1], Severity: parts[2], Status: Status(parts[3]), Level: parts[4],
	}, true
}

// AddDigestCounts adds n drops of the request to counts, keyed as [Digest.Counts] is. level is what refused them.
func (r *Request) AddDigestCounts(counts map[string]int64, level string, n int64) {
	severity := cmp.Or(r.Event.Severity, "warning")
	count := DigestCount{Category: r.Category, Severity: severity, Status: r.Event.Status, Level: level}.Key()
	if _, known := counts[count]; !known && len(counts) >= maxDigestCounts {
		count = "d:" + OtherCategory + ":warning"
	}
	counts[count] += n
	title := "t:" + r.Event.Title
	if _, known := counts[title]; known || len(counts) < maxDigestTitles {
		counts[title] += n
	}
}
