package store

import (
	"crypto/sha256"
	"encoding/hex"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

// Outer is the tier as the one level that all channels of a limit group share.
func ChannelLevel(t ratelimit.LevelSpec, group string) ratelimit.Level {
	return t.At(lua.KeysOf(group, "").OuterLimit(t.Strategy.Tag()))
}

// maxValue is how long a level's value may be in its key; a label can be of any length.
const maxValue = 128

// Of is the tier as the level of one of its values (a category's name, a sender's) within a channel.
func LevelOf(t ratelimit.LevelSpec, scope Channel, value string) ratelimit.Level {
	if len(value) > maxValue {
		sum := sha256.Sum256([]byte(value))
		value = value[:maxValue/2] + "-" + hex.EncodeToString(sum[:8])
	}
	return t.At(scope.Keys().InnerLimit(t.Strategy.Tag(), t.Name, value))
}

// Outer is the level that all channels of a limit group share.
func NewChannelLevel(group string, windows ...ratelimit.Window) ratelimit.Level {
	return ChannelLevel(ratelimit.LevelSpec{Name: ratelimit.LevelChannel, Windows: windows}, group)
}

// Inner is the level of one value of name (name "category", value "errors") within a channel.
func NewLevel(scope Channel, name, value string, windows ...ratelimit.Window) ratelimit.Level {
	return LevelOf(ratelimit.LevelSpec{Name: name, Windows: windows}, scope, value)
}
