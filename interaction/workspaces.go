package interaction

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"slackrelay/slackapp"
)

// workspaces knows where each bot token is installed. What Slack said once of a token stays true as long as the token.
type workspaces struct {
	client *http.Client

	mu    sync.Mutex
	known map[workspaceKey]*installation
}

type workspaceKey struct{ token, apiURL string }

// installation is a workspace, or an organisation for an app that is installed for all of its workspaces.
type installation struct {
	mu         sync.Mutex
	workspace  string // T…, or E… of an organisation; "" = Slack was not asked yet
	enterprise string // E…; "" = the workspace is of none
	failed     time.Time
	err        error
}

const (
	// askTimeout bounds the question where a token is installed, because a user waits for the answer.
	askTimeout = time.Second
	// askAgain is how long after a failed question the next one is asked.
	askAgain = 5 * time.Second
)

// origin is where Slack says that a click or command comes from.
type origin struct {
	workspace  string
	enterprise string
	orgWide    bool // the app is installed for the whole organisation
}

// check returns [ErrForeign] if an app is not installed where a click or command comes from, and [ErrUnavailable] if that cannot
// be found out now.
func (w *workspaces) check(ctx context.Context, app App, from origin) error {
	var unknown error
	for _, token := range app.BotTokens {
		at, err := w.find(ctx, workspaceKey{token: token, apiURL: app.APIURL})
		switch {
		case err != nil:
			unknown = err
		case from.workspace != "" && from.workspace == at.workspace,
			from.orgWide && from.enterprise != "" && from.enterprise == at.enterprise:
			return nil
		}
	}
	if unknown != nil {
		return fmt.Errorf("%w: ask Slack for the workspace of %s: %w", ErrUnavailable, app.Name, unknown)
	}
	return ErrForeign
}

// find asks Slack where a token is installed, unless it is known.
func (w *workspaces) find(ctx context.Context, key workspaceKey) (*installation, error) {
	w.mu.Lock()
	at := w.known[key]
	if at == nil {
		at = &installation{}
		w.known[key] = at
	}
	w.mu.Unlock()
	at.mu.Lock()
	defer at.mu.Unlock()
	switch {
	case at.workspace != "":
		return at, nil
	case at.err != nil && time.Since(at.failed) < askAgain:
		return nil, at.err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := slackapp.NewClient(key.token, key.apiURL, w.client).AuthTestContext(ctx)
	if err != nil {
		at.err, at.failed = withoutURL(err), time.Now()
		return nil, at.err
	}
	at.workspace, at.enterprise, at.err = answer.TeamID, answer.EnterpriseID, nil
	return at, nil
}
