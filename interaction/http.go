package interaction

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"slackrelay/store"
)

// MaxRequest is the largest body of a request by Slack, in bytes. A click contains the message with all of its blocks.
const MaxRequest = 256 << 10

// Endpoint is what a request by Slack contains.
type Endpoint int

// The endpoints.
const (
	Interactions Endpoint = iota // clicks
	Commands
)

// requests is where it is stored which requests were taken in. No configured channel has a "~" in its name.
var requests = store.Channel{Name: "~clicks"}

// rememberRequests is how long a request is remembered: signatures are valid for 5 minutes before and after.
const rememberRequests = 11 * time.Minute

// TakesRequests reports whether an app has a signing secret, so that Slack may post clicks and commands.
func (r *Receiver) TakesRequests() bool {
	return slices.ContainsFunc(r.current.Load().apps, func(app App) bool { return app.SigningSecret != "" })
}

// Post takes in a request by Slack, with its body as it was sent, and returns when the user has been answered. It acknowledges
// each request that it returns no error for. A request that is sent again has no effect.
func (r *Receiver) Post(ctx context.Context, to Endpoint, header http.Header, body []byte, acknowledge func(answer []byte)) error {
	if sslCheck(body) {
		acknowledge(nil)
		return nil
	}
	app, ok := r.signer(header, body)
	if !ok {
		return ErrUnauthorized
	}
	d, err := r.parse(ctx, app, to, body)
	switch {
	case errors.Is(err, errIgnored):
		r.opts.Metrics.count(other, ignored)
		acknowledge(nil)
		return nil
	case err != nil:
		r.refuse(ctx, app, kindOf(to), err)
		return err
	case r.isRepeat(ctx, header.Get("X-Slack-Request-Timestamp"), body):
		r.opts.Metrics.count(d.kind, repeated)
		acknowledge(nil)
		return nil
	}
	return r.act(ctx, d, acknowledge)
}

// signer returns the app whose signing secret signed a request. Every secret is tried, so that the time says nothing.
func (r *Receiver) signer(header http.Header, body []byte) (signer App, ok bool) {
	for _, app := range r.current.Load().apps {
		verifier, err := slack.NewSecretsVerifier(header, app.SigningSecret)
		if err != nil {
			continue
		}
		verifier.Write(body) //nolint:errcheck // a hash takes every byte
		if verifier.Ensure() == nil {
			signer, ok = app, true
		}
	}
	return signer, ok
}

// parse verifies what a signed request contains.
func (r *Receiver) parse(ctx context.Context, app App, to Endpoint, body []byte) (delivery, error) {
	request := &http.Request{
		Method: http.MethodPost, URL: &url.URL{}, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	}
	if to == Commands {
		typed, err := slack.SlashCommandParse(request)
		if err != nil {
			return delivery{}, fmt.Errorf("%w: the form", ErrMalformed)
		}
		return r.typed(ctx, app, "", &typed)
	}
	callback, err := slack.InteractionCallbackParse(request)
	if err != nil {
		return delivery{}, fmt.Errorf("%w: the JSON", ErrMalformed)
	}
	return r.clicks(ctx, app, "", &callback)
}

// recallWithin bounds the question whether a request was taken in before, so that a slow store does not use up the time in which
// Slack waits.
const recallWithin = time.Second

// isRepeat reports whether a request was taken in before, by any replica. If that cannot be found out, it is as if it was not:
// effects happen once in any case.
func (r *Receiver) isRepeat(ctx context.Context, stamp string, body []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, recallWithin)
	defer cancel()
	sum := sha256.Sum256(append([]byte(stamp+":"), body...)) // all that is signed; the signature itself has several spellings
	saved, err := r.opts.Documents.SaveProblems(ctx, requests, []store.ProblemChange{{
		Name: "request/" + hex.EncodeToString(sum[:16]), Data: []byte("1"), Keep: rememberRequests,
	}}, store.ProblemCounts{})
	return err == nil && !saved
}

// refuse counts and logs what is not taken in although it came from Slack.
func (r *Receiver) refuse(ctx context.Context, app App, k kind, err error) {
	r.opts.Metrics.count(k, refused)
	r.opts.Logger.WarnContext(ctx, "interaction refused", "app", app.Name, "kind", k, "error", err)
}

func kindOf(to Endpoint) kind {
	if to == Commands {
		return command
	}
	return click
}

// sslCheck reports whether a body only tests the certificate of a command's address. Such requests need no signature.
func sslCheck(body []byte) bool {
	if len(body) > maxReply || !bytes.Contains(body, []byte("ssl_check=1")) {
		return false
	}
	form, err := url.ParseQuery(string(body))
	return err == nil && form.Get("ssl_check") == "1" && form.Get("payload") == "" && form.Get("command") == ""
}
