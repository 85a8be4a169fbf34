package server

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"slackrelay/events"
	"slackrelay/problem"
)

// listedAlert is an alert in replies.
type listedAlert struct {
	Annotations  map[string]string `json:"annotations"`
	EndsAt       alertmanagerTime  `json:"endsAt"`
	Fingerprint  string            `json:"fingerprint"`
	Receivers    []receiver        `json:"receivers"`
	StartsAt     alertmanagerTime  `json:"startsAt"`
	Status       listedAlertStatus `json:"status"`
	UpdatedAt    alertmanagerTime  `json:"updatedAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
	Labels       map[string]string `json:"labels"`
}

type listedAlertStatus struct {
	InhibitedBy []string `json:"inhibitedBy"`
	MutedBy     []string `json:"mutedBy"`
	SilencedBy  []string `json:"silencedBy"`
	State       string   `json:"state"` // active or suppressed
}

// alertQuery is which alerts a request wants to see.
type alertQuery struct {
	filter   []labelFilter
	receiver *regexp.Regexp // nil = any
	active   bool
	silenced bool
}

func parseAlertQuery(query url.Values) (q alertQuery, err error) {
	if q.filter, err = parseFilter(query["filter"]); err != nil {
		return q, err
	}
	if text := query.Get("receiver"); text != "" {
		if q.receiver, err = regexp.Compile("^(?:" + cutBytes(text, maxLabelPattern) + ")$"); err != nil {
			return q, errorf(events.BadField, "failed to parse receiver param: %v", err)
		}
	}
	q.active = isWanted(query, "active")
	q.silenced = isWanted(query, "silenced")
	return q, nil
}

// isWanted returns a parameter that is true by default.
func isWanted(query url.Values, name string) bool {
	if !query.Has(name) {
		return true
	}
	wanted, err := strconv.ParseBool(query.Get(name))
	return wanted && err == nil
}

// wants reports whether a request wants to see an alert.
func (q alertQuery) wants(a listedAlert) bool {
	silenced := len(a.Status.SilencedBy) > 0
	return (q.active || silenced) && (q.silenced || !silenced) && matchAll(q.filter, a.Labels)
}

func (s *Server) listAlerts(d door, in *ingestRequest) error {
	_, all, err := s.queryAlerts(d, in)
	if err != nil {
		return err
	}
	s.writeJSON(in.w, in.r, http.StatusOK, all)
	return nil
}

// alertGroup is the alerts with the same name.
type alertGroup struct {
	Alerts   []listedAlert     `json:"alerts"`
	Labels   map[string]string `json:"labels"`
	Receiver receiver          `json:"receiver"`
}

func (s *Server) listAlertGroups(d door, in *ingestRequest) error {
	channel, all, err := s.queryAlerts(d, in)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b listedAlert) int { return cmp.Compare(a.Labels[alertName], b.Labels[alertName]) })
	groups := []alertGroup{}
	for _, alert := range all {
		name := alert.Labels[alertName]
		last := len(groups) - 1
		if last >= 0 && groups[last].Labels[alertName] == name {
			groups[last].Alerts = append(groups[last].Alerts, alert)
			continue
		}
		group := alertGroup{Alerts: []listedAlert{alert}, Labels: map[string]string{}, Receiver: receiver{channel}}
		if name != "" {
			group.Labels[alertName] = name
		}
		groups = append(groups, group)
	}
	s.writeJSON(in.w, in.r, http.StatusOK, groups)
	return nil
}

// listWeight is the part of the gate that a list takes: four are made at a time, because each may take the memory of all documents of
// a channel.
const listWeight = gateBytes / 4

// queryAlerts returns the firing alerts of a channel that a request wants to see, in the order of their fingerprints.
func (s *Server) queryAlerts(d door, in *ingestRequest) (channel string, all []listedAlert, err error) {
	caller, err := s.identifyCaller(d, in)
	if err != nil {
		return "", nil, err
	}
	query, err := parseAlertQuery(in.query())
	if err != nil {
		return "", nil, err
	}
	all = []listedAlert{}
	if s.opts.Alerts == nil || query.receiver != nil && !query.receiver.MatchString(caller.channel) {
		return caller.channel, all, nil
	}
	if in.gate, err = s.lists.enter(in.r.Context(), listWeight); err != nil {
		return "", nil, err
	}
	_, firing, err := s.opts.Alerts.List(in.r.Context(), caller.channel)
	if err != nil {
		return "", nil, err //nolint:wrapcheck // the reply depends on its kind
	}
	for i := range firing {
		if alert := s.listedAlert(&firing[i], caller.channel); query.wants(alert) {
			all = append(all, alert)
		}
	}
	return caller.channel, all, nil
}

func (s *Server) listedAlert(a *problem.Alert, channel string) listedAlert {
	listed := listedAlert{
		Annotations: a.Annotations, EndsAt: alertmanagerTime(a.EndsAt), Fingerprint: a.Event.Fingerprint, Receivers: []receiver{{channel}},
		StartsAt: alertmanagerTime(a.Event.StartedAt), UpdatedAt: alertmanagerTime(a.UpdatedAt), GeneratorURL: a.GeneratorURL,
		Labels: a.Event.Labels,
		Status: listedAlertStatus{InhibitedBy: []string{}, MutedBy: []string{}, SilencedBy: []string{}, State: "active"},
	}
	if listed.Annotations == nil {
		listed.Annotations = map[string]string{}
	}
	if s.opts.Silences != nil {
		e := a.Event
		e.Channel = channel
		listed.Status.SilencedBy = append(listed.Status.SilencedBy, s.opts.Silences.AllMuting(&e)...)
	}
	if len(listed.Status.SilencedBy) > 0 {
		listed.Status.State = "suppressed"
	}
	return listed
}
