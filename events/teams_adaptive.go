package events

import (
	"cmp"
	"strings"
)

// addAdaptiveCard adds an Adaptive Card; its first text is the title (https://adaptivecards.io/explorer).
func (m *chatMessage) addAdaptiveCard(card object) {
	m.addAdaptiveElements(card, "body")
	m.addAdaptiveActions(card, "actions")
	if m.Title == "" {
		m.addTeamsTitle(cmp.Or(card.text("fallbackText"), card.text("speak")))
	}
}

// adaptiveLists are the fields of elements that contain other elements.
var adaptiveLists = []string{"items", "columns", "rows", "cells"}

func (m *chatMessage) addAdaptiveElements(of object, field string) {
	for item := range itemsOf(of.at(field)) {
		if m.left <= 0 {
			return
		}
		m.addAdaptiveElement(objectOf(item))
	}
}

func (m *chatMessage) addAdaptiveElement(element object) {
	m.Severity = cmp.Or(m.Severity, adaptiveColors[strings.ToLower(cmp.Or(element.text("color"), element.text("style")))])
	switch element.text("type") {
	case "TextBlock":
		m.addTeamsTitle(element.text("text"))
	case "RichTextBlock":
		var text strings.Builder
		for run := range itemsOf(element.at("inlines")) {
			text.WriteString(cmp.Or(textOf(run), objectOf(run).text("text")))
		}
		m.addTeamsTitle(text.String())
	case "CodeBlock":
		m.addLine(fence + "\n" + element.text("codeSnippet") + "\n" + fence)
	case "FactSet":
		for _, fact := range element.objects("facts") {
			m.addFact(markdownOfHTML(fact.text("title")), markdownOfHTML(fact.text("value")))
		}
	}
	for _, field := range adaptiveLists {
		m.addAdaptiveElements(element, field)
	}
	m.addAdaptiveActions(element, "actions")
	m.addAdaptiveAction(element.child("selectAction"))
}

func (m *chatMessage) addAdaptiveActions(of object, field string) {
	for _, action := range of.objects(field) {
		m.addAdaptiveAction(action)
	}
}

func (m *chatMessage) addAdaptiveAction(action object) {
	if action.text("type") == "Action.OpenUrl" {
		m.addButton(action.text("title"), action.text("url"))
	}
}

// adaptiveColors are the colours of texts and the styles of containers, by their meaning.
var adaptiveColors = map[string]Severity{"attention": Error, "warning": Warning, "good": Info}
