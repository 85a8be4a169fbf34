package configs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLineOfASettingIsFound(t *testing.T) {
	t.Parallel()
	doc := newDocument("relay.yaml", []byte(`common: &common
  window: 5m
  pace: 1s
Listen: 127.0.0.1:8080
slack_token_file: /run/token
channels:
  - <<: *common
    name: a
    pace: 2s
  - {name: b, slack.channel: x,
     levels: [{name: sender,
       windows: [{limit: 1}]}]}
`))
	for _, c := range []struct {
		field string
		line  int
	}{
		{"listen", 4},
		{"slack_token", 5}, // read from the file that the setting names
		{"channels", 6},
		{"channels[0].pace", 9},
		{"channels[0].window", 2}, // merged
		{"channels[0].burst", 7},  // not there: where its channel begins
		{"channels[1].slack.channel", 10},
		{"channels[1].levels[0].windows[0].limit", 12},
		{"channels[1].levels[0].windows[0].per", 12},
		{"channels[2].name", 6},
		{"lease", 0},
	} {
		t.Run(c.field, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.line, doc.line(c.field))
		})
	}
}
