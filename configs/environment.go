package configs

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// prefix begins every variable of the relay.
const prefix = "RELAY_"

// readEnvironment reads the variables over cfg.
//
// The struct tags hold neither defaults, which would overwrite the file, nor names, which envconfig would
// also read bare: split_words makes RELAY_GLOBAL_LIMIT of GlobalLimit and of nothing else.
func readEnvironment(cfg *Config) []error {
	faults := process("RELAY", cfg)
	faults = append(faults, readSecretFiles(cfg.secrets(), variable(prefix), isVariable(prefix))...)
	var list struct {
		Channels []string
	}
	faults = append(faults, process("RELAY", &list)...)
	if list.Channels != nil {
		cfg.Channels = pick(cfg.Channels, list.Channels)
	}
	faults = append(faults, contested(cfg.Channels)...)
	for i := range cfg.Channels {
		own := cfg.Channels[i].prefix()
		faults = append(faults, process(strings.TrimSuffix(own, "_"), &cfg.Channels[i])...)
		if isVariable(own)(removedEngine) {
			faults = append(faults, engineFault(variable(own)(removedEngine)))
		}
		faults = append(faults, readSecretFiles(cfg.Channels[i].secrets(), variable(own), isVariable(own))...)
	}
	return faults
}

// process reads variables into target. envconfig stops at the first that cannot be read; that one is
// reported and taken away until all were seen.
func process(prefix string, target any) []error {
	var faults []error
	for {
		err := envconfig.Process(prefix, target)
		var unreadable *envconfig.ParseError
		if !errors.As(err, &unreadable) {
			if err != nil {
				faults = append(faults, err)
			}
			return faults
		}
		faults = append(faults, faultf(unreadable.KeyName, "must be %s, not %q", kindOfVariable(unreadable.TypeName), unreadable.Value))
		if os.Unsetenv(unreadable.KeyName) != nil {
			return faults
		}
	}
}

func kindOfVariable(goType string) string {
	switch goType {
	case "time.Duration":
		return "a duration with a unit, like 30m or 5s"
	case "bool":
		return "true or false"
	case "float64":
		return "a number"
	default:
		return "a whole number"
	}
}

// pick takes the channels that were named, with their settings in the file where it has them.
func pick(known []Channel, names []string) []Channel {
	picked := make([]Channel, 0, len(names))
	for _, name := range names {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(known, func(c Channel) bool { return c.Name == name })
		if i < 0 {
			picked = append(picked, DefaultChannel(name))
			continue
		}
		picked = append(picked, known[i])
	}
	return picked
}

// prefix begins the variables of the channel.
func (c Channel) prefix() string {
	return prefix + "CHANNEL_" + strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_")) + "_"
}

// contested finds variables that are set and that two channels could own: A_GLOBAL_WINDOW is channel a's
// global window, or channel a-global's window.
func contested(channels []Channel) []error {
	owners := map[string][]string{}
	for _, c := range channels {
		for _, key := range plainKeysOf(&Channel{}) {
			name := c.prefix() + strings.ToUpper(key)
			if !slices.Contains(owners[name], c.Name) {
				owners[name] = append(owners[name], c.Name)
			}
		}
	}
	var faults []error
	for _, name := range variables() {
		if len(owners[name]) > 1 {
			faults = append(faults, faultf(name, "could belong to each of the channels %s; rename one of them, or set it in the file", strings.Join(owners[name], ", ")))
		}
	}
	return faults
}

// injected are the variables that Kubernetes makes for Services, which nobody meant for the relay.
var injected = regexp.MustCompile(`^RELAY_(.*_)?(SERVICE_HOST|SERVICE_PORT.*|PORT|PORT_\d+_.*)$`)

// unknownVariables are the RELAY_ variables that nothing reads.
func unknownVariables(cfg Config) []string {
	known := []string{prefix + "CONFIG"}
	for _, key := range keysOf(&cfg) { // RELAY_CHANNELS is among them
		known = append(known, prefix+strings.ToUpper(key))
	}
	for _, c := range cfg.Channels {
		for _, key := range plainKeysOf(&c) {
			known = append(known, c.prefix()+strings.ToUpper(key))
		}
		known = append(known, c.prefix()+strings.ToUpper(removedEngine)) // it is a fault already
	}
	var unknown []string
	for _, name := range variables() {
		if !slices.Contains(known, name) && !injected.MatchString(name) {
			unknown = append(unknown, name+" is not a setting"+suggestion(name, known))
		}
	}
	return unknown
}

// variables are the names of all RELAY_ variables that are set.
func variables() []string {
	var names []string
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func dropEmptyVariables() {
	for _, name := range variables() {
		if os.Getenv(name) == "" {
			os.Unsetenv(name)
		}
	}
}

func variable(prefix string) func(string) string {
	return func(name string) string { return prefix + strings.ToUpper(name) }
}

func isVariable(prefix string) func(string) bool {
	return func(name string) bool { return os.Getenv(prefix+strings.ToUpper(name)) != "" }
}

// plainKeysOf are the names of a struct's settings that have a variable. Structured ones live in the file only.
func plainKeysOf(target any) []string {
	var keys []string
	for field := range reflect.TypeOf(target).Elem().Fields() {
		if field.Tag.Get("ignored") != "true" {
			keys = append(keys, field.Tag.Get("yaml"))
		}
	}
	return keys
}
