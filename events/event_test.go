package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/events"
)

// Plain links are recognised without parsing them.
func TestIsLinkAgreesWithParseLink(t *testing.T) {
	t.Parallel()
	address := rapid.StringMatching(`(https?|HTTP|ftp|)(://|:|)[a-zA-Z0-9.:@\[\]% -]{0,12}([/?#][ -~é\x00]{0,12}(%[0-9a-gA-F]{0,2})?)?`)
	rapid.Check(t, func(t *rapid.T) {
		text := address.Draw(t, "address")
		_, ok := events.ParseLink(text)
		require.Equal(t, ok, events.IsLink(text), text)
	})
}
