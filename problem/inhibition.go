package problem

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"slackrelay/events"
)

// Inhibition mutes events that follow from others: while an alert fires that all matchers of Source match, the alerts that
// all matchers of Target match are muted, where both have the same values of the labels in Equal. The two may come from any
// sender, in any channel.
//
//	problem.Inhibition{Name: "node", Source: nodeDown, Target: onNode, Equal: []string{"node"}}
type Inhibition struct {
	// Name is the name of the inhibition in receipts.
	Name string
	// Source are conditions that an alert must fulfil to mute others.
	Source []events.Matcher
	// Target are conditions that an event must fulfil to be muted.
	Target []events.Matcher
	// Equal are the labels whose values must be equal in both. A label that both lack is equal.
	Equal []string
	// SourceTTL is how long an alert counts as firing after its last event.
	SourceTTL time.Duration
	// ReleaseAfter is how long after the end of the source the events that still fire are posted.
	ReleaseAfter time.Duration
}

// CompiledInhibition is a valid inhibition, ready to use.
type CompiledInhibition struct {
	Inhibition
	source, target []events.CompiledMatcher
}

// MatcherError is a fault of the matchers of an inhibition.
type MatcherError struct {
	Field string // for example "source[0]"
	Err   error
}

func (e *MatcherError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *MatcherError) Unwrap() error { return e.Err }

// Compile checks an inhibition. The error is a [*MatcherError].
func (i Inhibition) Compile() (*CompiledInhibition, error) {
	c := &CompiledInhibition{Inhibition: i}
	for _, list := range []struct {
		field    string
		matchers []events.Matcher
		compiled *[]events.CompiledMatcher
	}{{"source", i.Source, &c.source}, {"target", i.Target, &c.target}} {
		if len(list.matchers) == 0 {
			return nil, &MatcherError{list.field, errors.New("is empty; add one or more matchers, or every event would match")}
		}
		for n, m := range list.matchers {
			compiled, err := m.Compile()
			if err != nil {
				return nil, &MatcherError{fmt.Sprintf("%s[%d]", list.field, n), err}
			}
			*list.compiled = append(*list.compiled, compiled)
		}
	}
	return c, nil
}

// IsSource reports whether an event is a source.
func (c *CompiledInhibition) IsSource(e *events.Event) bool { return matchAll(c.source, e) }

// IsTarget reports whether an event is a target.
func (c *CompiledInhibition) IsTarget(e *events.Event) bool { return matchAll(c.target, e) }

func matchAll(matchers []events.CompiledMatcher, e *events.Event) bool {
	for i := range matchers {
		if !matchers[i].Matches(e, nil) {
			return false
		}
	}
	return true
}

// Document returns the name of the document of the sources that have the labels of an event.
func (c *CompiledInhibition) Document(e *events.Event) string {
	sum := sha256.New()
	sum.Write([]byte(c.Name))
	for _, label := range c.Equal {
		sum.Write([]byte{0})
		sum.Write([]byte(e.Labels[label]))
	}
	return "inhibition/" + hex.EncodeToString(sum.Sum(nil)[:16])
}
