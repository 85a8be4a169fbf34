package notifier

import (
	"crypto/sha256"
	"encoding/hex"

	"slackrelay/slackapp"
)

var (
	_ Checked = (*Bot)(nil)
	_ Placed  = (*IncomingWebhook)(nil)
)

// Place implements [Placed].
func (b *Bot) Place() string { return hashed(b.workspace + " " + b.channel) }

// Place implements [Placed].
func (w *IncomingWebhook) Place() string { return hashed(w.url) }

// hashed returns the beginning of a text's hash, which tells places apart and reveals nothing.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// SlackChannel implements [Checked].
func (b *Bot) SlackChannel() string { return b.channel }

// ID implements [Checked].
func (b *Bot) ID() string { return b.channelID() }

// Found implements [Checked].
func (b *Bot) Found(id string) { b.id.CompareAndSwap("", id) }

// Inspector implements [Checked].
func (a *App) Inspector(opts slackapp.InspectorOptions) *slackapp.Inspector {
	opts.Token, opts.APIURL, opts.Timeout = a.opts.Token, a.opts.APIURL, a.opts.Timeout
	return slackapp.NewInspector(opts)
}
