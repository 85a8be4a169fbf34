package notifier_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
)

// While Slack does not answer, who is in a user group stays known, and not every click waits for Slack.
func TestMembersStayKnownWhileSlackDoesNotAnswer(t *testing.T) {
	t.Parallel()
	var asked, broken atomic.Int64
	slack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if broken.Load() > 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"users":["U1"]}`)
	}))
	defer slack.Close()
	app := notifier.NewApp(notifier.AppOptions{Token: "xoxb-1", APIURL: slack.URL})
	isMember := func(user string) bool {
		isMember, err := app.InGroup(t.Context(), user, "S1")
		require.NoError(t, err)
		return isMember
	}
	require.True(t, isMember("U1"))
	require.False(t, isMember("U2"))
	require.EqualValues(t, 1, asked.Load())
	broken.Store(1)
	notifier.AskMembersAgain(app, "S1")
	for range 3 {
		require.True(t, isMember("U1"))
		_, err := app.InGroup(t.Context(), "U1", "S2")
		require.Error(t, err, "never known")
	}
	require.EqualValues(t, 3, asked.Load(), "one question for each group")
	broken.Store(0)
	notifier.AskMembersAgain(app, "S2")
	isMember2, err := app.InGroup(t.Context(), "U1", "S2")
	require.NoError(t, err)
	require.True(t, isMember2)
}
