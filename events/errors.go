package events

import "fmt"

// Code says what is wrong with a webhook; it is the code of the error reply.
type Code string

// The codes.
const (
	EmptyBody     Code = "empty_body"
	BadJSON       Code = "bad_json"
	BadField      Code = "bad_field"
	NoEvents      Code = "no_events"
	TooManyEvents Code = "too_many_events"
	UnknownSource Code = "unknown_source"
)

// InputError is a fault of the sender. Its message names the field and the fix and may be shown to the
// sender.
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
