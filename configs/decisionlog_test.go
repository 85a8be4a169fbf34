package configs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

func TestFaultsOfTheDecisionLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ to, header, fault string }{
		{"", "", ""},
		{"stdout", "", ""},
		{"/var/log/decisions.jsonl", "", ""},
		{"https://warehouse.example.com/x", "Authorization: Bearer s3cret", ""},
		{"http://127.0.0.1:9000/x", "", ""},
		{"http://localhost/x", "", ""},
		{"http://warehouse.example.com/x", "", "without encryption; use an https URL"},
		{"ftp://127.0.0.1/x", "", "without encryption"},
		{"https://", "", "is not a URL"},
		{"https://u:s3cret@warehouse.example.com/", "", "contains a user"},
		{"https://warehouse.example.com/x", "s3cret", "the value is not a header"},
		{"https://warehouse.example.com/x", "A: s3cret\nB: c", "the value is not a header"},
		{"stdout", "A: s3cret", "is sent to a URL only"},
	} {
		cfg := configs.Default()
		cfg.DecisionLog, cfg.DecisionLogHeader = c.to, configs.Secret(c.header)
		found := ""
		for _, fault := range cfg.Validate() {
			if fault.Field == "decision_log" || fault.Field == "decision_log_header" {
				found += fault.Error()
			}
		}
		require.NotContains(t, found, "s3cret")
		if c.fault == "" {
			require.Empty(t, found, "%s", c.to)
			continue
		}
		require.Contains(t, found, c.fault, "%s", c.to)
	}
}
