package notifier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/notifier"
)

func TestPagesLinkIntoTheDashboard(t *testing.T) {
	t.Parallel()
	for _, base := range []notifier.Pages{"https://relay.example.com/ops", "https://relay.example.com/ops/"} {
		require.Equal(t, "https://relay.example.com/ops/#alerts", base.Channel("alerts"))
		require.Equal(t, "https://relay.example.com/ops/#alerts~test&show=dropped", base.Drops("alerts~test"))
		require.Equal(t, "https://relay.example.com/ops/#alerts&show=silences&matcher=category%3Ddisk&matcher=label.a%3Db+%26+%3C",
			base.Silence("alerts", "category=disk", "label.a=b & <"))
	}
}

func TestPagesWithoutAnAddressLinkNowhere(t *testing.T) {
	t.Parallel()
	var none notifier.Pages
	require.Empty(t, none.Channel("alerts")+none.Drops("alerts")+none.Silence("alerts", "category=disk"))
}
