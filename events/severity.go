package events

import (
	"cmp"
	"strings"
)

// Severity is how serious an event is.
type Severity string

// Severities, worst first.
const (
	Critical Severity = "critical"
	Error    Severity = "error"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// severities maps the words of other tools to severities.
var severities = map[string]Severity{
	"critical": Critical, "crit": Critical, "fatal": Critical, "emergency": Critical, "emerg": Critical,
	"alert": Critical, "page": Critical, "disaster": Critical, "panic": Critical, "blocker": Critical, "urgent": Critical,
	"p0": Critical, "p1": Critical, "sev0": Critical, "sev1": Critical, "sev-0": Critical, "sev-1": Critical,

	"error": Error, "err": Error, "major": Error, "high": Error, "severe": Error,
	"p2": Error, "sev2": Error, "sev-2": Error,

	"warning": Warning, "warn": Warning, "minor": Warning, "medium": Warning, "moderate": Warning,
	"average": Warning, "p3": Warning, "sev3": Warning, "sev-3": Warning,

	"info": Info, "information": Info, "informational": Info, "notice": Info, "low": Info, "debug": Info,
	"none": Info, "ok": Info, "success": Info, "p4": Info, "p5": Info, "sev4": Info, "sev-4": Info,
}

// SeverityOf returns the severity that a word means, in any case; a missing or unknown word is a warning.
func SeverityOf(word string) Severity {
	if severity, known := severities[strings.ToLower(strings.TrimSpace(word))]; known {
		return severity
	}
	return Warning
}

// setSeverity sets the severity from a sender's word. A word other than the severity's own name is kept as the label
// "severity".
func (e *Event) setSeverity(word string) {
	e.Severity = SeverityOf(word)
	if string(e.Severity) != word {
		e.setLabel("severity", word)
	}
}

// Status is whether an alert is firing or resolved. Most events are not alerts and have none.
type Status string

// Statuses.
const (
	NoStatus Status = ""
	Firing   Status = "firing"
	Resolved Status = "resolved"
)

// statusOf returns the status that a word means, in any case; none for any other word.
func statusOf(word string) Status { return outcomes[strings.ToLower(strings.TrimSpace(word))].status }

// alarm sets the status of a sender without severities: an alarm is an error, its end is information, and anything else is a
// warning.
func (e *Event) alarm(status Status) {
	e.Status = status
	e.Severity = cmp.Or(map[Status]Severity{Firing: Error, Resolved: Info}[status], Warning)
}

// setStatus sets the status from a sender's word. An unknown word is kept as the label "status".
func (e *Event) setStatus(word string) {
	if e.Status = statusOf(word); e.Status == NoStatus {
		e.setLabel("status", word)
	}
}
