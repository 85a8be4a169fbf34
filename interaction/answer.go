package interaction

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slack-go/slack"
)

// Bounds of answers.
const (
	// maxAcknowledgement is the most bytes of an answer in an acknowledgement: Slack drops a larger one without an error.
	maxAcknowledgement = 19 << 10
	// maxFallback is the most characters of the text beside blocks, which only notifications show.
	maxFallback = 1000
	// maxReply is the most bytes that are read of Slack's reply to an answer.
	maxReply = 4 << 10
)

// cutNote ends an answer that is too long.
const cutNote = "The answer is too long for Slack. The rest is left out."

// message is an answer as Slack takes it.
type message struct {
	Visibility string        `json:"response_type"`
	Replace    bool          `json:"replace_original"`
	Text       string        `json:"text,omitempty"`
	Blocks     []slack.Block `json:"blocks,omitempty"`
}

// empty reports whether the user gets no answer.
func (a Answer) empty() bool { return a.Text == "" && len(a.Blocks) == 0 }

// encode returns the answer in JSON.
func (a Answer) encode() []byte {
	m := message{Visibility: slack.ResponseTypeEphemeral, Replace: a.Replace, Text: a.Text, Blocks: a.Blocks}
	encoded, err := json.Marshal(m)
	if err != nil { // a block that cannot be encoded
		encoded, _ = json.Marshal(message{Visibility: m.Visibility, Text: "The relay failed to write its answer."}) //nolint:errchkjson // texts
	}
	return encoded
}

// inAcknowledgement returns the answer in JSON, small enough for an acknowledgement; nil = there is none.
func inAcknowledgement(a Answer) []byte {
	if a.empty() {
		return nil
	}
	if len(a.Blocks) > 0 {
		a.Text = cutText(a.Text, maxFallback)
	}
	encoded := a.encode()
	for kept := len(a.Blocks); len(encoded) > maxAcknowledgement && kept > 0; {
		kept--
		note := slack.NewContextBlock("", slack.NewTextBlockObject(slack.PlainTextType, cutNote, false, false))
		a.Blocks = append(append([]slack.Block(nil), a.Blocks[:kept]...), note)
		encoded = a.encode()
	}
	for limit := len(a.Text); len(encoded) > maxAcknowledgement; { // JSON may take more bytes than the text
		limit /= 2
		encoded = Answer{Text: cutText(a.Text, limit) + "\n" + cutNote, Replace: a.Replace}.encode()
	}
	return encoded
}

// cutText returns the first bytes of a text, up to a whole character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// post posts answers to the user. One that fails is logged: the effect has happened.
func (r *Receiver) post(ctx context.Context, d delivery, all []Answer) {
	for _, answer := range all {
		if answer.empty() {
			continue
		}
		if err := r.postOne(ctx, d, answer); err != nil {
			r.opts.Logger.WarnContext(ctx, "interaction not answered", "app", d.app.Name, "kind", d.kind, "error", err)
		}
	}
}

func (r *Receiver) postOne(ctx context.Context, d delivery, answer Answer) error {
	at, err := url.Parse(d.responseURL)
	if err != nil || !d.app.takesAnswers(at) {
		return errors.New("response_url is not one of Slack")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(answer.encode()))
	if err != nil {
		return withoutURL(err)
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	response, err := r.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close()
	reply, _ := io.ReadAll(io.LimitReader(response.Body, maxReply)) // the status decides
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("slack answered %d: %.100q", response.StatusCode, reply)
	}
	return nil
}

// withoutURL returns an error without the URL, which is a secret.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("call Slack: %w", wrapped.Err)
	}
	return err
}
