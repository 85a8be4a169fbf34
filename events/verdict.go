package events

import "slices"

// Verdict is the result of rules beside the changes to the event itself.
type Verdict struct {
	Rules   []string `json:"rules"`            // the names of the rules that matched, in order
	Channel string   `json:"channel"`          // where the event goes
	Copies  []string `json:"copies,omitempty"` // where copies of it go, each channel once; a muted event has none
	Muted   bool     `json:"muted"`
	MutedBy string   `json:"muted_by,omitempty"` // the rule that muted it, though others may have matched after it
	Steps   []Step   `json:"steps,omitempty"`    // each rule that was evaluated; only from [Rules.Explain]
}

// Step is why a rule matched, or did not.
type Step struct {
	Rule    string `json:"rule"`
	Matched bool   `json:"matched"`
	Why     string `json:"why"`
}

// copies returns the channels of the copies once each, without the channel of the event itself.
func (v *Verdict) copies() []string {
	if v.Muted {
		return nil
	}
	var once []string
	for _, channel := range v.Copies {
		if channel != v.Channel && !slices.Contains(once, channel) {
			once = append(once, channel)
		}
	}
	return once
}
