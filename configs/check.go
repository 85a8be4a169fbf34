package configs

import (
	"errors"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"slackrelay/ratelimit"
	"slackrelay/server"
)

// validator collects the faults of an object and of those inside it.
type validator struct {
	where  string // the path of the object, empty or with a dot at its end
	faults *[]*FieldError
}

func newValidator() validator { return validator{faults: &[]*FieldError{}} }

// in returns the validator of an object inside, like auth[0].
func (v validator) in(object string) validator {
	return validator{where: v.where + object + ".", faults: v.faults}
}

// fault reports a setting of the object.
func (v validator) fault(name, format string, args ...any) {
	*v.faults = append(*v.faults, faultf(v.where+name, format, args...))
}

// add adds a fault that another function found; nil = it found none.
func (v validator) add(err error) {
	if fault, ok := errors.AsType[*FieldError](err); ok {
		*v.faults = append(*v.faults, fault)
	}
}

// bounds checks every setting of an option struct, and of the structs in it, against what its tags declare.
func (v validator) bounds(options reflect.Value) {
	eachSetting(options, v.where, func(where string, s setting, in reflect.Value) {
		if s.applies(in) {
			validator{where, v.faults}.check(s, in.Field(s.index))
		}
	})
}

// check checks one setting against its tags.
func (v validator) check(s setting, value reflect.Value) {
	if s.zeroMeans && value.IsZero() {
		return
	}
	if len(s.oneof) > 0 && !slices.Contains(s.oneof, value.String()) {
		v.fault(s.name, "%q is not a valid value; use %s", value, oneOf(s.oneof))
	}
	if s.isBeyond(value) {
		v.fault(s.name, "%s is out of range; use %s", show(value.Interface()), s.rangeText())
	}
	if s.format != "" {
		v.format(s.name, formats[s.format], value)
	}
}

// isBeyond reports whether a value is below min or above max. NaN is.
func (s setting) isBeyond(value reflect.Value) bool {
	return s.low.IsValid() && compare(value, s.low) < 0 || s.high.IsValid() && compare(value, s.high) > 0
}

// rangeText describes the bounds: "1s to 1h"; empty if there are none.
func (s setting) rangeText() string {
	low, high := s.tag("min"), s.tag("max")
	text := strings.Join(strings.Fields(low+" to "+high), " ")
	switch {
	case low == "" && high == "":
		return ""
	case high == "":
		text = low + " or more"
	case low == "":
		text = "up to " + high
	}
	if s.zeroMeans && low != "" && !s.low.IsZero() {
		text += ", or " + show(reflect.Zero(s.field.Type).Interface())
	}
	return text
}

// format checks a text, or each item of a list.
func (v validator) format(name string, f format, value reflect.Value) {
	if value.Kind() == reflect.Slice {
		for i := range value.Len() {
			v.format(indexed(name, i), f, value.Index(i))
		}
		return
	}
	text := value.String()
	if f.isValid(text) || text == "" && f.mayBeEmpty {
		return
	}
	if f.private {
		v.fault(name, "the value is not %s", f.want)
		return
	}
	v.fault(name, "%q is not %s", text, f.want)
}

// format is what a text must look like.
type format struct {
	isValid    func(text string) bool
	mayBeEmpty bool
	// private keeps the text out of faults: it may contain a password.
	private bool
	// want continues "is not", with what to write instead.
	want string
	// pattern is a regular expression for the chart, which helm checks before anything is installed; empty = any text.
	pattern string
}

// networkPattern describes an IPv4 or IPv6 address, or a range of them.
const networkPattern = `^([0-9]{1,3}(\.[0-9]{1,3}){3}(/([0-9]|[12][0-9]|3[0-2]))?|` +
	`[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))?)$`

// formats are the values of the tag format.
var formats = map[string]format{
	"address": {
		isValid: isAddress, pattern: "^.*:[0-9]+$",
		want: "an address; use host:port, for example 127.0.0.1:8080 or :8080",
	},
	"url": {
		isValid: isWebURL, mayBeEmpty: true, private: true, pattern: "^(https?://.+)?$",
		want: "a URL; use one that begins with http:// or https://",
	},
	"networks": {
		isValid: isNetwork, pattern: networkPattern,
		want: "an address or a range; use, for example, 10.0.0.7, 10.0.0.0/8 or fd00::/8",
	},
	"name": {
		isValid: channelName.MatchString, pattern: channelName.String(),
		want: "a valid name; use 1 to 63 of a-z, 0-9 and -, not beginning with -",
	},
	"heartbeat": {
		isValid: heartbeatName.MatchString, pattern: heartbeatName.String(),
		want: "a valid name; use 1 to 63 of letters, digits, dot, underscore and dash, beginning with a letter or digit",
	},
	"channel": {
		isValid: isChannelName, pattern: channelName.String(), // the chart has no templates
		want: "a valid name; use 1 to 63 of a-z, 0-9 and -, not beginning with -, and for a template one placeholder like {{team}}",
	},
	"level": {
		isValid: levelName.MatchString,
		want:    "a level; use channel, category, sender or the name of a label",
	},
	"strategy": {
		isValid: func(text string) bool { return slices.Contains(ratelimit.Strategies(), ratelimit.StrategyKind(text)) },
		want:    "a valid value; use " + oneOf(strategies()),
	},
	"category": {
		isValid: category.MatchString,
		want:    "a category; use 1 to 100 of a-z, 0-9, dot, underscore and dash, as events have it",
	},
}

var (
	channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	// heartbeatName is a part of a path, and may be the name that a heartbeat has in another product.
	heartbeatName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	// levelName is for levels, and so for labels: it becomes a value of metrics and a part of keys.
	levelName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,62}$`)
	category  = regexp.MustCompile(`^[a-z0-9._-]{1,100}$`)
)

func strategies() []string {
	var names []string
	for _, kind := range ratelimit.Strategies() {
		names = append(names, string(kind))
	}
	return names
}

func isAddress(text string) bool {
	_, _, err := net.SplitHostPort(text)
	return err == nil
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func isNetwork(text string) bool {
	prefixes, _ := server.ParseAddresses([]string{text})
	return len(prefixes) == 1
}

// indexed is the path of an item of a list.
func indexed(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }
