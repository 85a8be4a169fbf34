package configs

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// keyDelimiter cannot occur in a key: viper would take "a.b" for b inside a.
const keyDelimiter = "\x1f"

// quoted is what the YAML parser shows of the file, which may be a secret.
var quoted = regexp.MustCompile("`[^`]*`")

// readFile reads a YAML file over cfg. Keys are matched without regard to case.
func readFile(path string, cfg *Config) []error {
	v := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	v.SetConfigFile(path)
	v.SetConfigType("yaml")
	if err := v.ReadInConfig(); err != nil {
		return []error{faultf(path, "cannot be read: %s", quoted.ReplaceAllString(err.Error(), "`…`"))}
	}
	settings := v.AllSettings()
	if len(settings) == 0 {
		return []error{faultf(path, "is empty; list the channels in it, or start without a configuration file")}
	}
	channels, hasChannels := settings["channels"]
	delete(settings, "channels")
	faults := decode(settings, cfg, path+": ")
	faults = append(faults, readSecretFiles(cfg.secrets(), func(name string) string { return path + ": " + name }, isSet(settings))...)
	if !hasChannels {
		if os.Getenv(prefix+"CHANNELS") == "" { // a file that was cut off must not make a relay of one default channel
			faults = append(faults, faultf(path+": channels", "is missing; list the channels there, or in %sCHANNELS", prefix))
		}
		return faults
	}
	list, ok := channels.([]any)
	if !ok {
		return append(faults, faultf(path+": channels", "must be a list of objects, each with a name"))
	}
	cfg.Channels = nil
	for i, item := range list {
		channel, more := readChannel(item, fmt.Sprintf("%s: channels[%d]", path, i))
		faults, cfg.Channels = append(faults, more...), append(cfg.Channels, channel)
	}
	return faults
}

func readChannel(item any, where string) (Channel, []error) {
	settings, ok := item.(map[string]any)
	if !ok {
		return DefaultChannel(""), []error{faultf(where, "must be an object with a name")}
	}
	channel := DefaultChannel("")
	faults := decode(settings, &channel, where+".")
	named := func(name string) string { return where + "." + name }
	faults = append(faults, readSecretFiles(channel.secrets(), named, isSet(settings))...)
	credentials, _ := settings["auth"].([]any)
	for i := range min(len(credentials), len(channel.Auth)) {
		given, _ := credentials[i].(map[string]any)
		in := func(name string) string { return fmt.Sprintf("%s.auth[%d].%s", where, i, name) }
		faults = append(faults, readSecretFiles(channel.Auth[i].secrets(), in, isSet(given))...)
	}
	return channel, faults
}

func isSet(settings map[string]any) func(name string) bool {
	return func(name string) bool {
		value, ok := settings[name]
		return ok && value != nil && value != ""
	}
}

// decode writes settings over target and names every key that is unknown or has a wrong type.
func decode(settings map[string]any, target any, where string) []error {
	var meta mapstructure.Metadata
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: target, Metadata: &meta, TagName: "yaml",
		DecodeHook: mapstructure.ComposeDecodeHookFunc(durationFromText, wholeNumber),
	})
	if err != nil {
		return []error{err}
	}
	var faults []error
	for _, err := range flatten(decoder.Decode(settings)) {
		faults = append(faults, errors.New(where+plainly(err)))
	}
	known := keysOf(target)
	for _, key := range meta.Unused {
		if _, ok := target.(*Channel); ok && key == removedEngine {
			faults = append(faults, engineFault(where+key))
			continue
		}
		last, own := key, known
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			if nested := nestedKeys(target, key[:i]); nested != nil {
				last, own = key[i+1:], nested
			}
		}
		faults = append(faults, faultf(where+key, "is not a setting%s", didYouMean(last, own)))
	}
	return faults
}

// durationFromText wants a unit: a bare number would be nanoseconds.
func durationFromText(_, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() {
		return data, nil
	}
	text, ok := data.(string)
	if !ok {
		return nil, fmt.Errorf("%v is no duration; write it with a unit, like 30m or 5s", data)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no duration; write it with a unit, like 30m or 5s", text)
	}
	return d, nil
}

// wholeNumber refuses fractions, which would be cut off.
func wholeNumber(from, to reflect.Type, data any) (any, error) {
	if from.Kind() == reflect.Float64 && to.Kind() == reflect.Int64 {
		return nil, fmt.Errorf("%v is no whole number", data)
	}
	return data, nil
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	if err == nil {
		return nil
	}
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// plainly says a decoding error in the words of the file.
func plainly(err error) string {
	var wrong *mapstructure.DecodeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	if unconvertible, ok := errors.AsType[*mapstructure.UnconvertibleTypeError](err); ok {
		expected := unconvertible.Expected.Type()
		if expected == reflect.TypeFor[Secret]() {
			return fmt.Sprintf("%s must be %s", wrong.Name(), kindName(expected))
		}
		return fmt.Sprintf("%s must be %s, not %v", wrong.Name(), kindName(expected), unconvertible.Value)
	}
	return wrong.Name() + ": " + wrong.Unwrap().Error()
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text (put it in quotes)"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	case reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}

// nestedKeys are the names of the settings at a path like levels[0].windows[1]; nil where that is none.
func nestedKeys(target any, path string) []string {
	t := reflect.TypeOf(target).Elem()
	for step := range strings.SplitSeq(path, ".") {
		name, _, _ := strings.Cut(step, "[")
		var found reflect.Type
		for field := range t.Fields() {
			if key, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); key == name {
				found = field.Type
			}
		}
		if found == nil {
			return nil
		}
		if t = found; t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
	}
	return keysOfType(t)
}

// keysOf are the names of a struct's settings in the file.
func keysOf(target any) []string { return keysOfType(reflect.TypeOf(target).Elem()) }

func keysOfType(t reflect.Type) []string {
	keys := make([]string, 0, t.NumField())
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		keys = append(keys, name)
	}
	return keys
}
