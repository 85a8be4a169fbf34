package pipeline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/store"
)

// digestOf decodes the counts of a digest: "d:<category>:<severity>" are dropped events, "x:<category>:<severity>" expired
// ones, and "t:<title>" events of a title.
func digestOf(channel string, digest store.Digest) notifier.Digest {
	content := notifier.Digest{
		ID: digest.ID, Channel: channel, From: time.UnixMicro(digest.From), Last: time.UnixMicro(digest.Last), Closed: digest.Closed,
	}
	categories := map[string]*notifier.DigestCategory{}
	for _, name := range slices.Sorted(maps.Keys(digest.Counts)) {
		n := digest.Counts[name]
		if title, ok := strings.CutPrefix(name, "t:"); ok {
			content.Titles = append(content.Titles, notifier.DigestTitle{Title: title, Count: n})
			continue
		}
		parts := strings.SplitN(name, ":", 3)
		if len(parts) != 3 {
			continue
		}
		c := categories[parts[1]]
		if c == nil {
			c = &notifier.DigestCategory{
				Name: parts[1], Silent: slices.Contains(digest.Silent, parts[1]),
				Dropped: map[events.Severity]int64{}, Expired: map[events.Severity]int64{},
			}
			categories[parts[1]] = c
		}
		if parts[0] == "x" {
			c.Expired[events.Severity(parts[2])] += n
		} else {
			c.Dropped[events.Severity(parts[2])] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		content.Categories = append(content.Categories, *categories[name])
	}
	return content
}

// expiredCounts returns how the next digest counts expired events, of which more are not listed; they count as the first.
func expiredCounts(all []events.Event, more int64) map[string]int64 {
	counts := map[string]int64{}
	for i := range all {
		e := &all[i]
		n := int64(1)
		if i == 0 {
			n += more
		}
		counts[store.DigestCount{
			Expired: true, Category: e.Category, Severity: string(e.Severity), Status: store.Status(e.Status),
		}.Key()] += n
		counts["t:"+titleFor(e)] += n
	}
	return counts
}
