package configs

import (
	"errors"
	"fmt"
	"slices"
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
type InvalidError struct{ Faults []*FieldError }

// Error implements error, one fault a line.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		lines[i] = "  - " + fault.Error()
	}
	return "the configuration is not valid:\n" + strings.Join(lines, "\n")
}

// IsInvalid reports whether an error is about the configuration.
func IsInvalid(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid)
}

// dropFollowing removes faults that only follow from one that was found while the setting was read: if
// channels[0].window is not a duration, nothing else is reported about it.
func dropFollowing(faults, read []*FieldError) []*FieldError {
	return slices.DeleteFunc(faults, func(fault *FieldError) bool {
		return slices.ContainsFunc(read, func(outer *FieldError) bool { return outer.Field != "" && isWithin(fault.Field, outer.Field) })
	})
}

// isWithin reports whether a setting is another one or is in it.
func isWithin(field, outer string) bool {
	rest, within := strings.CutPrefix(field, outer)
	return within && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
