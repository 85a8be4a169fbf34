package interaction

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

const (
	// maxEnvelope bounds what one message on a socket may have, in bytes.
	maxEnvelope = 1 << 20
	// writeBuffer makes each acknowledgement one frame of the socket: Slack does not join several.
	writeBuffer = 32 << 10
	// lastAcknowledgements is how long a socket that is given up stays open for the acknowledgements of what is in flight.
	lastAcknowledgements = 100 * time.Millisecond
	// acknowledgeWithin bounds the wait for room among the acknowledgements to write: a socket that ended writes none.
	acknowledgeWithin = time.Second
)

// errEnded is returned instead of a second connection by the same client: whether and when there is one, reopen decides.
var errEnded = errors.New("the socket ended")

// oneConnection lets a client of slack-go open one connection: by itself it would open the next one at once, without an end.
type oneConnection struct {
	client *http.Client
	used   atomic.Bool
}

// Do implements the HTTP client of slack-go.
func (c *oneConnection) Do(request *http.Request) (*http.Response, error) {
	if c.used.Swap(true) {
		return nil, errEnded
	}
	return c.client.Do(request) //nolint:gosec // a request of slack-go to the API that is configured
}

// connection is one socket that is open.
type connection struct {
	socket *socket
	client *socketmode.Client
	appID  string // that Slack said; set before the first delivery
	work   sync.WaitGroup
}

// connect opens a socket and takes in what arrives, until the socket or ctx ends. It returns why no socket was opened; nil = one
// was.
func (s *socket) connect(ctx context.Context) error {
	opts := []slack.Option{
		slack.OptionAppLevelToken(s.key.appToken), slack.OptionHTTPClient(&oneConnection{client: s.receiver.client}),
	}
	if s.key.apiURL != "" {
		opts = append(opts, slack.OptionAPIURL(withSlash(s.key.apiURL)))
	}
	c := &connection{socket: s, client: socketmode.New(slack.New("", opts...),
		socketmode.OptionReadLimit(maxEnvelope),
		socketmode.OptionDialer(&websocket.Dialer{
			Proxy: http.ProxyFromEnvironment, HandshakeTimeout: s.receiver.opts.Timeout, WriteBufferSize: writeBuffer,
		}))}
	open, cancel := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx until all is acknowledged
	ended := make(chan error, 1)
	go func() { ended <- c.client.RunContext(open) }()
	err := c.take(ctx, ended)
	s.setOpen(ctx, false)
	c.drain()
	cancel()
	for running := true; running; {
		select {
		case <-c.client.Events: // of whoever waits to tell it
		case failure, ok := <-ended:
			if ok && err == nil && !errors.Is(failure, context.Canceled) {
				err = failure
			}
			running = false
		}
	}
	return err
}

// take takes in what arrives until the socket or ctx ends.
func (c *connection) take(ctx context.Context, ended chan error) error {
	for opened := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			close(ended)
			return err //nolint:wrapcheck // describe names what was attempted
		case event := <-c.client.Events:
			switch event.Type {
			case socketmode.EventTypeHello:
				opened = true
				c.appID = event.Request.ConnectionInfo.AppID
				c.socket.setOpen(ctx, true)
			case socketmode.EventTypeConnectionError:
				if failure, ok := event.Data.(*slack.ConnectionErrorEvent); ok && !opened {
					return failure.ErrorObj
				}
				return nil
			default:
				c.receive(ctx, event)
			}
		}
	}
}

// drain waits until what arrived is acknowledged.
func (c *connection) drain() {
	c.work.Wait()
	timer := time.NewTimer(lastAcknowledgements)
	defer timer.Stop()
	<-timer.C
}

// receive takes in an event of the socket.
func (c *connection) receive(ctx context.Context, event socketmode.Event) {
	r := c.socket.receiver
	app, ok := c.socket.app()
	if event.Request == nil || event.Request.EnvelopeID == "" || !ok {
		if event.Type == socketmode.EventTypeErrorBadMessage {
			r.opts.Metrics.count(other, refused)
		}
		return
	}
	c.work.Add(1)
	acknowledged := sync.OnceFunc(c.work.Done)
	acknowledge := func(answer []byte) {
		var payload any
		if answer != nil {
			payload = json.RawMessage(answer)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acknowledgeWithin) // also when the relay stops
		defer cancel()
		if err := c.client.AckCtx(ctx, event.Request.EnvelopeID, payload); err != nil {
			r.opts.Logger.WarnContext(ctx, "interaction not acknowledged", "app", app.Name, "error", err)
		}
		acknowledged()
	}
	r.work.Go(func() {
		defer acknowledged()
		c.handle(ctx, app, event, acknowledge)
	})
}

// handle verifies an event of the socket and acts on it.
func (c *connection) handle(ctx context.Context, app App, event socketmode.Event, acknowledge acknowledgement) {
	r := c.socket.receiver
	var d delivery
	k, err := other, errIgnored
	switch data := event.Data.(type) {
	case slack.InteractionCallback:
		k = click
		d, err = r.clicks(ctx, app, c.appID, &data)
	case slack.SlashCommand:
		k = command
		d, err = r.typed(ctx, app, c.appID, &data)
	}
	switch {
	case err == nil:
		if err := r.act(ctx, d, acknowledge); err != nil { // not acknowledged: Slack delivers it again, or tells the user
			r.opts.Logger.WarnContext(ctx, "interaction refused", "app", app.Name, "kind", k, "error", err)
		}
		return
	case errors.Is(err, errIgnored):
		r.opts.Metrics.count(other, ignored)
	case errors.Is(err, ErrUnavailable):
		r.refuse(ctx, app, k, err)
		return
	default:
		r.refuse(ctx, app, k, err)
	}
	acknowledge(nil)
}

// withSlash returns a base URL as slack-go wants it.
func withSlash(apiURL string) string {
	if apiURL[len(apiURL)-1] == '/' {
		return apiURL
	}
	return apiURL + "/"
}
