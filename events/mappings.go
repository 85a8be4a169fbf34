package events

import (
	"embed"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"
)

// mappingFiles are the sources of the relay that are data, a file each, in the form in which operators write their own.
//
//go:embed mappings/*.yaml
var mappingFiles embed.FS

// mapped are the sources of the files.
var mapped = mappedSources()

func mappedSources() []source {
	files, err := mappingFiles.ReadDir("mappings")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	all := make([]source, len(files))
	for i, file := range files {
		m, err := readMapping(file.Name())
		if err != nil {
			panic(err) // a test reads every file
		}
		all[i] = m.source(sync.OnceValue(func() compiledMapping { return m.compile(mustBeValid(m.Name)) }))
	}
	return all
}

func readMapping(file string) (Mapping, error) {
	data, err := mappingFiles.Open("mappings/" + file)
	if err != nil {
		return Mapping{}, err
	}
	defer data.Close()
	var m Mapping
	decoder := yaml.NewDecoder(data)
	decoder.KnownFields(true)
	if err := decoder.Decode(&m); err != nil {
		return Mapping{}, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// mustBeValid panics at a fault of a mapping of the relay's own, which a test would have found.
func mustBeValid(name string) func(field string, err error) {
	return func(field string, err error) {
		if err != nil {
			panic(fmt.Sprintf("source %s: %s: %v", name, field, err))
		}
	}
}
