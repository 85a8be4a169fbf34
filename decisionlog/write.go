package decisionlog

import (
	"bytes"
	"context"
	"time"
)

// refuser is a sink that tells errors that a repeat does not change.
type refuser interface {
	Refuses(err error) bool
}

// run writes lines until ctx ends, and then what is left, once.
func (l *Log) run(ctx context.Context) {
	defer close(l.done)
	for {
		select {
		case <-ctx.Done():
			l.flush(ctx)
			return
		case <-l.ready:
		case <-time.After(batchDelay):
		}
		l.flush(ctx)
	}
}

// flush writes all lines that wait. After ctx ended, nothing is tried again.
func (l *Log) flush(ctx context.Context) {
	failing := time.Duration(0)
	for batch := l.next(); len(batch) > 0; batch = l.next() {
		n, err := l.opts.Sink.Write(batch)
		l.discard(n, bytes.Count(batch[:n], []byte("\n")), true)
		sink, refuses := l.opts.Sink.(refuser)
		switch {
		case err == nil && failing > 0:
			l.opts.Logger.InfoContext(ctx, "decision log is written again")
			failing = 0
		case err == nil:
		case refuses && sink.Refuses(err):
			l.opts.Logger.ErrorContext(ctx, "lines of the decision log refused: they are dropped", "error", err)
			l.discard(len(batch)-n, bytes.Count(batch[n:], []byte("\n")), false)
		case ctx.Err() != nil:
			l.opts.Logger.WarnContext(ctx, "last lines of the decision log not written", "error", err)
			return
		default:
			if failing == 0 {
				l.opts.Logger.ErrorContext(ctx, "decision log could not be written: its lines wait", "error", err)
			}
			failing = min(max(2*failing, firstRetry), longestRetry)
			select {
			case <-ctx.Done():
			case <-time.After(failing):
			}
		}
	}
}

// next returns the next batch of whole lines, which stays in the buffer until [Log.discard].
func (l *Log) next() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.buffer[:min(len(l.buffer), MaxBatch)]
	end := bytes.LastIndexByte(batch, '\n') + 1
	return batch[:end:end] // lines are only appended behind it
}

// discard removes the first n bytes of the buffer, which are the ends of this many lines.
func (l *Log) discard(n, lines int, written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffer = l.buffer[n:]
	if len(l.buffer) == 0 {
		l.buffer = nil
	}
	if written {
		l.written.Add(float64(lines))
		return
	}
	l.dropped.Add(float64(lines))
}
