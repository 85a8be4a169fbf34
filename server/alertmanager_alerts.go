package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
)

// Alerts takes in the alerts of senders that post them again while they fire, and lists them; *pipeline.Alerts implements it.
type Alerts interface {
	Post(ctx context.Context, arrival pipeline.Arrival, posted []problem.Alert) error
	List(ctx context.Context, channel string) (now time.Time, firing []problem.Alert, err error)
}

// postedAlert is an alert in the body of POST /api/v2/alerts.
type postedAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`

	assumed bool // the sender gave no end
}

// postAlerts takes in the valid alerts of a body. As in Alertmanager, those that are not valid make the reply an error only after
// the others were taken in.
func (s *Server) postAlerts(d door, in *ingestRequest) error {
	if err := in.requireJSON(); err != nil {
		return err
	}
	from, err := s.identifyAtDoor(d, in)
	if err != nil {
		return err
	}
	if from.signs {
		return errSignsBody(from)
	}
	if err := s.parse(in); err != nil {
		return err
	}
	var all []postedAlert
	if err := in.decodeAlertmanagerBody("alerts", &all); err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(a postedAlert) bool { return a.Labels == nil }); i >= 0 {
		return errRequired(fmt.Sprintf("%d.labels", i))
	}
	var faults []error
	all = slices.DeleteFunc(all, func(a postedAlert) bool {
		err := a.check()
		if err != nil {
			faults = append(faults, err)
		}
		return err != nil
	})
	if err := s.takeAlerts(in, from, all); err != nil {
		return err
	}
	if len(faults) > 0 {
		return errorf(events.BadField, "%v", joinFaults(faults))
	}
	in.release()
	in.w.WriteHeader(http.StatusOK)
	return nil
}

// maxFaults is how many alerts that are not valid an error describes.
const maxFaults = 10

// joinFaults joins the first faults as Alertmanager does.
func joinFaults(faults []error) string {
	texts := make([]string, min(len(faults), maxFaults))
	for i := range texts {
		texts[i] = faults[i].Error()
	}
	return strings.Join(texts, "; ")
}

// check removes labels without a value, and returns why an alert is not valid.
func (a postedAlert) check() error {
	maps.DeleteFunc(a.Labels, func(_, value string) bool { return value == "" })
	switch {
	case len(a.Labels) == 0:
		return errors.New("at least one label pair required")
	case !a.EndsAt.IsZero() && a.EndsAt.Before(a.StartsAt):
		return errors.New("start time must be before end time")
	default:
		return nil
	}
}

// maxAlertEnd is how long an alert fires at most without another post: its state is kept for so long.
const maxAlertEnd = 31 * 24 * time.Hour

// complete sets the times that the sender did not give, and bounds the end.
func (a *postedAlert) complete(now time.Time, resolveTimeout time.Duration) {
	if a.StartsAt.IsZero() {
		a.StartsAt = a.EndsAt
	}
	if a.StartsAt.IsZero() {
		a.StartsAt = now
	}
	if a.EndsAt.IsZero() {
		a.assumed = true
		a.EndsAt = now.Add(resolveTimeout)
	}
	if latest := now.Add(maxAlertEnd); a.EndsAt.After(latest) {
		a.EndsAt = latest
	}
}

// takeAlerts decodes alerts as a webhook of Alertmanager for each alert name, as a group of it, and passes them on.
func (s *Server) takeAlerts(in *ingestRequest, from sender, all []postedAlert) error {
	var arrival pipeline.Arrival
	var posted []problem.Alert
	slices.SortStableFunc(all, func(a, b postedAlert) int { return strings.Compare(a.Labels[alertName], b.Labels[alertName]) })
	for len(all) > 0 {
		n := len(all)
		if i := slices.IndexFunc(all, func(a postedAlert) bool { return a.Labels[alertName] != all[0].Labels[alertName] }); i > 0 {
			n = i
		}
		for i := range all[:n] {
			all[i].complete(in.now, s.resolveTimeouts[from.channel])
		}
		var err error
		if in.body.plain, err = groupWebhook(all[:n], in.now); err != nil {
			return err
		}
		group, err := s.decode(in, from)
		if err != nil {
			return err
		}
		if len(group.Events) != n {
			return errorf(events.BadField, "the configured source %s makes %d events of %d alerts; let it make one of each, or give it another name",
				in.source, len(group.Events), n)
		}
		for i, a := range all[:n] {
			group.Events[i].Fingerprint = alertFingerprint(a.Labels)
			posted = append(posted, problem.Alert{
				Event: group.Events[i], Sender: from.name, Annotations: boundAnnotations(a.Annotations),
				GeneratorURL: cutBytes(a.GeneratorURL, maxGeneratorURL), EndsAt: a.EndsAt, Assumed: a.assumed,
			})
		}
		group.Events = append(arrival.Events, group.Events...)
		arrival = group
		all = all[n:]
	}
	if len(posted) == 0 {
		return nil
	}
	if s.opts.Alerts == nil {
		_, err := s.submit(in, arrival)
		return err
	}
	if err := s.checkTestLane(arrival); err != nil {
		return err
	}
	if err := s.opts.Alerts.Post(in.r.Context(), arrival, posted); err != nil {
		return err //nolint:wrapcheck // the reply depends on its kind
	}
	s.opts.Logger.DebugContext(in.r.Context(), "alerts accepted",
		"channel", arrival.Channel, "sender", arrival.Sender, "posted", len(posted))
	return nil
}

// Bounds of what only lists of alerts show, in bytes.
const (
	maxGeneratorURL    = 2000
	maxAnnotations     = 32
	maxAnnotationName  = 200
	maxAnnotationValue = 1000
)

// boundAnnotations returns annotations within the bounds.
func boundAnnotations(all map[string]string) map[string]string {
	kept := make(map[string]string, min(len(all), maxAnnotations))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(kept) == maxAnnotations {
			break
		}
		kept[cutBytes(name, maxAnnotationName)] = cutBytes(all[name], maxAnnotationValue)
	}
	return kept
}

// alertName is the label that alerts are grouped by.
const alertName = "alertname"

// webhookAlert is an alert of a webhook of Alertmanager.
type webhookAlert struct {
	Status       events.Status     `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	StartsAt     time.Time         `json:"startsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
	Fingerprint  string            `json:"fingerprint"`
}

// groupWebhook returns the webhook that Alertmanager would send of alerts with the same name.
func groupWebhook(group []postedAlert, now time.Time) ([]byte, error) {
	common := maps.Clone(group[0].Labels)
	alerts := make([]webhookAlert, len(group))
	for i, a := range group {
		maps.DeleteFunc(common, func(name, value string) bool { return a.Labels[name] != value })
		alerts[i] = webhookAlert{
			Status: events.Firing, Labels: a.Labels, Annotations: a.Annotations, StartsAt: a.StartsAt, GeneratorURL: a.GeneratorURL,
			Fingerprint: alertFingerprint(a.Labels),
		}
		if !a.EndsAt.After(now) {
			alerts[i].Status = events.Resolved
		}
	}
	labels := map[string]string{}
	if name := group[0].Labels[alertName]; name != "" {
		labels[alertName] = name
	}
	body, err := json.Marshal(map[string]any{
		"groupKey": fmt.Sprintf("{}:{alertname=%q}", labels[alertName]), "groupLabels": labels, "commonLabels": common, "alerts": alerts,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a webhook: %w", err)
	}
	return body, nil
}

// alertFingerprint returns the fingerprint that Alertmanager gives to labels: the same alert has the same one, whichever way it takes
// to the relay.
func alertFingerprint(labels map[string]string) string {
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(h, "%s\xff%s\xff", name, labels[name])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
