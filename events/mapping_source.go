package events

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// source returns the source of a mapping, whose expressions are compiled when they are first used.
func (m Mapping) source(compiled func() compiledMapping) source {
	s := source{
		name:     m.Name,
		marks:    m.marks(),
		delivery: m.Delivery,

		evaluates: m.When != "",

		claims: m.recognition(compiled),
		decode: func(in input) ([]Event, error) { return compiled().decode(in) },
	}
	if m.Header != "" {
		s.rank = byHeader
	}
	return s
}

// recognition returns the function that recognises the webhooks of a mapping: by its header and fields, and then by its
// expression, which costs far more.
func (m Mapping) recognition(compiled func() compiledMapping) func(in input) bool {
	header, prefix, _ := strings.Cut(m.Header, ":")
	prefix = strings.TrimSpace(prefix)
	fields := make([][][]string, len(m.Fields))
	for i, alternatives := range m.Fields {
		for path := range strings.SplitSeq(alternatives, "|") {
			fields[i] = append(fields[i], strings.Split(strings.TrimSpace(path), "."))
		}
	}
	if m.Header == "" && m.Fields == nil && m.When == "" {
		return func(input) bool { return false }
	}
	return func(in input) bool {
		if header != "" && (len(in.header.Values(header)) == 0 || !strings.HasPrefix(in.header.Get(header), prefix)) {
			return false
		}
		for _, alternatives := range fields {
			if !slices.ContainsFunc(alternatives, in.reaches) {
				return false
			}
		}
		return m.When == "" || compiled().when.truth(newMappingEnv(in, in.value()))
	}
}

// reaches reports whether a path leads to a value; a number in it is the index of an item.
func (in input) reaches(path []string) bool {
	value := in.field(path[0])
	if in.items != nil {
		value = itemAt(slices.Values(in.items), path[0])
	}
	for _, name := range path[1:] {
		if value.Kind() == '[' {
			value = itemAt(itemsOf(value), name)
		} else {
			value = objectOf(value).field(name)
		}
	}
	return value != nil
}

// itemAt returns the item with this index, or nil.
func itemAt(items iter.Seq[jsontext.Value], index string) jsontext.Value {
	wanted, err := strconv.Atoi(index)
	if err != nil {
		return nil
	}
	for item := range items {
		if wanted == 0 {
			return item
		}
		wanted--
	}
	return nil
}

// compiledMapping is a mapping whose expressions are ready to use.
type compiledMapping struct {
	mapping      Mapping
	when, events *expression
	fields       []mappedField
	origins      []Origin // of the fields, in the same order
}

type mappedField struct {
	set   func(e *Event, value string)
	value *expression
}

// compile compiles the expressions of a mapping.
func (m Mapping) compile(fault func(field string, err error)) compiledMapping {
	compile := func(field, code string) *expression {
		if code == "" {
			return nil
		}
		compiled, err := compileExpression(code, mappingLanguage...)
		fault(field, err)
		return compiled
	}
	c := compiledMapping{mapping: m, when: compile("when", m.When), events: compile("events", m.Events)}
	for _, f := range m.expressions() {
		if compiled := compile(f.name, f.code); compiled != nil {
			c.fields = append(c.fields, mappedField{set: f.set, value: compiled})
			c.origins = append(c.origins, Origin{Field: f.name, Rule: "the expression of the source", From: f.code})
		}
	}
	return c
}

func (c compiledMapping) decode(in input) ([]Event, error) {
	body := in.value()
	env := newMappingEnv(in, body)
	items := []any{body}
	if c.events != nil {
		list, ok := c.events.value(env).([]any)
		if !ok {
			return nil, badField("the body", "has no list of events; check the source's expression for them")
		}
		items = list
	} else if list, ok := body.([]any); ok {
		items = list
	}
	return each(items, in.limits, func(item any, i int) (Event, error) {
		env["item"] = item
		var event Event
		for _, f := range c.fields {
			f.set(&event, f.value.text(env))
		}
		in.explain(i, c.origins, c.fillGaps(&event, item))
		if event.Title == "" && event.Text == "" {
			return Event{}, badField(fmt.Sprintf("event %d", i+1), "has neither a title nor a text; check the source's expressions")
		}
		return event, nil
	})
}

// fillGaps sets the fields for which the mapping has no expression from what their names in the body suggest.
func (c compiledMapping) fillGaps(event *Event, item any) []Origin {
	raw, err := json.Marshal(item, json.Deterministic(true))
	if err != nil {
		return nil
	}
	m, o := c.mapping, objectOf(jsontext.Value(raw))
	if len(o) == 0 {
		return nil
	}
	return fill(event, o, raw, gaps{
		title: event.Title == "",
		text:  m.Text == "", category: m.Category == "", severity: m.Severity == "", status: m.Status == "", link: m.Link == "",
		fingerprint: m.Fingerprint == "", startedAt: m.StartedAt == "", id: m.ID == "", labels: len(m.Labels) == 0,
	})
}

// newMappingEnv returns the variables of a mapping's expressions.
func newMappingEnv(in input, body any) map[string]any {
	return map[string]any{"body": body, "item": body, "header": in.header.Get}
}
