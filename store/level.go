package store

import (
	"crypto/sha256"
	"encoding/hex"

	"slackrelay/lua"
	"slackrelay/ratelimit"
)

// ChannelLevel returns the level of a spec that all channels of a limit group share.
func ChannelLevel(spec ratelimit.LevelSpec, group string) ratelimit.Level {
	return spec.At(lua.KeysOf(group, "").ChannelLimit(spec.Strategy.Tag()))
}

// maxValue is the longest value in a level's key, in bytes. A longer one is cut, and made unique by its hash.
const maxValue = 128

// LevelOf returns the level of a spec for one value within a channel: of a category's name or a sender's, for example.
func LevelOf(spec ratelimit.LevelSpec, channel Channel, value string) ratelimit.Level {
	if len(value) > maxValue {
		sum := sha256.Sum256([]byte(value))
		value = value[:maxValue/2] + "-" + hex.EncodeToString(sum[:8])
	}
	return spec.At(channel.Keys().ValueLimit(spec.Strategy.Tag(), spec.Name, value))
}
