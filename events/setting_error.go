package events

import "fmt"

// SettingError is a fault of one field of a [Rule] or a [Mapping]. [NewRules] and [NewDecoder] join all that they find.
type SettingError struct {
	Index int    // of the rule or the mapping in its list, from 0
	Of    string // the rule or the mapping, like: rules[0] (mute)
	Field string // like match[0]
	Err   error  // the value, the fault and what to do
}

// Error implements error.
func (e *SettingError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Of, e.Field, e.Err) }

// Unwrap returns the fault.
func (e *SettingError) Unwrap() error { return e.Err }

// settingFaults collects the faults of a list of rules or mappings.
type settingFaults []error

// of returns a function that records the fault of a field; nil = the field has none.
func (f *settingFaults) of(index int, item string) func(field string, err error) {
	return func(field string, err error) {
		if err != nil {
			*f = append(*f, &SettingError{Index: index, Of: item, Field: field, Err: err})
		}
	}
}
