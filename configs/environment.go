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

// OpsURLVariable is the variable for the ops listener of the relay that commands call. It is no setting of a relay.
const OpsURLVariable = prefix + "OPS_URL"

// OpsURL returns the value of [OpsURLVariable]; "" = it is not set.
func OpsURL() string { return os.Getenv(OpsURLVariable) }

// readEnvironment reads the variables over cfg and notes in o what they set.
func readEnvironment(cfg *Config, o *origin) []*FieldError {
	o.variables = map[string]string{}
	faults := readVariables(reflect.ValueOf(cfg).Elem(), prefix, o.note(""))
	if names := os.Getenv(prefix + "CHANNELS"); names != "" {
		cfg.Channels, o.inFile = pick(cfg.Channels, strings.Split(names, ","))
		o.variables["channels"] = prefix + "CHANNELS"
	}
	set := setVariables()
	faults = append(faults, contested(cfg.Channels, set)...)
	for i := range cfg.Channels {
		if variable := o.variables["channels"]; variable != "" {
			o.note(indexed("channels", i)+".")("name", variable)
		}
		c := &cfg.Channels[i]
		if c.isTemplate() || !anyBegins(set, c.prefix()) {
			continue
		}
		faults = append(faults, readVariables(reflect.ValueOf(c).Elem(), c.prefix(), o.note(indexed("channels", i)+"."))...)
		if engine := variable(c.prefix(), removedEngine); isSet(engine) {
			faults = append(faults, engineFault(engine))
		}
	}
	return append(faults, cfg.readSecretFiles(func(path string) string { return o.variables[path] })...)
}

// anyBegins reports whether one of sorted names begins with a prefix.
func anyBegins(sorted []string, prefix string) bool {
	i, _ := slices.BinarySearch(sorted, prefix)
	return i < len(sorted) && strings.HasPrefix(sorted[i], prefix)
}

// note returns a function that records the variable of a setting of an object.
func (o *origin) note(object string) func(name, variable string) {
	return func(name, variable string) { o.variables[object+name] = variable }
}

// readVariables sets each setting whose variable is not empty; an empty variable counts as unset. envconfig gets one
// setting at a time, as a struct whose only field is named like the variable: so it reads that variable and no other,
// leaves what the file set alone, and every variable that cannot be read is reported, not only the first.
func readVariables(options reflect.Value, prefix string, note func(name, variable string)) []*FieldError {
	var faults []*FieldError
	for _, s := range settingsOf(options.Type()) {
		for _, given := range s.names() {
			name := variable(prefix, given)
			if !s.hasVariable() || !isSet(name) {
				continue
			}
			field := reflect.StructField{Name: strings.ToUpper(given), Type: s.field.Type}
			one := reflect.New(reflect.StructOf([]reflect.StructField{field}))
			if err := envconfig.Process(strings.TrimSuffix(prefix, "_"), one.Interface()); err != nil {
				faults = append(faults, variableFault(name, s.field.Type, err))
			} else {
				options.Field(s.index).Set(one.Elem().Field(0))
				note(s.name, name)
			}
			break // the present name takes precedence over the former one
		}
	}
	return faults
}

// variableFault is an error of envconfig in the words of the file.
func variableFault(name string, t reflect.Type, err error) *FieldError {
	unreadable, ok := errors.AsType[*envconfig.ParseError](err)
	if !ok {
		return faultf(name, "cannot be read: %v", err)
	}
	return faultf(name, "%q is not %s", unreadable.Value, kindName(t))
}

// pick returns the channels that were named, with their settings in the file if it has them, and the index of each in
// the file, -1 = it is not there. Templates need not be named: they stay.
func pick(known []Channel, names []string) ([]Channel, []int) {
	picked := make([]Channel, 0, len(names))
	inFile := make([]int, 0, len(names))
	for _, name := range names {
		name = strings.TrimSpace(name)
		channel := DefaultChannel(name)
		i := slices.IndexFunc(known, func(c Channel) bool { return c.Name == name })
		if i >= 0 {
			channel = known[i]
		}
		picked = append(picked, channel)
		inFile = append(inFile, i)
	}
	for i, channel := range known {
		if channel.isTemplate() && !slices.Contains(inFile, i) {
			picked = append(picked, channel)
			inFile = append(inFile, i)
		}
	}
	return picked, inFile
}

// prefix begins the variables of the channel.
func (c Channel) prefix() string {
	return prefix + "CHANNEL_" + strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_")) + "_"
}

// contested finds variables that are set and that two channels could own: A_GLOBAL_WINDOW is channel a's
// global window, or channel a-global's window.
func contested(channels []Channel, set []string) []*FieldError {
	owners := newVariableOwners(channels)
	var faults []*FieldError
	for _, name := range set {
		if names := owners.of(name); len(names) > 1 {
			faults = append(faults, faultf(name, "could belong to each of the channels %s; rename one of them, or use the file",
				strings.Join(names, ", ")))
		}
	}
	return faults
}

// injected are the variables that Kubernetes makes for Services, which nobody meant for the relay.
var injected = regexp.MustCompile(`^RELAY_(.*_)?(SERVICE_HOST|SERVICE_PORT.*|PORT|PORT_\d+_.*)$`)

// unknownVariables lists the RELAY_ variables that nothing reads.
func unknownVariables(cfg Config) []string {
	known := append(variablesOf(reflect.TypeFor[Config](), prefix), prefix+"CONFIG", prefix+"CHANNELS", OpsURLVariable)
	owners := newVariableOwners(cfg.Channels)
	names := slices.DeleteFunc(setVariables(), func(name string) bool {
		return slices.Contains(known, name) || len(owners.of(name)) > 0 || injected.MatchString(name)
	})
	if len(names) == 0 {
		return nil
	}
	for _, c := range cfg.Channels {
		for _, ending := range owners.endings {
			known = append(known, c.prefix()+ending)
		}
	}
	for i, name := range names {
		names[i] = faultf(name, "unknown setting%s", suggestion(name, known)).Error()
	}
	return names
}

// variablesOf lists the variables that can set the settings of an option struct.
func variablesOf(t reflect.Type, prefix string) []string {
	var names []string
	for _, s := range settingsOf(t) {
		for _, name := range s.names() {
			if s.hasVariable() {
				names = append(names, variable(prefix, name))
			}
		}
	}
	return names
}

// setVariables lists the RELAY_ variables of the environment that are not empty.
func setVariables() []string {
	var names []string
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, prefix) && value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// variable returns the variable of a setting.
func variable(prefix, name string) string { return prefix + strings.ToUpper(name) }

// isSet reports whether a variable has a value; an empty one counts as unset.
func isSet(variable string) bool { return os.Getenv(variable) != "" }
