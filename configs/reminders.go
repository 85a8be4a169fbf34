package configs

import (
	"fmt"
	"slices"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/problem"
)

func (c Channel) validateReminders(v validator) {
	if c.RemindMention != "" {
		v.mention("remind_mention", c.RemindMention)
	}
	if c.RemindAfter == 0 {
		for _, setting := range []struct {
			name  string
			isSet bool
		}{
			{"remind_every", c.RemindEvery > 0}, {"remind_mention", c.RemindMention != ""},
		} {
			if setting.isSet {
				v.fault(setting.name, "has no effect without remind_after; set remind_after, for example to 30m, or remove it")
			}
		}
		return
	}
	for _, wait := range []struct {
		name string
		time time.Duration
	}{{"remind_after", c.RemindAfter}, {"remind_every", c.RemindEvery}} {
		if wait.time >= c.RememberPosted {
			v.fault(wait.name, "%s is not shorter than remember_posted, %s, after which the relay forgets the message; "+
				"use less, or a longer remember_posted", show(wait.time), show(c.RememberPosted))
		}
	}
}

// ExplainReminder says when and where people are reminded of an event of a channel; "" = they are not.
func (c *Config) ExplainReminder(channel string, e *events.Event) string {
	configured, known := c.Channel(channel)
	if !known {
		return ""
	}
	ch := c.withoutAuto(configured)
	remind := ch.remind()
	if !remind.Covers(e) {
		return ""
	}
	where := "in its thread"
	if !remind.InThread {
		where = "by another post"
	}
	text := fmt.Sprintf("%s after it is posted, %s, unless somebody acknowledges or mutes it", show(remind.After), where)
	if remind.Every > 0 {
		text += fmt.Sprintf("; then every %s, %d times at most", show(remind.Every), problem.MaxReminders)
	}
	return text
}

// remind returns when and how people are reminded of the channel's messages.
func (c Channel) remind() pipeline.Remind {
	if c.RemindAfter == 0 {
		return pipeline.Remind{}
	}
	lowest := slices.Index(severities, events.Severity(c.RemindSeverity))
	return pipeline.Remind{
		Reminders: problem.Reminders{After: c.RemindAfter, Every: c.RemindEvery},
		InThread:  c.RemindIn == "thread", Severities: severities[:lowest+1],
	}
}
