package configs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Loaded is a configuration and what is odd about where it came from.
type Loaded struct {
	Config Config
	// UnknownVariables are RELAY_ variables that nothing reads: likely misspelt.
	UnknownVariables []string
	// Warnings are settings that work but are likely not meant.
	Warnings []string
}

// Flags are the settings of the command line; they win over all others. Empty means not given.
type Flags struct {
	File      string // the YAML file; else RELAY_CONFIG
	Listen    string
	OpsListen string
	RedisURL  string
}

// Load reads the configuration: defaults, file, environment, flags; and validates it. The error holds every
// fault that was found. Empty RELAY_ variables count as not set; Load removes them from the environment of
// the process, because envconfig would take them for values.
func Load(flags Flags) (Loaded, error) {
	dropEmptyVariables()
	cfg := Default()
	var faults []error
	if file := flags.Path(); file != "" {
		faults = append(faults, readFile(file, &cfg)...)
	}
	faults = append(faults, readEnvironment(&cfg)...)
	cfg.Apply(flags)
	faults = append(faults, cfg.Validate()...)
	loaded := Loaded{Config: cfg, UnknownVariables: unknownVariables(cfg), Warnings: cfg.warnings()}
	if len(faults) > 0 {
		return loaded, &InvalidError{Faults: faults}
	}
	return loaded, nil
}

// Apply sets what flags say.
func (c *Config) Apply(flags Flags) {
	c.Listen = cmp.Or(flags.Listen, c.Listen)
	c.OpsListen = cmp.Or(flags.OpsListen, c.OpsListen)
	c.RedisURL = cmp.Or(Secret(flags.RedisURL), c.RedisURL)
}

// InvalidError is a configuration that cannot be used, with every fault in it.
type InvalidError struct{ Faults []error }

// Error implements error, one fault a line.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		lines[i] = "  - " + fault.Error()
	}
	return "the configuration is not valid:\n" + strings.Join(lines, "\n")
}

// Unwrap gives the faults.
func (e *InvalidError) Unwrap() []error { return e.Faults }

// faultf is one thing that is wrong: where (a setting, "channels[0] (alerts).window", or a variable), and
// what to do about it.
func faultf(where, format string, args ...any) error {
	return errors.New(where + " " + fmt.Sprintf(format, args...))
}

// readSecretFiles reads the secrets whose files were named by the layer that was just read (the file, or
// the environment). set tells whether the layer set a name.
func readSecretFiles(secrets []secretSetting, where func(name string) string, set func(name string) bool) []error {
	var faults []error
	for _, s := range secrets {
		file := s.name + "_file"
		switch {
		case !set(file):
			if set(s.name) {
				*s.file = "" // this layer's value wins over a file that an earlier layer named
			}
		case set(s.name):
			faults = append(faults, faultf(where(s.name), "and %s are both set; keep one", where(file)))
		default:
			content, err := os.ReadFile(*s.file)
			if err != nil {
				faults = append(faults, faultf(where(file), "cannot be read: %v", err))
				continue
			}
			*s.value = Secret(strings.TrimSpace(string(content)))
			if *s.value == "" {
				faults = append(faults, faultf(where(file), "names the empty file %s", *s.file))
			}
		}
	}
	return faults
}

// nearest is the known name that a misspelt one was likely meant to be.
func nearest(name string, known []string) string {
	best, distance := "", len(name)/2+1
	for _, candidate := range known {
		if d := levenshtein.ComputeDistance(name, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// suggestion asks for the nearest known name; it is empty where none is near.
func suggestion(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// didYouMean suggests the nearest known name, or lists them all where none is near.
func didYouMean(name string, known []string) string {
	if s := suggestion(name, known); s != "" {
		return s
	}
	sorted := slices.Sorted(slices.Values(known))
	return "; known are " + strings.Join(sorted, ", ")
}

// IsInvalid tells whether an error is about the configuration.
func IsInvalid(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid)
}
