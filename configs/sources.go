package configs

import (
	"fmt"
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
	return decoder, err
}

// schedules compiles the schedules. Those with faults, which it reports to v, keep only their names.
func (c *Config) schedules(v validator) []events.Schedule {
	all := make([]events.Schedule, len(c.Schedules))
	names := map[string]bool{}
	for i, s := range c.Schedules {
		in := v.in(indexed("schedules", i))
		all[i].Name = s.Name
		if s.Name == "" || len(s.TimeIntervals) == 0 {
			v.fault(indexed("schedules", i), "needs a name and time_intervals")
			continue
		}
		if names[s.Name] {
			in.fault("name", "%q is the name of another schedule; use each name once", s.Name)
		}
		names[s.Name] = true
		if err := readIntervals(s.TimeIntervals, &all[i]); err != nil {
			in.fault("time_intervals", "cannot be read: %s", strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	return all
}

func readIntervals(intervals []map[string]any, schedule *events.Schedule) error {
	text, err := yaml.Marshal(intervals)
	if err != nil {
		return fmt.Errorf("write them as YAML: %w", err)
	}
	return yamlv2.UnmarshalStrict(text, &schedule.Intervals)
}
