package configs

import (
	"cmp"
	"os"
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
	var faults []*FieldError
	if file := flags.Path(); file != "" {
		loaded.origin.file, faults = readFile(file, cfg)
	}
	faults = append(faults, readEnvironment(cfg, &loaded.origin)...)
	cfg.Apply(flags)
	loaded.freeChatServers()
	faults = append(faults, dropFollowing(cfg.Validate(), faults)...)
	loaded.UnknownVariables = unknownVariables(*cfg)
	for _, warning := range loaded.origin.locate(append(formerNames(loaded), cfg.warnings()...)) {
		loaded.Warnings = append(loaded.Warnings, warning.Error())
	}
	return loaded, loaded.Invalid(faults)
}

// Invalid returns faults of the configuration as an [InvalidError], with file, line or variable added to each; nil = there
// are none.
func (l *Loaded) Invalid(faults []*FieldError) error {
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
