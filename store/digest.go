package store

import (
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
	Counts map[string]int64 `json:"counts"`      // "d:<category>:<severity>" dropped, "x:..." expired, "t:<title>"
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

// AddDigestCounts adds n drops of the request to counts, keyed as [Digest.Counts] is.
func (r *Request) AddDigestCounts(counts map[string]int64, n int64) {
	severity := r.Event.Severity
	if severity == "" {
		severity = "warning"
	}
	count := "d:" + r.Category + ":" + severity
	if _, known := counts[count]; !known && len(counts) >= maxDigestCounts {
		count = "d:" + OtherCategory + ":warning"
	}
	counts[count] += n
	title := "t:" + r.Event.Title
	if _, known := counts[title]; known || len(counts) < maxDigestTitles {
		counts[title] += n
	}
}
