package configs

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"github.com/spf13/viper"
)

// keyDelimiter cannot occur in a key: viper would take "a.b" for b inside a.
const keyDelimiter = "\x1f"

// readFile reads a YAML file over cfg. Keys are matched without regard to case.
func readFile(path string, cfg *Config) (document, []*FieldError) {
	content, err := os.ReadFile(path)
	if err != nil {
		problem := fmt.Sprintf("cannot be read: %v; name the file with --config or RELAY_CONFIG", err)
		return document{}, []*FieldError{{File: path, Problem: problem}}
	}
	v := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(content)); err != nil {
		return document{}, []*FieldError{syntaxFault(path, err)}
	}
	doc := newDocument(path, content)
	settings := v.AllSettings()
	if len(settings) == 0 {
		const remedy = "is empty; list the channels in it, or start without a configuration file"
		return doc, []*FieldError{{File: path, Problem: remedy}}
	}
	channels, listed := settings["channels"]
	delete(settings, "channels")
	faults := decode(settings, cfg, "")
	if listed {
		faults = append(faults, readChannels(channels, cfg)...)
	} else if os.Getenv(prefix+"CHANNELS") == "" { // a file that was cut off must not start a relay with one default channel
		faults = append(faults, faultf("channels", "is missing; list the channels there, or in %sCHANNELS", prefix))
	}
	return doc, append(faults, cfg.readSecretFiles(doc.at)...)
}

var (
	// quoted is what the YAML parser shows of the file, which may be a secret.
	quoted = regexp.MustCompile("`[^`]*`")
	// atLine is how the YAML parser begins an error.
	atLine = regexp.MustCompile(`line (\d+): `)
)

// syntaxFault is a file that is no YAML.
func syntaxFault(path string, err error) *FieldError {
	fault := &FieldError{File: path, Problem: quoted.ReplaceAllString(err.Error(), "`…`")}
	if match := atLine.FindStringSubmatchIndex(fault.Problem); match != nil {
		fault.Line, _ = strconv.Atoi(fault.Problem[match[2]:match[3]])
		fault.Problem = fault.Problem[match[1]:]
	}
	fault.Problem = "cannot be read: " + fault.Problem
	return fault
}

// readChannels replaces the channels of cfg with those of the file.
func readChannels(value any, cfg *Config) []*FieldError {
	list, ok := value.([]any)
	if !ok {
		return []*FieldError{faultf("channels", "is not a list; write a list of objects, each with a name")}
	}
	cfg.Channels = nil
	var faults []*FieldError
	for i, item := range list {
		channel, more := readChannel(item, indexed("channels", i))
		faults = append(faults, more...)
		cfg.Channels = append(cfg.Channels, channel)
	}
	return faults
}

func readChannel(item any, where string) (Channel, []*FieldError) {
	channel := DefaultChannel("")
	settings, ok := item.(map[string]any)
	if !ok {
		return channel, []*FieldError{faultf(where, "is not an object; write one with a name")}
	}
	return channel, decode(settings, &channel, where+".")
}
