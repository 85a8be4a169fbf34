package redis_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"slackrelay/lua"
	"slackrelay/lua/redistest"
)

// Scripts that are run by hand refuse arguments that are missing or too small with an error that begins with ARG, and take the
// smallest ones that are valid.
func TestScriptsRefuseBadArguments(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for name, row := range map[string]struct {
		script *redis.Script
		keys   int
		good   []any
		bad    [][]any
	}{
		"append": {lua.Append, 4, []any{"id", "notice", "{}", 1}, [][]any{
			{"id", "notice", "{}"}, {"id", "notice", "{}", 0}, {"id", "notice", "{}", -1},
		}},
		"budget_reserve": {lua.BudgetReserve, 2, []any{1, 1}, [][]any{{}, {0, 1}, {"", 1}, {1}, {1, 0}, {1, "x"}}},
		"claim": {lua.Claim, 8, []any{"one", 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0}, [][]any{
			{},
			{"one", 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0},
			{"one", 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0},
			{"one", 1, -1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0},
			{"one", 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, -1},
		}},
		"count_muted":      {lua.CountMuted, 1, []any{1}, [][]any{{}, {0}, {"x"}}},
		"credential_pause": {lua.CredentialPause, 1, []any{0, "by hand"}, [][]any{{}, {-1, "by hand"}, {"", "by hand"}, {1}}},
		"delayed":          {lua.Delayed, 3, []any{1}, [][]any{{}, {0}, {"x"}}},
		"due":              {lua.Due, 1, []any{0, 1}, [][]any{{}, {0}, {0, 0}, {-1, 1}, {"x", 1}, {0, "x"}}},
		"due_problems":     {lua.DueProblems, 3, []any{1, 1, 1}, [][]any{{}, {0, 1, 1}, {1}, {1, 0, 1}, {"x", 1, 1}, {1, 1, 0}}},
		"list_problems":    {lua.ListProblems, 2, []any{"", "", 1}, [][]any{{}, {""}, {"", ""}, {"", "", 0}, {"", "", "x"}}},
		"save_problems": {lua.SaveProblems, 6, []any{1, 1, 1, "{}", "p/1", 0, "", 0, 0}, [][]any{
			{},
			{0, 1, 1, "{}"},
			{1, 0, 1, "{}"},
			{1, 1, 0, "{}"},
			{1, 1, 1},
			{1, 1, 1, "{"},
			{1, 1, 1, "{}", "p/1"},
			{1, 1, 1, "{}", "p/1", "x", "", 0, 0},
			{1, 1, 1, "{}", "p/1", 0, "", "x", 0},
			{1, 1, 1, "{}", "p/1", 0, "", 0, -1},
		}},
		"heartbeat": {lua.Heartbeat, 4, []any{"one", 1, "epoch", 0, "", ""}, [][]any{
			{}, {"one"}, {"one", "", "epoch", 0, "", ""}, {"one", 0, "epoch", 0, "", ""}, {"one", 1}, {"one", 1, "epoch", 0, ""},
		}},
		"mark": {lua.Mark, 4, []any{1, "C1", "1.1", "ack", "{}", 0}, [][]any{
			{}, {1, "C1", "1.1", "ack", "{}"}, {1, "C1", "1.1", "ack", "{", 0}, {1, "C1", "1.1", "ack", "1", 0}, {1, "C1", "1.1", "nod", "{}", 0},
		}},
		"page":   {lua.Page, 1, []any{"+", 1}, [][]any{{}, {""}, {"", 0}, {"", "x"}}},
		"pause":  {lua.Pause, 2, []any{0, "by hand"}, [][]any{{}, {-1, "by hand"}, {"", "by hand"}, {1}}},
		"refund": {lua.Refund, 2, []any{"id", 1, 1}, [][]any{{}, {"id", 0, 1}, {"id", 1, 0}, {"id", 1}}},
		"remove": {lua.Remove, 1, []any{"1-1"}, [][]any{{}}},
		"renew":  {lua.Renew, 1, []any{"one", 1}, [][]any{{}, {"one"}, {"one", 0}, {"one", "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var keys []string
			for i := range row.keys {
				keys = append(keys, fmt.Sprint(name, i))
			}
			for _, args := range row.bad {
				require.ErrorContains(t, row.script.Run(t.Context(), client, keys, args...).Err(), "ARG ", "%v", args)
			}
			_, err := row.script.Run(t.Context(), client, keys, row.good...).Result()
			if err != nil {
				require.ErrorIs(t, err, redis.Nil)
			}
		})
	}
}
