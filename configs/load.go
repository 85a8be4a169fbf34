package configs

import (
	"cmp"
	"os"
	"reflect"
	"strings"
)

// Loaded is a configuration, with what is suspicious about it.
type Loaded struct {
	// Config is what was read, as far as it could be read.
	Config Config
	// UnknownVariables names the RELAY_ variables that nothing reads: they are probably misspelt.
	UnknownVariables []string
	// Warnings are about settings that work but are probably not intended.
	Warnings []string

	origin origin
}

// Flags are the settings of the command line. They take precedence over all others; empty = not given.
type Flags struct {
	File      string // the YAML file; empty = the one that RELAY_CONFIG names
	Listen    string
	OpsListen string
	RedisURL  string
}

// Path is the file to read: File or RELAY_CONFIG; "" = none.
func (f Flags) Path() string { return cmp.Or(f.File, os.Getenv(prefix+"CONFIG")) }

// Load reads the configuration, in this order: defaults, file, environment, flags; and validates it. Empty RELAY_ variables
// count as unset. The error is an [InvalidError] with every fault that was found.
func Load(flags Flags) (Loaded, error) {
	loaded := Loaded{Config: Default()}
	cfg := &loaded.Config
	var faults []error
	if file := flags.Path(); file != "" {
		loaded.origin.file, faults = readFile(file, cfg)
	}
	faults = append(faults, readEnvironment(cfg, &loaded.origin)...)
	cfg.Apply(flags)
	faults = append(faults, dropFollowing(cfg.Validate(), faults)...)
	loaded.UnknownVariables = unknownVariables(*cfg)
	for _, warning := range loaded.origin.locate(append(formerNames(loaded), cfg.warnings()...)) {
		loaded.Warnings = append(loaded.Warnings, warning.Error())
	}
	return loaded, loaded.Invalid(faults)
}

// Invalid returns faults of the configuration as an [InvalidError], with file, line or variable added to each; nil = there
// are none.
func (l *Loaded) Invalid(faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return &InvalidError{Faults: l.origin.locate(faults)}
}

// Apply sets what flags contain.
func (c *Config) Apply(flags Flags) {
	c.Listen = cmp.Or(flags.Listen, c.Listen)
	c.OpsListen = cmp.Or(flags.OpsListen, c.OpsListen)
	c.RedisURL = cmp.Or(Secret(flags.RedisURL), c.RedisURL)
}

// readSecretFiles reads the secrets whose files were named by the layer that was just read (the file, or the
// environment). where returns the path or the variable of a setting, set whether the layer sets it.
func readSecretFiles(secrets []secretSetting, where func(name string) string, set func(name string) bool) []error {
	var faults []error
	for _, s := range secrets {
		file := s.name + "_file"
		switch {
		case !set(file):
			if set(s.name) {
				*s.file = "" // this layer's value takes precedence over a file that an earlier layer named
			}
		case set(s.name):
			faults = append(faults, faultf(where(s.name), "cannot be combined with %s; keep one", where(file)))
		default:
			if fault := s.read(where(file)); fault != nil {
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
		return faultf(where, "cannot be read: %v", err)
	}
	*s.value = Secret(strings.TrimSpace(string(content)))
	if *s.value == "" {
		return faultf(where, "the file %s is empty", *s.file)
	}
	return nil
}

// secretSetting is a secret, and the setting that names a file with it.
type secretSetting struct {
	name  string // of the setting within its struct
	value *Secret
	file  *string
}

// secretsOf finds the secrets of an option struct: fields of type Secret, each with its _file.
func secretsOf(options reflect.Value) []secretSetting {
	var all []secretSetting
	for _, s := range settingsOf(options.Type()) {
		value, ok := reflect.TypeAssert[*Secret](options.Field(s.index).Addr())
		if !ok {
			continue
		}
		file, ok := reflect.TypeAssert[*string](options.FieldByName(s.field.Name + "File").Addr())
		if ok {
			all = append(all, secretSetting{name: s.name, value: value, file: file})
		}
	}
	return all
}

func (c *Config) secrets() []secretSetting { return secretsOf(reflect.ValueOf(c).Elem()) }

func (c *Channel) secrets() []secretSetting { return secretsOf(reflect.ValueOf(c).Elem()) }

func (c *Credential) secrets() []secretSetting { return secretsOf(reflect.ValueOf(c).Elem()) }
