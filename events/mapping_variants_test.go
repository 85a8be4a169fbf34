package events_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

// Senders leave fields out, and change their types.
func TestSourcesUnderstandBodiesInWhichOneFieldIsMissingOrOfAnotherType(t *testing.T) {
	t.Parallel()
	for file, e := range examples(t) {
		source := filepath.Base(filepath.Dir(file))
		if matches, err := filepath.Glob("mappings/" + source + ".yaml"); err != nil || matches == nil {
			continue
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			var body any
			require.NoError(t, json.Unmarshal(e.Body, &body))
			variants(body, func(what string) {
				w := e.webhook()
				w.Source = source
				var err error
				w.Body, err = json.Marshal(body)
				require.NoError(t, err)
				if len(w.Body) < tooLittle {
					return
				}
				all, err := events.Decode(w)
				require.NoError(t, err, what)
				require.NotEmpty(t, all[0].Title, what)
				require.NotContains(t, all[0].Title+all[0].Fingerprint, "nil", what)
			})
		})
	}
}

// tooLittle is the size of a body from which no event can be made: its only field is missing.
const tooLittle = 20

// variants calls a function while one field of a body is missing, null, a number, a text or an object, for every field.
func variants(value any, call func(what string)) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			kept := v[name]
			variants(kept, call)
			delete(v, name)
			call("without " + name)
			for _, other := range []any{nil, 7.0, map[string]any{"x": 1.0}} {
				v[name] = other
				call(name)
			}
			v[name] = kept
		}
	case []any:
		for _, item := range v {
			variants(item, call)
		}
	}
}
