package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"slackrelay/pipeline"
	"slackrelay/store"
)

// snapshot is one message of the stream.
type snapshot struct {
	Ready    readiness                `json:"ready"`
	Shared   sharedState              `json:"shared"`
	Channels []pipeline.ChannelStatus `json:"channels"`
	Config   string                   `json:"config"`  // the hash of the configuration
	Refused  int64                    `json:"refused"` // requests, by this process
	May      permissions              `json:"may"`
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

// streamEvery is the interval of the stream.
const streamEvery = time.Second

// streamTimeout bounds how long writing one message to a reader may take.
const streamTimeout = 10 * time.Second

// stream sends a snapshot each second, by server-sent events, until the reader disconnects or this Server is retired.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	may := permissions{Read: s.mayRead(r), Change: s.isAdmin(r), Token: s.admin.set}
	ticker := time.NewTicker(streamEvery)
	defer ticker.Stop()
	for {
		control.SetWriteDeadline(time.Now().Add(streamTimeout)) //nolint:errcheck // tests write to memory
		now := s.snapshots.get(r.Context(), s.readSnapshot)
		now.May = may
		encoded, err := json.Marshal(now)
		if err != nil {
			s.opts.Logger.ErrorContext(r.Context(), "stream could not be encoded", "error", err)
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", encoded); err != nil || control.Flush() != nil {
			return // the reader disconnected
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.retired:
			return
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

func (c *snapshotCache) get(ctx context.Context, read func(ctx context.Context, last snapshot) snapshot) snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= streamEvery*9/10 {
		c.last = read(context.WithoutCancel(ctx), c.last)
		c.at = time.Now()
	}
	return c.last
}

// readSnapshot reads the state of the relay. If the channels cannot be read, it repeats those of the last snapshot and adds a
// reason.
func (s *Server) readSnapshot(ctx context.Context, last snapshot) snapshot {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	now := snapshot{Refused: s.opts.Guard.count(), Config: s.opts.Config().Hash, Channels: last.Channels, Shared: s.sharedState(ctx)}
	channels := sync.OnceValues(func() ([]pipeline.ChannelStatus, error) { return s.opts.Status.All(ctx) })
	now.Ready, _ = s.readiness(ctx, channels)
	all, err := channels()
	if err != nil {
		now.Ready.Reasons = append(now.Ready.Reasons, "the channels cannot be read, so this page shows old data")
	} else {
		now.Channels = all
	}
	if now.Channels == nil {
		now.Channels = []pipeline.ChannelStatus{}
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
