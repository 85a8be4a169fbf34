package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Vary is the channel with other settings, "name=value,name=value"; strategy sets that of both levels. The error names every
// fault.
func (c Channel) Vary(settings string) (Channel, error) {
	given := map[string]any{}
	strategy := ""
	for part := range strings.SplitSeq(settings, ",") {
		name, text, ok := strings.Cut(part, "=")
		if !ok {
			return c, fmt.Errorf("%q is not of the form name=value", part)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return c, fmt.Errorf("%s: %q cannot be read", name, text)
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
				level.Windows = append(level.Windows, Window{Limit: w.Limit, Per: w.Per})
			}
			c.Levels = append(slices.Clip(c.Levels), level)
		}
	}
	v := &validator{}
	c.validate(v)
	if faults = append(faults, v.faults...); len(faults) > 0 {
		return c, errors.Join(faults...)
	}
	return c, nil
}
