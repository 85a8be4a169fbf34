package configs

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// suggestion asks for the known name that a misspelt one most likely stands for; it is empty if none is close.
func suggestion(name string, known []string) string {
	text, distance := "", max((len(name)+1)/2, 2) // fewer than half of the letters differ
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(name, candidate); d < distance {
			text, distance = "; did you mean "+candidate+"?", d
		}
	}
	return text
}

// didYouMean suggests the nearest known name, or lists them all if none is close.
func didYouMean(name string, known []string) string {
	if s := suggestion(name, known); s != "" {
		return s
	}
	return "; use " + oneOf(slices.Sorted(slices.Values(known)))
}

// oneOf lists alternatives: "drop, delay or merge".
func oneOf(values []string) string {
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
