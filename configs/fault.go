package configs

import (
	"errors"
	"fmt"
	"strings"
)

// FieldError is one thing that is wrong with a configuration. It never contains a secret.
type FieldError struct {
	// File is the configuration file that the setting comes from; empty = it comes from elsewhere.
	File string
	// Line is the line of File, from 1; 0 = not known.
	Line int
	// Field is the path of the setting, like channels[0].window, or the name of a variable; empty = the whole file.
	Field string
	// Problem is the value, what is wrong with it, and what to do.
	Problem string
}

// Error implements error: "relay.yaml:12: channels[0].window: "5" is not a duration; use a unit, for example 5m".
func (f *FieldError) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	return b.String() + f.Problem
}

// faultf makes a fault of a setting or a variable.
func faultf(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// InvalidError is a configuration that cannot be used, with every fault in it.
type InvalidError struct{ Faults []error }

// Error implements error, one fault a line.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		lines[i] = "  - " + fault.Error()
	}
	return "the configuration is not valid:\n" + strings.Join(lines, "\n")
}

// Unwrap returns the faults.
func (e *InvalidError) Unwrap() []error { return e.Faults }

// IsInvalid reports whether an error is about the configuration.
func IsInvalid(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid)
}

// dropFollowing removes faults that only follow from one that was found while the setting was read: if
// channels[0].window is not a duration, nothing else is reported about it.
func dropFollowing(faults, read []error) []error {
	var kept []error
	for _, err := range faults {
		fault, ok := errors.AsType[*FieldError](err)
		if !ok || !isWithinAny(fault.Field, read) {
			kept = append(kept, err)
		}
	}
	return kept
}

func isWithinAny(field string, faults []error) bool {
	for _, err := range faults {
		outer, ok := errors.AsType[*FieldError](err)
		if !ok || outer.Field == "" {
			continue
		}
		rest, within := strings.CutPrefix(field, outer.Field)
		if within && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}
