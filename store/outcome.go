package store

// Outcome is what was decided about an event at intake. The values are the codes of the scripts' replies.
type Outcome int

// The outcomes. [Outcome.CountedAs] maps them to the six that ledgers, receipts and metrics count.
const (
	Admitted    Outcome = iota + 1 // its units are spent, and its message is queued
	Dropped                        // a level is full; RetryAfter is how long
	Duplicate                      // its id was admitted before; nothing was spent
	Never                          // it asks for more units than a level can hold
	Merged                         // attached to a message that exists, or to one with its companions; nothing was spent
	Delayed                        // it waits for a slot
	Suppressed                     // it resolves a firing that was never posted
	Full                           // no more may wait for a slot, or it waited too long
	Superseding                    // it replaced its firing in the outbox and took over its slot
	Muted                          // a rule or a silence muted it; a store only counts it
)

// outcomes is the one table of what each outcome is called, counted as, and why it is a drop.
var outcomes = [...]struct {
	name    string
	counted Outcome
	reason  string // of a drop without a level
}{
	Admitted:    {"admitted", Admitted, ""},
	Dropped:     {"dropped", Dropped, ""},
	Duplicate:   {"duplicate", Duplicate, ""},
	Never:       {"never", Dropped, "never"},
	Merged:      {"merged", Merged, ""},
	Delayed:     {"delayed", Delayed, ""},
	Suppressed:  {"suppressed", Dropped, "suppressed"},
	Full:        {"full", Dropped, "full"},
	Superseding: {"superseding", Admitted, ""},
	Muted:       {"muted", Muted, ""},
}

// Valid reports whether o is a known outcome.
func (o Outcome) Valid() bool { return o >= Admitted && int(o) < len(outcomes) }

// CountedAs returns the outcome under which o is counted.
func (o Outcome) CountedAs() Outcome {
	if !o.Valid() {
		return o
	}
	return outcomes[o].counted
}

// Reason returns why o is a drop where no level refused ("never", "suppressed", "full"), else "".
func (o Outcome) Reason() string {
	if !o.Valid() {
		return ""
	}
	return outcomes[o].reason
}

// Drops reports whether an event with this outcome is dropped.
func (o Outcome) Drops() bool { return o.CountedAs() == Dropped }

// String returns the outcome's name.
func (o Outcome) String() string {
	if !o.Valid() {
		return "unknown"
	}
	return outcomes[o].name
}
