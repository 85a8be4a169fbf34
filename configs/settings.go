package configs

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// setting is one field of an option struct. Its tags declare:
//
//	yaml      its name, in the file and, in capitals, in the environment
//	formerly  the name that it had before, which still works, with a warning
//	initial   its default; without it, the zero value
//	min, max  the bounds of a number or a duration, both allowed
//	oneof     the values that a text may have, separated by commas
//	format    what a text must look like; see formats
//	unset     what the zero value stands for; it is then allowed whatever the bounds are
//	when      "other" or "other=value": bounds hold only if that setting of the struct is set, or has that value
//	restart   "true" if a running relay cannot change it; another text qualifies that in the reference
//	variable  "none" if the environment cannot set it; structs and lists of them never have a variable
//	section   the heading of docs/configuration.md that begins with it
type setting struct {
	index int // of the field in its struct
	name  string
	field reflect.StructField

	// What its tags declare. There may be thousands of channels, and each has every setting of a channel.
	former    string
	start     reflect.Value // the default, or the zero value
	declared  bool          // start is declared
	low, high reflect.Value // not valid = there is no such bound
	oneof     []string
	format    string
	zeroMeans bool // the tag unset is present
	when      string
}

// readSettings has the settings of each option struct that was asked for.
var readSettings = struct {
	sync.Mutex
	of map[reflect.Type][]setting
}{of: map[reflect.Type][]setting{}}

// settingsOf lists the settings of an option struct, in the order of its fields. The caller must not change the list.
func settingsOf(t reflect.Type) []setting {
	readSettings.Lock()
	defer readSettings.Unlock()
	if all, ok := readSettings.of[t]; ok {
		return all
	}
	all := make([]setting, 0, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" {
			s := setting{index: i, name: name, field: field}
			s.readTags()
			all = append(all, s)
		}
	}
	readSettings.of[t] = all
	return all
}

// readTags reads what the tags declare.
func (s *setting) readTags() {
	s.former = s.tag("formerly")
	s.start = reflect.Zero(s.field.Type)
	if text, ok := s.field.Tag.Lookup("initial"); ok {
		s.start, s.declared = s.parse(text), true
	}
	if text := s.tag("min"); text != "" {
		s.low = s.parse(text)
	}
	if text := s.tag("max"); text != "" {
		s.high = s.parse(text)
	}
	if values := s.tag("oneof"); values != "" {
		s.oneof = strings.Split(values, ",")
	}
	s.format = s.tag("format")
	_, s.zeroMeans = s.field.Tag.Lookup("unset")
	s.when = s.tag("when")
}

func (s setting) tag(name string) string { return s.field.Tag.Get(name) }

// names are the name of the setting, and its former one if there is one.
func (s setting) names() []string {
	if s.former != "" {
		return []string{s.name, s.former}
	}
	return []string{s.name}
}

// initial returns the default and whether one is declared.
func (s setting) initial() (reflect.Value, bool) { return s.start, s.declared }

// hasVariable reports whether the environment can set it.
func (s setting) hasVariable() bool {
	t := s.field.Type
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return s.tag("variable") != "none" && t.Kind() != reflect.Struct && t.Kind() != reflect.Map
}

// needsRestart reports whether a running relay keeps the value that it was started with.
func (s setting) needsRestart() bool { return s.tag("restart") == "true" }

// applies reports whether the bounds hold in a struct: where when names another setting, that decides.
func (s setting) applies(in reflect.Value) bool {
	if s.when == "" {
		return true
	}
	name, want, compared := strings.Cut(s.when, "=")
	for _, other := range settingsOf(in.Type()) {
		if value := in.Field(other.index); other.name == name {
			return compared && fmt.Sprint(value) == want || !compared && !value.IsZero()
		}
	}
	return true
}

// parse reads a value from a tag. A tag that cannot be read is a mistake in this package, which every test finds.
func (s setting) parse(text string) reflect.Value {
	value := reflect.New(s.field.Type)
	if err := yaml.Unmarshal([]byte(text), value.Interface()); err != nil {
		panic(fmt.Sprintf("setting %s: tag %q: %v", s.name, text, err))
	}
	return value.Elem()
}

// eachSetting visits the settings of an option struct and of the structs in it. where is the beginning of their paths.
func eachSetting(options reflect.Value, where string, visit func(where string, s setting, in reflect.Value)) {
	for _, s := range settingsOf(options.Type()) {
		visit(where, s, options)
		switch value := options.Field(s.index); {
		case value.Kind() == reflect.Struct:
			eachSetting(value, where+s.name+".", visit)
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			for i := range value.Len() {
				eachSetting(value.Index(i), where+indexed(s.name, i)+".", visit)
			}
		}
	}
}

// compare orders two values of a number or a duration. NaN is less than every number.
func compare(a, b reflect.Value) int {
	if a.CanInt() {
		return cmp.Compare(a.Int(), b.Int())
	}
	return cmp.Compare(a.Float(), b.Float())
}

// show writes a value as it stands in a file, without quotes.
func show(value any) string {
	if d, ok := value.(time.Duration); ok {
		return shortDuration(d)
	}
	return fmt.Sprint(value)
}

// shortDuration writes 30m where Go writes 30m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// namesOf lists the names of the settings of an option struct.
func namesOf(t reflect.Type) []string {
	var names []string
	for _, s := range settingsOf(t) {
		names = append(names, s.name)
	}
	return names
}
