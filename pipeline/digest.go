package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// digestOf decodes a digest of a channel.
func digestOf(ch *Channel, digest store.Digest) notifier.Digest {
	content := notifier.Digest{
		ID: digest.ID, Channel: ch.Name, Post: digest.Post,
		From: time.UnixMicro(digest.From), Last: time.UnixMicro(digest.Last), Closed: digest.Closed,
	}
	categories := map[string]*notifier.DigestCategory{}
	reasons := map[string]int64{}
	for _, key := range slices.Sorted(maps.Keys(digest.Counts)) {
		n := digest.Counts[key]
		if title, ok := strings.CutPrefix(key, "t:"); ok {
			content.Titles = append(content.Titles, notifier.DigestTitle{Title: title, Count: n})
			continue
		}
		count, ok := store.ParseDigestCount(key)
		if !ok {
			continue
		}
		c := categories[count.Category]
		if c == nil {
			c = &notifier.DigestCategory{
				Name: count.Category, Silent: slices.Contains(digest.Silent, count.Category),
				Dropped: map[events.Severity]int64{}, Expired: map[events.Severity]int64{},
			}
			categories[count.Category] = c
		}
		addDigestCount(c, count, n)
		if !count.Expired && count.Level != "" {
			reasons[count.Level] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		content.Categories = append(content.Categories, *categories[name])
	}
	for _, level := range slices.Sorted(maps.Keys(reasons)) {
		content.Reasons = append(content.Reasons, notifier.DigestReason{Reason: ch.refusal(level), Count: reasons[level]})
	}
	return content
}

func addDigestCount(c *notifier.DigestCategory, count store.DigestCount, n int64) {
	if count.Expired {
		c.Expired[events.Severity(count.Severity)] += n
	} else {
		c.Dropped[events.Severity(count.Severity)] += n
	}
	switch count.Status {
	case store.Firing:
		c.Firing += n
	case store.Resolved:
		c.Resolved += n
	case store.Update:
	}
}

// refusal returns in words what refused an event: a level with its limit, or a reason.
func (c *Channel) refusal(level string) string {
	switch level {
	case store.Never.Reason():
		return "the limit has no slot for them"
	case store.Full.Reason():
		return "waited longer than max_delay, or too many waited"
	}
	i := slices.IndexFunc(c.Tiers, func(tier ratelimit.LevelSpec) bool { return tier.Name == level })
	if i < 0 { // removed from the configuration
		return level + " limit"
	}
	tier := c.Tiers[i]
	if tier.Strategy.Kind == ratelimit.Backlog {
		return fmt.Sprintf("%s limit (%d waiting)", level, tier.Windows[0].Limit)
	}
	windows := make([]string, len(tier.Windows))
	for i, window := range tier.Windows {
		windows[i] = fmt.Sprintf("%d per %s", window.Limit, strings.TrimPrefix(inWords(window.Per), "1 "))
	}
	return fmt.Sprintf("%s limit (%s)", level, strings.Join(windows, ", "))
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
