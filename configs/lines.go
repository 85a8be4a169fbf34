package configs

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// document knows where a YAML file contains each setting. The zero value contains none.
type document struct {
	path     string
	settings map[string]place // by path in lower case, like channels[0].window: viper ignores the case of keys
}

// place is where a file contains a setting: the line of its key or, for an item of a list, of the item.
type place struct {
	line  int
	value *yaml.Node
}

// newDocument parses a file that viper could read too.
func newDocument(path string, content []byte) document {
	d := document{path: path, settings: map[string]place{}}
	var root yaml.Node
	if yaml.Unmarshal(content, &root) == nil && len(root.Content) > 0 {
		d.addAll("", root.Content[0])
	}
	return d
}

// addAll adds what a list or an object contains.
func (d document) addAll(path string, node *yaml.Node) {
	switch node.Kind {
	case yaml.AliasNode:
		d.addAll(path, node.Alias)
	case yaml.SequenceNode:
		for i, item := range node.Content {
			d.add(indexed(path, i), place{item.Line, item})
		}
	case yaml.MappingNode:
		var merged []*yaml.Node
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			switch {
			case key.Value != "<<":
				d.add(strings.TrimPrefix(path+"."+strings.ToLower(key.Value), "."), place{key.Line, value})
			case value.Kind == yaml.SequenceNode:
				merged = append(merged, value.Content...)
			default:
				merged = append(merged, value)
			}
		}
		for _, object := range merged { // its own settings take precedence, and are there already
			d.addAll(path, object)
		}
	default: // a scalar contains nothing
	}
}

// add adds a setting unless the document contains it already.
func (d document) add(path string, p place) {
	if _, ok := d.settings[path]; !ok {
		d.settings[path] = p
		d.addAll(path, p.value)
	}
}

// line returns the line of a setting, like channels[0].window. If the file does not contain the setting, it is the line
// of what contains it; 0 = none does.
func (d document) line(field string) int {
	field = strings.ToLower(field)
	if file, ok := d.settings[field+"_file"]; ok && !d.contains(field) {
		return file.line // the value was read from a file that the setting names
	}
	for field != "" {
		if p, ok := d.settings[field]; ok {
			return p.line
		}
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	return 0
}

// contains reports whether the file contains a setting.
func (d document) contains(field string) bool {
	_, ok := d.settings[strings.ToLower(field)]
	return ok
}

// at returns the path of a setting that the file gives a value to; "" = it gives none, or an empty one.
func (d document) at(field string) string {
	value := d.settings[field].value
	if value != nil && value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value == nil || value.Value == "" || value.ShortTag() == "!!null" {
		return ""
	}
	return field
}
