package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slackrelay/lua"
)

func TestAChannelWithoutAGroupHasItsOwn(t *testing.T) {
	t.Parallel()
	require.Equal(t, lua.KeysOf("alerts", "alerts"), lua.KeysOf("", "alerts"))
	require.NotEqual(t, lua.KeysOf("", "alerts").Seen(), lua.KeysOf("", "other").Seen())
	require.Equal(t, "relay:{%}:limit:gate:channel", lua.KeysOf("", "").ChannelLimit("gate"), "{} is no hash tag")
	require.False(t, lua.Grouped(lua.KeysOf("", "").ChannelLimit("gate")))
	require.True(t, lua.Grouped(lua.KeysOf("%", "").ChannelLimit("gate")))
}

func TestDifferentNamesNeverShareAKey(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, lua.KeysOf("g", "\xff:").Seen(), lua.KeysOf("g", "\xfe:").Seen())
	name := rapid.StringOf(rapid.RuneFrom([]rune("a:{}%3AF\u00ff\ufffd\x00")))
	rapid.Check(t, func(rt *rapid.T) {
		bytes := func(label string) string {
			return name.Draw(rt, label) + string(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, label+" bytes"))
		}
		a, b := bytes("a"), bytes("b")
		x := lua.KeysOf("g", "ch").ValueLimit("gate", "category", a)
		y := lua.KeysOf("g", "ch").ValueLimit("gate", "category", b)
		require.Equal(rt, a == b, x == y, "%q %q", a, b)
	})
}

func TestWorkNamesItsChannel(t *testing.T) {
	t.Parallel()
	require.Equal(t, "send team:alerts", lua.KeysOf("team", "alerts").Work("send"))
	require.Equal(t, "relay:{team}:due", lua.KeysOf("team", "alerts").Due())
	require.Equal(t, "relay:{team}:due", lua.DueBeside(lua.KeysOf("team", "alerts").Outbox()))
	name := rapid.StringOf(rapid.RuneFrom([]rune("a :{}%3AF\u00ff\ufffd\x00")))
	rapid.Check(t, func(rt *rapid.T) {
		group, channel := name.Draw(rt, "group")+string(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, "bytes")), name.Draw(rt, "channel")
		kind, parsedGroup, parsedChannel := lua.ParseWork(lua.KeysOf(group, channel).Work("promote"))
		require.Equal(rt, "promote", kind)
		require.Equal(rt, channel, parsedChannel)
		if group != "" {
			require.Equal(rt, group, parsedGroup)
		} else {
			require.Equal(rt, channel, parsedGroup)
		}
	})
}
