package configs

import (
	"reflect"
	"sync"
)

// Default returns the configuration of a relay that nobody configured: every setting at the default that its tag
// declares, and one channel named default. configs/relay.yaml shows all of it.
func Default() Config {
	var c Config
	setDefaults(reflect.ValueOf(&c).Elem())
	c.Channels = []Channel{DefaultChannel("default")}
	return c
}

// DefaultChannel returns a channel with every setting but its name at its default.
func DefaultChannel(name string) Channel {
	c := unnamedChannel()
	c.Name = name
	return c
}

// unnamedChannel is read from the tags once. Its lists are empty and without capacity, so that nothing is shared.
var unnamedChannel = sync.OnceValue(func() Channel {
	var c Channel
	setDefaults(reflect.ValueOf(&c).Elem())
	return c
})

// setDefaults sets every setting that declares a default, and makes lists empty rather than nil, so that they are
// printed as [].
func setDefaults(options reflect.Value) {
	eachSetting(options, "", func(_ string, s setting, in reflect.Value) {
		field := in.Field(s.index)
		if value, ok := s.initial(); ok {
			field.Set(value)
		} else if field.Kind() == reflect.Slice {
			field.Set(reflect.MakeSlice(field.Type(), 0, 0))
		}
	})
}
