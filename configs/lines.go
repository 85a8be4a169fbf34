package configs

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a parsed YAML file, for the lines of its settings. The zero value knows none.
type document struct {
	path string
	root *yaml.Node
}

// newDocument parses a file that viper could read too.
func newDocument(path string, content []byte) document {
	var node yaml.Node
	if yaml.Unmarshal(content, &node) != nil || len(node.Content) == 0 {
		return document{path: path}
	}
	return document{path: path, root: node.Content[0]}
}

// line returns the line of a setting, like channels[0].window. If the file does not contain the setting, it is the line
// of what contains it; 0 = none does.
func (d document) line(field string) int {
	line, whole := find(d.root, field, 0)
	if whole {
		return line
	}
	if ofFile, found := find(d.root, field+"_file", 0); found {
		return ofFile // the value was read from a file that the setting names
	}
	return line
}

// contains reports whether the file contains a setting.
func (d document) contains(field string) bool {
	_, whole := find(d.root, field, 0)
	return whole
}

// find follows a path as far as it goes. line is that of the last step that exists; whole reports whether all do.
func find(node *yaml.Node, path string, line int) (last int, whole bool) {
	if node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch path = strings.TrimPrefix(path, "."); {
	case path == "":
		return line, true
	case node == nil:
		return line, false
	case node.Kind == yaml.SequenceNode:
		return findItem(node, path, line)
	case node.Kind == yaml.MappingNode:
		return findKey(node, path, line)
	}
	return line, false
}

func findItem(list *yaml.Node, path string, line int) (last int, whole bool) {
	index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(list.Content) {
		return line, false
	}
	return find(list.Content[i], rest, list.Content[i].Line)
}

// findKey takes the longest key that the path begins with: a key may contain dots.
func findKey(mapping *yaml.Node, path string, line int) (last int, whole bool) {
	var found, merged *yaml.Node
	length := 0
	at := line
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if key.Value == "<<" {
			merged = value
		}
		if begins(path, key.Value) && len(key.Value) > length {
			found, length, at = value, len(key.Value), key.Line
		}
	}
	if length > 0 {
		return find(found, path[length:], at)
	}
	if merged != nil {
		return find(merged, path, line)
	}
	return line, false
}

// begins reports whether the first step of a path is a key. Keys are compared without regard to case, as viper does.
func begins(path, key string) bool {
	if len(path) < len(key) || !strings.EqualFold(path[:len(key)], key) {
		return false
	}
	return len(path) == len(key) || path[len(key)] == '.' || path[len(key)] == '['
}
