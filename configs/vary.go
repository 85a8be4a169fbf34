package configs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Vary returns the channel with other settings, written name=value,name=value; strategy sets the strategy of both levels. The
// error contains every fault.
func (c Channel) Vary(settings string) (Channel, error) {
	given := map[string]any{}
	strategy := ""
	for part := range strings.SplitSeq(settings, ",") {
		name, text, ok := strings.Cut(part, "=")
		if !ok {
			return c, fmt.Errorf("%q is not a setting with a value; use name=value", part)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return c, fmt.Errorf("%s: %q is not a YAML value", name, text)
		}
		if name == "strategy" {
			strategy = text
			continue
		}
		given[name] = value
	}
	faults := decode(given, &c, "")
	if strategy != "" {
		for _, tier := range c.Tiers()[:2] {
			level := Level{Name: tier.Name, Strategy: strategy}
			for _, w := range tier.Windows {
				level.Windows = append(level.Windows, Window(w))
			}
			c.Levels = append(slices.Clip(c.Levels), level)
		}
	}
	v := newValidator()
	v.bounds(reflect.ValueOf(c))
	c.validate(v)
	var all []error
	for _, fault := range append(faults, *v.faults...) {
		all = append(all, fault)
	}
	return c, errors.Join(all...)
}
