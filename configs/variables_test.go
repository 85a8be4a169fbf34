package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEverySettingOfTheRelayHasItsVariable(t *testing.T) {
	for _, s := range settingsOf(reflect.TypeFor[Config]()) {
		if s.hasVariable() {
			setsByVariable(t, s, prefix, s.name)
		}
	}
}

func TestEverySettingOfAChannelHasItsVariable(t *testing.T) {
	for _, s := range settingsOf(reflect.TypeFor[Channel]()) {
		if s.hasVariable() {
			setsByVariable(t, s, prefix+"CHANNEL_DEFAULT_", "channels[0]."+s.name)
		}
	}
}

// setsByVariable sets the variable of a setting, and wants it to change the setting and nothing else.
func setsByVariable(t *testing.T, s setting, prefix, path string) {
	t.Helper()
	t.Run(path, func(t *testing.T) {
		t.Setenv(prefix+strings.ToUpper(s.name), another(t, s))
		cfg := Default()
		var o origin
		require.Empty(t, readEnvironment(&cfg, &o))
		require.Equal(t, map[string]string{path: prefix + strings.ToUpper(s.name)}, o.variables)
		require.NotEqual(t, Default(), cfg)
	})
}

// another is a value that differs from the default of a setting.
func another(t *testing.T, s setting) string {
	t.Helper()
	if strings.HasSuffix(s.name, "_file") {
		path := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
		return path
	}
	initial, _ := s.initial()
	switch value := initial.Interface().(type) {
	case time.Duration:
		return (value + time.Minute).String()
	case int64:
		return strconv.FormatInt(value+1, 10)
	case float64:
		return "0.5"
	case bool:
		return strconv.FormatBool(!value)
	default:
		return "x"
	}
}

// A tag that cannot be read would panic while a configuration is checked.
func TestEveryTagCanBeRead(t *testing.T) {
	t.Parallel()
	known := strings.Fields("yaml formerly initial min max oneof format unset when restart variable section")
	for _, p := range parts {
		for _, s := range settingsOf(p.of) {
			t.Run(p.of.Name()+"."+s.name, func(t *testing.T) {
				for pair := range strings.FieldsSeq(tagValue.ReplaceAllString(string(s.field.Tag), "")) {
					require.Contains(t, known, strings.TrimSuffix(pair, ":"))
				}
				for _, name := range []string{"initial", "min", "max"} {
					if text := s.tag(name); text != "" {
						require.NotPanics(t, func() { s.parse(text) })
					}
				}
				if name := s.tag("format"); name != "" {
					require.Contains(t, formats, name)
					require.Contains(t, formatTexts, name)
				}
			})
		}
	}
}

// tagValue is the value of a tag.
var tagValue = regexp.MustCompile(`"[^"]*"`)
