package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"slackrelay/pipeline"
	"slackrelay/store"
)

// snapshot is the state of the relay that all viewers see.
type snapshot struct {
	Ready   readiness   `json:"ready"`
	Shared  sharedState `json:"shared"`
	Config  string      `json:"config"`  // the hash of the configuration
	Refused int64       `json:"refused"` // requests, by this process
	Total   int         `json:"total"`   // channels
	Paused  int         `json:"paused"`  // of them
	Broken  int         `json:"broken"`  // of them
	Faults  []string    `json:"faults"`  // what Slack refuses; each is a reason of Ready too

	reading *pipeline.Reading // nil = the channels were not read yet
}

// sharedState is the state of what replicas share.
type sharedState struct {
	Redis    string `json:"redis"`         // "up", "away", or "none" if everything is in memory
	Why      string `json:"why,omitempty"` // the reason for "away"
	Replicas int64  `json:"replicas"`
}

// permissions are the rights of a viewer of the dashboard.
type permissions struct {
	Read   bool `json:"read"`   // the texts of events
	Change bool `json:"change"` // replay, pause, silence
	Token  bool `json:"token"`  // an admin token is configured, so one can sign in
}

// streamEvery is the interval of the stream, and quietFor how long it may send nothing.
const (
	streamEvery = time.Second
	quietFor    = 10 * time.Second
)

// streamTimeout bounds how long writing one message to a reader may take.
const streamTimeout = 10 * time.Second

// stream sends a page of channels by server-sent events, and then each second what changed, until the reader disconnects or this
// Server is retired. The page is chosen as in listChannels; ?selected= adds a channel.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	v, err := s.newViewer(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	ticker := time.NewTicker(streamEvery)
	defer ticker.Stop()
	var sent time.Time
	for {
		message, err := v.message(s.snapshots.get(r.Context(), s.readSnapshot))
		if err != nil {
			s.opts.Logger.ErrorContext(r.Context(), "stream could not be encoded", "error", err)
			return nil
		}
		if message == "" && time.Since(sent) >= quietFor {
			message = ": nothing changed\n\n" // it finds out whether the reader is still there
		}
		if message != "" {
			control.SetWriteDeadline(time.Now().Add(streamTimeout))                     //nolint:errcheck // tests write to memory
			if _, err := fmt.Fprint(w, message); err != nil || control.Flush() != nil { //nolint:gosec // it is JSON in an event stream, not a page
				return nil // the reader disconnected
			}
			sent = time.Now()
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-s.retired:
			return nil
		case <-ticker.C:
		}
	}
}

// snapshotCache keeps the last snapshot, so that any number of readers cost no more than one.
type snapshotCache struct {
	mu   sync.Mutex
	at   time.Time
	last snapshot
}

func (c *snapshotCache) get(ctx context.Context, read func(ctx context.Context) snapshot) snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= streamEvery*9/10 {
		c.last = read(context.WithoutCancel(ctx))
		c.at = time.Now()
	}
	return c.last
}

// readSnapshot reads the state of the relay. If the channels cannot be read, it repeats those of the last reading and adds a
// reason.
func (s *Server) readSnapshot(ctx context.Context) snapshot {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	now := snapshot{Faults: []string{}, Refused: s.opts.Guard.count(), Config: s.opts.Config().Hash, Shared: s.sharedState(ctx)}
	reading, err := s.soonReading(ctx)
	now.Ready, _ = s.readiness(ctx, func() *pipeline.Reading { return reading })
	now.reading = reading
	if err != nil {
		now.Ready.Reasons = append(now.Ready.Reasons, "the channels cannot be read, so this page shows old data")
		now.reading = s.opts.Status.Latest()
	}
	if now.reading != nil {
		now.Total = len(now.reading.Channels)
		now.Paused = now.reading.Paused()
		now.Broken = now.reading.Broken()
		now.Faults = append(now.Faults, faultReasons(now.reading)...)
	}
	return now
}

func (s *Server) sharedState(ctx context.Context) sharedState {
	health := s.opts.Status.Health()
	if !s.opts.Status.Durable() {
		return sharedState{Redis: "none", Replicas: health.Replicas}
	}
	state := sharedState{Redis: "up", Replicas: health.Replicas}
	if err := s.opts.Status.Ping(ctx); err != nil {
		state.Redis = "away"
		state.Why = store.Describe(err)
	} else if len(health.Away) > 0 {
		state.Redis = "away"
		state.Why = health.Away[0].Why
	}
	return state
}
