package store

import (
	"slackrelay/lua"
)

// Fault is why Redis did not serve a call, for everybody who looks; "" = another reason.
type Fault = lua.Fault

// FaultOf says why a call failed that answered err.
func FaultOf(err error) Fault { return lua.FaultOf(err) }

// Describe says for operators why a call failed that answered err, and what to do about it; "" where Redis has no part in it.
func Describe(err error) string { return lua.Describe(err) }
