package configs

import (
	"os"
	"reflect"
	"strings"
)

// Secret is a value that is never printed: not by fmt, not in logs, not in YAML or JSON. A field of this type needs a second
// one beside it, named like it with File at its end, for the file that the secret may be read from.
type Secret string

const masked = "********"

// String masks the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString masks the value.
func (s Secret) GoString() string { return s.String() }

// MarshalText masks the value in logs, YAML and JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretSetting is a secret, and the setting beside it that names a file with it.
type secretSetting struct {
	path  string
	value *Secret
	file  *string
}

// secrets returns all secrets of the configuration.
func (c *Config) secrets() []secretSetting {
	var all []secretSetting
	eachSetting(reflect.ValueOf(c).Elem(), "", func(where string, s setting, in reflect.Value) {
		value, isSecret := reflect.TypeAssert[*Secret](in.Field(s.index).Addr())
		if isSecret {
			file, _ := reflect.TypeAssert[*string](in.FieldByName(s.field.Name + "File").Addr())
			all = append(all, secretSetting{path: where + s.name, value: value, file: file})
		}
	})
	return all
}

// readSecretFiles reads the secrets whose files were named by the layer that was just read: the file or the environment. at
// returns where the layer sets a setting, its path or its variable; "" = the layer does not set it.
func (c *Config) readSecretFiles(at func(path string) string) []*FieldError {
	var faults []*FieldError
	for _, s := range c.secrets() {
		value, file := at(s.path), at(s.path+"_file")
		switch {
		case value != "" && file != "":
			faults = append(faults, faultf(value, "cannot be combined with %s; keep one", file))
		case value != "":
			*s.file = "" // it takes precedence over a file that an earlier layer named
		case file != "":
			if fault := s.read(file); fault != nil {
				faults = append(faults, fault)
			}
		}
	}
	return faults
}

// read sets the secret to the content of its file, without white space around it. nil = it was read.
func (s secretSetting) read(where string) *FieldError {
	content, err := os.ReadFile(*s.file)
	if err != nil {
		return faultf(where, "cannot be read: %v; name a file that the relay may read", err)
	}
	*s.value = Secret(strings.TrimSpace(string(content)))
	if *s.value == "" {
		return faultf(where, "the file %s is empty; write the secret into it", *s.file)
	}
	return nil
}
