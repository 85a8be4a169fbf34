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
	decoder, err := events.NewDecoder(events.Options{Limits: c.limits(), Mappings: c.Sources})
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
	i := slices.IndexFunc(c.Sources, func(m events.Mapping) bool { return match != nil && m.Name == match[1] })
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
