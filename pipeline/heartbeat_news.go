package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
	"slackrelay/problem"
)

// announce posts what the document of a heartbeat says is not posted yet, in order. What fails is tried again, here or by another
// replica: each event and each notice has an id, so that it is posted once.
func (h *Heartbeats) announce(ctx context.Context, heartbeat *Heartbeat) {
	news := h.memory.newsOf(heartbeat)
	posted := 0
	for _, one := range news {
		if err := h.post(ctx, heartbeat, one); err != nil {
			h.opts.Logger.WarnContext(ctx, "heartbeat cannot be announced yet", "heartbeat", heartbeat.Name, "error", err)
			break
		}
		posted++
	}
	if posted == 0 {
		return
	}
	_, err := h.update(context.WithoutCancel(ctx), heartbeat,
		func(state problem.HeartbeatState, _ problem.Watch, _, _ int64) problem.HeartbeatState {
			state.News = slices.DeleteFunc(slices.Clone(state.News), func(one problem.HeartbeatNews) bool {
				return slices.Contains(news[:posted], one)
			})
			return state
		})
	if err != nil {
		h.opts.Logger.WarnContext(ctx, "heartbeat is announced again, as a duplicate", "heartbeat", heartbeat.Name, "error", err)
	}
}

// post posts news in the channel of the heartbeat, and notifies the operators.
func (h *Heartbeats) post(ctx context.Context, heartbeat *Heartbeat, news problem.HeartbeatNews) error {
	event := heartbeat.Event(news)
	receipt, err := h.opts.Admit(ctx, Arrival{Channel: heartbeat.Channel, Sender: HeartbeatSource, Events: []events.Event{event}})
	if err != nil {
		return err
	}
	level := h.opts.Logger.InfoContext
	if !news.Back {
		level = h.opts.Logger.WarnContext
	}
	level(ctx, "heartbeat changed", "heartbeat", heartbeat.Name, "channel", heartbeat.Channel, "what", event.Title,
		"outcome", receipt.Events[0].Outcome)
	return h.notify(ctx, notifier.Notice{ID: event.ID, Channel: heartbeat.Channel, Text: event.Title, Detail: event.Text})
}

// notify notifies the operators, once for each id.
func (h *Heartbeats) notify(ctx context.Context, notice notifier.Notice) (err error) {
	for _, queue := range h.opts.Outboxes {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.opts.Timeout)
		err = putNotice(bounded, queue, notice)
		cancel()
		if err == nil {
			h.opts.Wake(operationsName)
			return nil
		}
	}
	return err
}

// newsOf returns what is to be posted, as this process saw it last.
func (m *HeartbeatMemory) newsOf(heartbeat *Heartbeat) []problem.HeartbeatNews {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.of(heartbeat).state.News)
}

// Event returns the event that says news.
func (h *Heartbeat) Event(news problem.HeartbeatNews) events.Event {
	e := events.Event{
		ID: "heartbeat:" + h.Name + ":missing:" + strconv.FormatInt(news.Missing, 10), Source: HeartbeatSource, Category: h.Category,
		Severity: h.Severity, Status: events.Firing, Fingerprint: heartbeatPrefix + h.Name,
		Labels: map[string]string{"heartbeat": h.Name}, StartedAt: time.UnixMicro(news.Missing).UTC(),
	}
	at := time.UnixMicro(news.At).UTC()
	if news.Back {
		missing := time.Duration(news.At-news.Missing) * time.Microsecond
		e.ID = "heartbeat:" + h.Name + ":back:" + strconv.FormatInt(news.Missing, 10)
		e.Status = events.Resolved
		e.Title = fmt.Sprintf("Heartbeat %s is back: it was missing for %s", h.Name, inWords(missing))
		e.Text = "Before, it was last seen at " + clockTime(news.Seen, at) + "."
		if news.Seen == 0 {
			e.Text = "It is seen for the first time."
		}
		return e
	}
	if news.Seen == 0 {
		e.Title = fmt.Sprintf("Heartbeat %s is missing: not seen since %s, expected every %s", h.Name, clockTime(news.Made, at), inWords(h.Every))
		return e
	}
	e.Title = fmt.Sprintf("Heartbeat %s is missing: last seen %s, expected every %s", h.Name, clockTime(news.Seen, at), inWords(h.Every))
	return e
}

// clockTime is a time of the store, in microseconds, for a message that is posted at another time.
func clockTime(micros int64, posted time.Time) string {
	at := time.UnixMicro(micros).UTC()
	if at.YearDay() == posted.YearDay() && at.Year() == posted.Year() {
		return at.Format("15:04 MST")
	}
	return at.Format("2 Jan 15:04 MST")
}

// inWords is a duration in its largest unit, or in the largest two of which the second is not 0.
func inWords(d time.Duration) string {
	units := []struct {
		name   string
		length time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	for i, unit := range units {
		if d < unit.length && i < len(units)-1 {
			continue
		}
		text := count(int64(d/unit.length), unit.name)
		if i+1 < len(units) {
			if rest := int64(d % unit.length / units[i+1].length); rest > 0 {
				text += " " + count(rest, units[i+1].name)
			}
		}
		return text
	}
	return ""
}

func count(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.FormatInt(n, 10) + " " + unit + "s"
}
