package configs

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// A configuration that is written channel by channel is the same text as one that is written as a whole.
func TestConfigurationIsWrittenAsAWhole(t *testing.T) {
	t.Parallel()
	for _, channels := range []int{0, 1, 3} {
		for _, indent := range []int{2, 4} {
			cfg := Default()
			cfg.AdminToken = "a secret of the admins"
			cfg.Channels = []Channel{}
			for i := range channels {
				ch := DefaultChannel(fmt.Sprint("c", i))
				ch.TemplateText = "two\nlines\nchannels: []\n"
				ch.Levels = []Level{{Name: "host", Windows: []Window{{Limit: 3, Per: 5}}}}
				cfg.Channels = append(cfg.Channels, ch)
			}
			var whole, parts bytes.Buffer
			encoder := yaml.NewEncoder(&whole)
			encoder.SetIndent(indent)
			require.NoError(t, encoder.Encode(cfg))
			require.NoError(t, cfg.WriteYAML(&parts, indent))
			require.Equal(t, whole.String(), parts.String())
			require.NotContains(t, parts.String(), "of the admins")
		}
	}
}
