package store

import (
	"slackrelay/lua"
)

// Fault is why Redis did not serve a call, as a label of metrics and logs; "" = for another reason.
type Fault = lua.Fault

// FaultOf returns the fault behind an error of a call.
func FaultOf(err error) Fault { return lua.FaultOf(err) }

// Describe returns, for operators, why a call failed with err and what to do about it; "" = Redis is not the cause.
func Describe(err error) string { return lua.Describe(err) }
