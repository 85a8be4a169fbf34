package configs

import (
	"bytes"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// WriteYAML writes the configuration as YAML with that indentation, secrets masked. It writes one channel at a time: the
// encoder keeps what it has written until it ends.
func (c *Config) WriteYAML(w io.Writer, indent int) error {
	without := *c
	without.Channels = []Channel{}
	text, err := encodeYAML(without, indent)
	if err != nil {
		return err
	}
	if len(c.Channels) > 0 {
		text = append(bytes.TrimSuffix(text, []byte("channels: []\n")), channelsKey...) // the last setting
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	for i := range c.Channels {
		text, err := encodeYAML(map[string][]Channel{"channels": c.Channels[i : i+1]}, indent)
		if err != nil {
			return err
		}
		if _, err := w.Write(bytes.TrimPrefix(text, []byte(channelsKey))); err != nil {
			return fmt.Errorf("write channel %s: %w", c.Channels[i].Name, err)
		}
	}
	return nil
}

// channelsKey begins the list of channels.
const channelsKey = "channels:\n"

func encodeYAML(value any, indent int) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(indent)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write as YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write as YAML: %w", err)
	}
	return text.Bytes(), nil
}
