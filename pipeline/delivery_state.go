package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/slackapp"
	"slackrelay/store"
)

// DeliveryState is what became of the message of an event whose sender asked for it. It is a reply of the API.
type DeliveryState struct {
	State string    `json:"state"` // "delivered", "waiting", "failed" (in the dead letters) or "expired"
	At    time.Time `json:"at"`    // of the last attempt
	// SlackChannel and TS are where the message is, and Link opens it; "" = the destination does not say.
	SlackChannel string `json:"slack_channel,omitempty"`
	TS           string `json:"ts,omitempty"`
	Link         string `json:"link,omitempty"`
	Reason       string `json:"reason,omitempty"` // why it waits or failed: one of the reasons of the notifier
	Answer       string `json:"answer,omitempty"` // what Slack said
	Message      string `json:"message,omitempty"`
	Remedy       string `json:"remedy,omitempty"`
	Attempts     int64  `json:"attempts"`
	// Wait is after how many seconds a message that waits is tried again.
	Wait float64 `json:"wait,omitempty"`
}

// The states of deliveries.
const (
	deliveryDelivered = "delivered"
	deliveryWaiting   = "waiting"
	deliveryFailed    = "failed"
	deliveryExpired   = "expired"
)

// keepDelivery is how long the state of a delivery is kept.
const keepDelivery = 10 * time.Minute

// deliveryDocument names the document of an event.
func deliveryDocument(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "delivery/" + hex.EncodeToString(sum[:16])
}

// explained adds what a failure means.
func (s DeliveryState) explained(failure *notifier.Error) DeliveryState {
	if failure == nil {
		return s
	}
	s.Reason, s.Answer = string(failure.Reason), failure.Answer
	message, remedy := slackapp.Explain(s.Reason)
	switch {
	case slackapp.RefusesToken(s.Reason):
		fault := tokenFault("", s.Reason, s.Answer)
		s.Message, s.Remedy = "the token "+strings.TrimPrefix(fault.Message, "it "), fault.Remedy
	case failure.DestinationRefused():
		s.Message, s.Remedy = "the Slack channel "+message, remedy
	case failure.Reason == notifier.UnknownSendState:
		s.Message, s.Remedy = "the message "+message, remedy
	}
	return s
}

// track stores what became of those events of an entry whose senders asked for it. A failure is not reported: delivery matters
// more.
func (d *delivery) track(ctx context.Context, all []events.Event, state DeliveryState) {
	var changes []store.ProblemChange
	var names []string
	for i := range all {
		if all[i].Tracked && len(names) < store.MaxProblems {
			names = append(names, deliveryDocument(all[i].ID))
		}
	}
	if len(names) == 0 || d.opts.Deliveries == nil {
		return
	}
	ctx, cancel := d.finishing(ctx, d.opts.CallTimeout)
	defer cancel()
	now, documents, err := d.opts.Deliveries.Problems(ctx, d.key, names)
	if err != nil {
		return
	}
	state.At = time.UnixMicro(now).UTC()
	data, _ := json.Marshal(state) //nolint:errchkjson // texts and numbers
	seen := map[string]bool{}
	for _, document := range documents {
		if !seen[document.Name] {
			seen[document.Name] = true
			changes = append(changes, store.ProblemChange{Name: document.Name, Version: document.Version, Data: data, Keep: keepDelivery})
		}
	}
	_, err = d.opts.Deliveries.SaveProblems(ctx, d.key, changes, store.ProblemCounts{})
	if err != nil {
		d.log.DebugContext(ctx, "state of a delivery could not be stored", "error", err)
	}
}

// Delivery returns what became of an event whose sender asked for it, or [ErrNotKept]: nothing was tried yet, or nobody asked.
func (a *Archive) Delivery(ctx context.Context, channel, id string) (DeliveryState, error) {
	ch, err := channelOf(a.Channels, a.Instances, channel)
	if err != nil {
		return DeliveryState{}, err
	}
	_, documents, err := a.Problems.ListProblems(ctx, ch.Scope(), deliveryDocument(id), "", 1)
	if err != nil {
		return DeliveryState{}, err //nolint:wrapcheck // the store says what failed
	}
	if len(documents) == 0 {
		return DeliveryState{}, ErrNotKept
	}
	var state DeliveryState
	if err := json.Unmarshal(documents[0].Data, &state); err != nil {
		return DeliveryState{}, fmt.Errorf("decode the state of a delivery: %w", err)
	}
	if state.TS != "" {
		state.Link = a.Destinations.link(ctx, ch.Sender, state.SlackChannel, state.TS)
	}
	return state, nil
}

// link returns the address of a message in Slack; "" = the address of the workspace is not known.
func (d *Destinations) link(ctx context.Context, sender notifier.Sender, channel, ts string) string {
	shared, ok := sender.(notifier.Workspace)
	if d == nil || !ok {
		return ""
	}
	state, err := d.loadCheck(ctx, shared.Workspace())
	if err != nil || !strings.HasPrefix(state.URL, "https://") {
		return ""
	}
	return strings.TrimSuffix(state.URL, "/") + "/archives/" + channel + "/p" + strings.ReplaceAll(ts, ".", "")
}
