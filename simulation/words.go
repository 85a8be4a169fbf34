package simulation

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// group writes a number with commas: 12,345.
func group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// plural writes a number of things.
func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return group(n) + " " + thing + "s"
}

// joinWords joins phrases: a, b and c.
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// inWords writes a number of seconds in its two largest units: "4 minutes", "1 hour 5 minutes". Below a second it counts
// milliseconds.
func inWords(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d > 0 && d < time.Second {
		return plural(d.Milliseconds(), "millisecond")
	}
	units := []unit{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	d = d.Round(time.Second)
	if d == 0 {
		return "0 seconds"
	}
	largest := slices.IndexFunc(units, func(u unit) bool { return d >= u.length })
	var words []string
	for _, u := range units[largest:min(largest+2, len(units))] {
		if n := d / u.length; n > 0 {
			words = append(words, plural(int64(n), u.name))
		}
		d %= u.length
	}
	return strings.Join(words, " ")
}

// unit is a unit of time.
type unit struct {
	name   string
	length time.Duration
}
