package store

import (
	"slackrelay/lua"
)

// FaultOf returns the fault behind an error of a call, as a label of metrics and logs; "" = Redis is not the cause.
func FaultOf(err error) lua.Fault { return lua.FaultOf(err) }

// Describe returns, for operators, why a call failed with err and what to do about it; "" = Redis is not the cause.
func Describe(err error) string { return lua.Describe(err) }
