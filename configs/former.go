package configs

import (
	"reflect"
)

// useFormerNames gives settings that a file sets by their former name the present one.
func useFormerNames(settings map[string]any, t reflect.Type) {
	for _, s := range settingsOf(t) {
		former := s.tag("formerly")
		value, ok := settings[former]
		if _, both := settings[s.name]; former == "" || !ok || both {
			continue
		}
		settings[s.name] = value
		delete(settings, former)
	}
}

// formerNames warns of settings that are set by their former name.
func formerNames(l Loaded) []error {
	v := newValidator()
	l.warnFormer(v, reflect.TypeFor[Config](), prefix)
	for i, c := range l.Config.Channels {
		l.warnFormer(v.in(indexed("channels", i)), reflect.TypeFor[Channel](), c.prefix())
	}
	return *v.faults
}

func (l Loaded) warnFormer(v validator, t reflect.Type, prefix string) {
	for _, s := range settingsOf(t) {
		former := s.tag("formerly")
		if former == "" {
			continue
		}
		const remedy = "is the former name of %s; it still works, but use the new name"
		if field, ok := l.origin.fieldInFile(v.where + former); ok && l.origin.file.contains(field) {
			v.fault(former, remedy, s.name)
		}
		if isVariable(prefix)(former) {
			*v.faults = append(*v.faults, faultf(variable(prefix)(former), remedy, variable(prefix)(s.name)))
		}
	}
}
