package configs

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// decode writes what was read from a file over an option struct. It reports every key that is unknown or has a wrong
// type; where is the path of the struct, empty or with a dot at its end.
func decode(settings map[string]any, target any, where string) []*FieldError {
	t := reflect.TypeOf(target).Elem()
	useFormerNames(settings, t)
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: target, TagName: "yaml",
		DecodeHook: mapstructure.ComposeDecodeHookFunc(durationFromText, rightKind),
	})
	if err != nil {
		panic(err) // target is no pointer
	}
	var faults []*FieldError
	for _, err := range flatten(decoder.Decode(settings)) {
		if wrong, ok := errors.AsType[*mapstructure.DecodeError](err); ok {
			faults = append(faults, decodeFault(where+wrong.Name(), wrong))
		}
	}
	return append(faults, unknownSettings(settings, t, where)...)
}

// unknownSettings reports the keys of an object, and of those inside it, that are no settings of an option struct.
func unknownSettings(settings map[string]any, t reflect.Type, where string) []*FieldError {
	var faults []*FieldError
	all := settingsOf(t)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if t == reflect.TypeFor[Channel]() && strings.EqualFold(key, removedEngine) {
			faults = append(faults, engineFault(where+key))
			continue
		}
		i := slices.IndexFunc(all, func(s setting) bool { return strings.EqualFold(s.name, key) })
		if i < 0 {
			faults = append(faults, faultf(where+key, "unknown setting%s", didYouMean(key, namesOf(t))))
			continue
		}
		faults = append(faults, unknownInside(settings[key], all[i].field.Type, where+key)...)
	}
	return faults
}

// unknownInside reports the unknown keys of an object or of a list of objects.
func unknownInside(value any, t reflect.Type, where string) []*FieldError {
	var faults []*FieldError
	switch value := value.(type) {
	case map[string]any:
		if t.Kind() == reflect.Struct {
			faults = unknownSettings(value, t, where+".")
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, item := range value {
				faults = append(faults, unknownInside(item, t.Elem(), indexed(where, i))...)
			}
		}
	}
	return faults
}

// durationFromText requires a unit: a bare number would be nanoseconds.
func durationFromText(_, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() {
		return data, nil
	}
	if text, ok := data.(string); ok {
		d, err := time.ParseDuration(text)
		if err == nil {
			return d, nil
		}
		data = strconv.Quote(text)
	}
	return nil, fmt.Errorf("%v is not %s", data, kindName(to))
}

// rightKind refuses fractions, which would be cut off, and what is no list or no object where one belongs.
func rightKind(from, to reflect.Type, data any) (any, error) {
	switch {
	case from.Kind() == reflect.Float64 && to.Kind() == reflect.Int64:
		return nil, fmt.Errorf("%v is not %s", data, kindName(to))
	case to.Kind() == reflect.Slice && from.Kind() != reflect.Slice, to.Kind() == reflect.Struct && from.Kind() != reflect.Map:
		return nil, fmt.Errorf("is not %s", kindName(to)) // without the value, which may contain a secret
	default:
		return data, nil
	}
}

// flatten returns the single errors in a joined one.
func flatten(err error) []error {
	type joinedError interface {
		error
		Unwrap() []error
	}
	joined, ok := errors.AsType[joinedError](err)
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// decodeFault is an error of mapstructure in the words of the file.
func decodeFault(field string, wrong *mapstructure.DecodeError) *FieldError {
	unconvertible, ok := errors.AsType[*mapstructure.UnconvertibleTypeError](wrong)
	if !ok {
		return faultf(field, "%v", wrong.Unwrap())
	}
	expected := unconvertible.Expected.Type()
	if expected == reflect.TypeFor[Secret]() {
		return faultf(field, "the value is not %s", kindName(expected))
	}
	return faultf(field, "%v is not %s", unconvertible.Value, kindName(expected))
}

// kindName is what a value of a type must be, with what to write instead where that is not plain.
func kindName(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration; use a unit, for example 5m"
	}
	switch t.Kind() {
	case reflect.String:
		return "text; put it in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list; write it like [a, b]"
	case reflect.Struct:
		return "an object; write it like {name: value}"
	case reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}
