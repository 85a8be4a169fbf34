package pipeline

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"

	"slackrelay/events"
	"slackrelay/ratelimit"
	"slackrelay/store"
)

// BundlePolicy is which events of a webhook are posted as one message.
type BundlePolicy string

// The bundle policies.
const (
	BundleOff     BundlePolicy = "off"     // each event is a message
	BundleWebhook BundlePolicy = "webhook" // the events of one webhook and category
	// BundleAuto is the events of a group of the sender. Later webhooks of the group join its message as long as one of
	// its alerts is firing, where messages can be edited.
	BundleAuto BundlePolicy = "auto"
)

// bundled counts the webhooks whose events are posted together: the limiter may put several webhooks into one call.
var bundled atomic.Int64

// bundleNames names the bundles of the events of one webhook and channel.
type bundleNames struct {
	builder *RequestBuilder
	webhook string // names the webhook
	group   string // the group of the event before, and the name of its bundle
	name    string
}

// bundlesOf returns the names of the bundles of some events.
func (b *RequestBuilder) bundlesOf(all []events.Event) *bundleNames {
	names := &bundleNames{builder: b}
	if len(all) > 1 && b.Bundle != "" && b.Bundle != BundleOff {
		names.webhook = strconv.FormatInt(bundled.Add(1), 36)
	}
	if len(all) > ratelimit.MaxBatch {
		names.webhook = store.WebhookPrefix + rand.Text() + names.webhook // it continues in further calls
	}
	return names
}

// of returns the name of an event's bundle; "" = it is posted alone.
func (n *bundleNames) of(e *events.Event) string {
	switch {
	case n.builder.Bundle == BundleAuto && e.Group == "":
		return ""
	case n.builder.Bundle == BundleAuto && n.builder.joins(e):
		return n.groupOf(e)
	case n.webhook == "":
		return ""
	case n.builder.Bundle == BundleAuto:
		return n.webhook
	default:
		return n.webhook + " " + e.Category
	}
}

// joins reports whether an event may become part of a message that is posted already. Resolves that are not edits are
// messages of their own.
func (b *RequestBuilder) joins(e *events.Event) bool {
	return b.edits && b.Handling != nil && (e.Status != events.Resolved || b.Handling.Resolves == store.ResolvesEdit)
}

// groupOf returns the name of the bundle of a group. The events of a webhook mostly have the same group.
func (n *bundleNames) groupOf(e *events.Event) string {
	if e.Group != n.group {
		n.group = e.Group
		n.name = store.GroupPrefix + groupHash(e)
	}
	return n.name
}

// groupHash identifies the group of an event within its channel; "" = it has none.
func groupHash(e *events.Event) string {
	if e.Group == "" {
		return ""
	}
	return hashName(e.Source, e.Scope+"\x00"+e.Group)
}
