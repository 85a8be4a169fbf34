package store

// Outcome is what was decided about an event at intake. The values are the codes of the scripts' replies.
type Outcome int

// The outcomes. [Outcome.CountedAs] maps them to the six that ledgers, receipts and metrics count.
const (
	Admitted Outcome = iota + 1
	Dropped
	Duplicate
	Never
	Merged
	Delayed
	Suppressed
	Full
	Superseding
	Muted
)

// outcomes is the one table of outcomes. The scripts' part lua/src/parts/outcomes.lua, the tables of docs/glossary.md, the
// sentences of the API and the label values of metrics are made from it.
//
//   - name is the outcome in receipts, ledgers and metrics. The name of a drop that no level made is its reason.
//   - counted is the outcome that it is counted as.
//   - meaning is for people. That of a reason completes "The event was dropped: ...".
//   - permanent is a drop that the limits would repeat at any time, so that only a forced replay admits the event.
var outcomes = [...]struct {
	name      string
	counted   Outcome
	meaning   string
	permanent bool
}{
	Admitted: {
		name: "admitted", counted: Admitted,
		meaning: "the event passed every level, used its slots, and was put into the outbox as a message",
	},
	Dropped: {
		name: "dropped", counted: Dropped,
		meaning: "the event was refused. The receipt names the level or the reason",
	},
	Duplicate: {
		name: "duplicate", counted: Duplicate,
		meaning: "an event with this id was admitted within the dedupe time. It used no slot",
	},
	Never: {
		name: "never", counted: Dropped, permanent: true,
		meaning: "the event can never fit: the limit, less the slots reserved for others, is smaller than one event",
	},
	Merged: {
		name: "merged", counted: Merged,
		meaning: "the event became part of an existing message, or of a message with other events of its webhook, or its alert is " +
			"flapping. It used no slot",
	},
	Delayed: {
		name: "delayed", counted: Delayed,
		meaning: "the event waits for a slot (`overflow: delay`), or for its resolve (`hold`). Later it is admitted, merged, dropped or muted",
	},
	Suppressed: {
		name: "suppressed", counted: Dropped, permanent: true,
		meaning: "the event is a resolve whose firing was never posted",
	},
	Full: {
		name: "full", counted: Dropped,
		meaning: "the queue of delayed events is full, or the event waited longer than max_delay",
	},
	Superseding: {
		name: "superseding", counted: Admitted,
		meaning: "the event took the place of its firing in the outbox, and its slot",
	},
	Muted: { // a store only counts it
		name: "muted", counted: Muted,
		meaning: "a rule, a silence or an inhibition matched, the alert resolved while it was held, or the event is a heartbeat. The " +
			"receipt says which",
	},
}

// Outcomes returns all outcomes, in the order of their codes.
func Outcomes() []Outcome {
	all := make([]Outcome, 0, len(outcomes))
	for o := Admitted; o.Valid(); o++ {
		all = append(all, o)
	}
	return all
}

// OutcomeOfDrop returns the outcome of a drop from its level: the outcome whose reason it is, or [Dropped] if a level refused.
func OutcomeOfDrop(level string) Outcome {
	for _, o := range Outcomes() {
		if o.Reason() == level && level != "" {
			return o
		}
	}
	return Dropped
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

// Drops reports whether an event with this outcome is dropped.
func (o Outcome) Drops() bool { return o.CountedAs() == Dropped }

// Reason returns why o is a drop if no level refused the event, for example "never"; else "".
func (o Outcome) Reason() string {
	if o == Dropped || !o.Drops() {
		return ""
	}
	return outcomes[o].name
}

// Meaning returns what the outcome means, in words.
func (o Outcome) Meaning() string {
	if !o.Valid() {
		return ""
	}
	return outcomes[o].meaning
}

// IsPermanent reports whether the limits would drop the event again at any time.
func (o Outcome) IsPermanent() bool { return o.Valid() && outcomes[o].permanent }

// String returns the outcome's name.
func (o Outcome) String() string {
	if !o.Valid() {
		return "unknown"
	}
	return outcomes[o].name
}
