package configs

import (
	"reflect"
)

// useFormerNames gives settings that a file sets by their former name the present one.
func useFormerNames(settings map[string]any, t reflect.Type) {
	for _, s := range settingsOf(t) {
		if s.former == "" {
			continue
		}
		value, ok := settings[s.former]
		if _, both := settings[s.name]; !ok || both {
			continue
		}
		settings[s.name] = value
		delete(settings, s.former)
	}
}

// formerNames warns of settings that are set by their former name.
func formerNames(l Loaded) []*FieldError {
	v := newValidator()
	l.warnFormer(v, reflect.TypeFor[Config](), prefix)
	for i, c := range l.Config.Channels {
		l.warnFormer(v.in(indexed("channels", i)), reflect.TypeFor[Channel](), c.prefix())
	}
	return *v.faults
}

func (l Loaded) warnFormer(v validator, t reflect.Type, prefix string) {
	for _, s := range settingsOf(t) {
		if s.former == "" {
			continue
		}
		const remedy = "is the former name of %s; it still works, but use the new name"
		if field, ok := l.origin.fieldInFile(v.where + s.former); ok && l.origin.file.contains(field) {
			v.fault(s.former, remedy, s.name)
		}
		if name := variable(prefix, s.former); isSet(name) {
			*v.faults = append(*v.faults, faultf(name, remedy, variable(prefix, s.name)))
		}
	}
}

// removedEngine is a setting of channels that no longer exists.
const removedEngine = "engine"

// engineFault is the fault of a file or a variable that still sets it.
func engineFault(where string) *FieldError {
	return faultf(where, "was removed: every channel decides with scripts, as with engine: script; delete it. "+
		"Levels that engine: multi counted with fixed-window by default need strategy: fixed-window now, else they use sliding-log")
}
