package events

import "fmt"

// Code is the kind of fault of a webhook, as the error reply has it.
type Code string

// Codes of [InputError].
const (
	EmptyBody     Code = "empty_body"
	BadJSON       Code = "bad_json"
	BadField      Code = "bad_field"
	NoEvents      Code = "no_events"
	TooManyEvents Code = "too_many_events"
	UnknownSource Code = "unknown_source"
)

// InputError is a fault in a webhook. Its message names the field and the fix; the sender may see it.
type InputError struct {
	Code    Code
	Message string
}

// Error implements error.
func (e *InputError) Error() string { return string(e.Code) + ": " + e.Message }

func badJSON(format string, args ...any) *InputError {
	return &InputError{Code: BadJSON, Message: fmt.Sprintf(format, args...)}
}

func badField(field, format string, args ...any) *InputError {
	return &InputError{Code: BadField, Message: field + " " + fmt.Sprintf(format, args...)}
}
