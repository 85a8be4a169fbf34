package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

// The decoder reads the usual bodies of the relay's own format without reflection.
func FuzzGenericAgreesWithReflection(f *testing.F) {
	for _, seed := range []string{
		`{"category":"errors","title":"Disk full","text":"/var","severity":"critical","status":"firing","link":"https://x.example/",` +
			`"labels":{"host":"db-1","n":1,"b":true,"z":null},"id":"a"}`,
		`{"id":7,"title":"\u00e4\n"}`, `{"id":null,"title":null,"labels":null}`, `{"id":true,"title":"x"}`, `{"Title":"x"}`, `{"ti_tle":"x"}`,
		`{"title":"x","Title":"y"}`, `{"title":5}`, `{"title":"x","labels":[]}`, `{"title":"x","labels":{"a":{}}}`, `{}`, ` { "text" : "y" } `,
		`{"message":"x","level":"error"}`, `{"title":"x","extra":{"severity":"info"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if usual, reflected, ok := events.DecodeGenericBothWays(body); ok {
			require.Equal(t, reflected, usual)
		}
	})
}
