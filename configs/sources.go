package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	yamlv2 "gopkg.in/yaml.v2" // what timeinterval is read with

	"slackrelay/events"
)

// Source is a body format of your own: it maps the fields of a body to those of an event; see [events.Mapping].
type Source struct {
	// Name is the name of the source, as in `/hooks/{channel}/{name}`.
	Name string `yaml:"name"`
	// When is an expression that is true for bodies of this source.
	When string `yaml:"when,omitempty" unset:"only if the path names the source"`
	// Events is an expression for a list with one item for each event.
	Events string `yaml:"events,omitempty" unset:"the body is one event"`
	// Category is an expression for the category of the event.
	Category string `yaml:"category,omitempty"`
	// Severity is an expression for its severity.
	Severity string `yaml:"severity,omitempty"`
	// Status is an expression for its status: firing, resolved or none.
	Status string `yaml:"status,omitempty"`
	// Title is an expression for its title.
	Title string `yaml:"title,omitempty"`
	// Text is an expression for its text.
	Text string `yaml:"text,omitempty"`
	// Link is an expression for a link.
	Link string `yaml:"link,omitempty"`
	// ID is an expression for its id. Events with the same id are duplicates.
	ID string `yaml:"id,omitempty"`
	// Fingerprint is an expression for what an alert and its resolve have in common.
	Fingerprint string `yaml:"fingerprint,omitempty"`
	// StartedAt is an expression for the time when it began.
	StartedAt string `yaml:"started_at,omitempty"`
	// Labels are labels, each with a name and an expression for its value.
	Labels []SourceLabel `yaml:"labels,omitempty"`
}

// SourceLabel is a label and the expression for its value.
type SourceLabel struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// Schedule names times of the week and of the year, in the form of Alertmanager's time_intervals
// (https://prometheus.io/docs/alerting/latest/configuration/#time_interval).
type Schedule struct {
	// Name is the name that rules refer to.
	Name string `yaml:"name"`
	// TimeIntervals are intervals in the form of Alertmanager. The schedule is active in any of them.
	TimeIntervals []map[string]any `yaml:"time_intervals"`
}

// Decoder returns the decoder of webhooks, with the sources of the configuration among those that the relay knows.
func (c *Config) Decoder() (*events.Decoder, error) {
	opts := events.Options{Limits: c.limits()}
	for _, s := range c.Sources {
		m := events.Mapping{
			Name: s.Name, When: s.When, Events: s.Events, Category: s.Category, Severity: s.Severity, Status: s.Status, Title: s.Title,
			Text: s.Text, Link: s.Link, ID: s.ID, Fingerprint: s.Fingerprint, StartedAt: s.StartedAt,
		}
		for _, label := range s.Labels {
			m.Labels = append(m.Labels, events.MappedLabel(label))
		}
		opts.Mappings = append(opts.Mappings, m)
	}
	decoder, err := events.NewDecoder(opts)
	if err != nil {
		return nil, c.sourceFault(err)
	}
	return decoder, nil
}

// ofSource is how an error of a mapping begins: source mine: title: ...
var ofSource = regexp.MustCompile(`^source "?([^:"]*)"?: (?:([a-z_]+): )?`)

// sourceFault finds the setting that an error of a mapping is about.
func (c *Config) sourceFault(err error) error {
	text := err.Error()
	match := ofSource.FindStringSubmatch(text)
	if match == nil {
		return faultf("sources", "%s", text)
	}
	i := slices.IndexFunc(c.Sources, func(s Source) bool { return s.Name == match[1] })
	if i < 0 {
		return faultf("sources", "%s", text)
	}
	field := indexed("sources", i)
	if match[2] != "" {
		field += "." + match[2]
	}
	return faultf(field, "%s", strings.TrimPrefix(text, match[0]))
}

// schedules compiles the schedules.
func (c *Config) schedules() ([]events.Schedule, error) {
	var all []events.Schedule
	for i, s := range c.Schedules {
		field := indexed("schedules", i)
		if s.Name == "" || len(s.TimeIntervals) == 0 {
			return nil, faultf(field, "needs a name and time_intervals")
		}
		if slices.ContainsFunc(all, func(other events.Schedule) bool { return other.Name == s.Name }) {
			return nil, faultf(field+".name", "%q is the name of another schedule; use each name once", s.Name)
		}
		compiled := events.Schedule{Name: s.Name}
		if err := readIntervals(s.TimeIntervals, &compiled); err != nil {
			return nil, faultf(field+".time_intervals", "cannot be read: %s", strings.ReplaceAll(err.Error(), "\n", " "))
		}
		all = append(all, compiled)
	}
	return all, nil
}

func readIntervals(intervals []map[string]any, schedule *events.Schedule) error {
	text, err := yaml.Marshal(intervals)
	if err != nil {
		return fmt.Errorf("write them as YAML: %w", err)
	}
	return yamlv2.UnmarshalStrict(text, &schedule.Intervals)
}
