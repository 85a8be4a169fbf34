// Package pipeline takes events from a webhook to Slack.
//
// [Intake] classifies the events of a webhook and asks the limiter; an event that the limiter admits is queued in the
// same step. [Courier] claims queued entries, renders and sends them, and records the result. [StatusReader] reads the
// state of the channels, [Archive] lists and replays dead letters and dropped events, [Admin] pauses channels and
// empties limits, and [Canary] tests the whole path at an interval.
//
// Each of them declares the few methods of the limiter and of the outbox that it calls.
package pipeline
