package pipeline

import (
	"encoding/json"
	"strconv"
)

// AppendJSON appends the receipt to b, byte for byte as [json.Marshal] writes it. Each webhook gets a receipt: without
// reflection it costs a quarter.
func (r *Receipt) AppendJSON(b []byte) []byte {
	b = appendInt(b, `{"received":`, r.Received)
	b = appendInt(b, `,"admitted":`, r.Admitted)
	b = appendInt(b, `,"dropped":`, r.Dropped)
	b = appendInt(b, `,"duplicate":`, r.Duplicate)
	b = appendInt(b, `,"muted":`, r.Muted)
	b = appendInt(b, `,"merged":`, r.Merged)
	b = appendInt(b, `,"delayed":`, r.Delayed)
	if r.Forced != 0 {
		b = appendInt(b, `,"forced":`, r.Forced)
	}
	b = append(b, `,"durable":`...)
	b = strconv.AppendBool(b, r.Durable)
	if r.Events == nil {
		return append(b, `,"events":null}`...)
	}
	b = append(b, `,"events":[`...)
	for i := range r.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.Events[i].appendJSON(b)
	}
	return append(b, "]}"...)
}

func (e *EventReceipt) appendJSON(b []byte) []byte {
	b = appendText(b, `{"id":`, e.ID)
	b = appendText(b, `,"category":`, e.Category)
	b = appendText(b, `,"outcome":`, e.Outcome)
	if e.Level != "" {
		b = appendText(b, `,"level":`, e.Level)
	}
	if e.Explanation != "" {
		b = appendText(b, `,"explanation":`, e.Explanation)
	}
	if e.Channel != "" {
		b = appendText(b, `,"channel":`, e.Channel)
	}
	if e.By != "" {
		b = appendText(b, `,"by":`, e.By)
	}
	if e.RetryAfter != nil {
		b = appendSeconds(b, `,"retry_after":`, *e.RetryAfter)
	}
	return append(b, '}')
}

func appendInt(b []byte, name string, n int) []byte {
	return strconv.AppendInt(append(b, name...), int64(n), 10)
}

// appendText appends a text. Most texts need no escapes; encoding/json writes the others.
func appendText(b []byte, name, text string) []byte {
	b = append(b, name...)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return appendEncoded(b, text)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// appendSeconds appends a number of whole microseconds, which encoding/json writes without an exponent; it writes others itself.
func appendSeconds(b []byte, name string, seconds float64) []byte {
	b = append(b, name...)
	if seconds != 0 && !(1e-6 <= seconds && seconds < 1e21) {
		return appendEncoded(b, seconds)
	}
	return strconv.AppendFloat(b, seconds, 'f', -1, 64)
}

// appendEncoded appends a text or a finite number, which encoding/json can always encode.
func appendEncoded(b []byte, value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, encoded...)
}
