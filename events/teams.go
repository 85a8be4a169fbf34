package events

import (
	"cmp"
	"strings"
)

// teams is what tools send to a connector or a workflow of Microsoft Teams: a MessageCard, or a message with Adaptive Cards
// (https://learn.microsoft.com/en-us/outlook/actionable-messages/message-card-reference,
// https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using).
var teams = source{
	name:    "teams",
	aliases: []string{"msteams"},
	marks:   marks{fields: []string{"@type", "@context", "type", "attachments"}},
	claims: func(in input) bool {
		return isMessageCard(in.object) || isAdaptiveCard(in.object) || len(teamsCards(in.object)) > 0
	},
	decode: decodeTeams,
}

func isMessageCard(o object) bool {
	return strings.EqualFold(o.text("@type"), "MessageCard") || strings.Contains(o.text("@context"), "schema.org/extensions")
}

func isAdaptiveCard(o object) bool { return o.text("type") == "AdaptiveCard" }

// teamsCard begins the content types of cards.
const teamsCard = "application/vnd.microsoft."

// teamsCards returns the cards that are attached to a message.
func teamsCards(o object) []object {
	var cards []object
	for _, attachment := range o.objects("attachments") {
		if strings.HasPrefix(attachment.text("contentType"), teamsCard) && len(cards) < maxChatParts {
			cards = append(cards, attachment.child("content"))
		}
	}
	return cards
}

func decodeTeams(in input) ([]Event, error) {
	m := newChatMessage(in)
	cards := teamsCards(in.object)
	if isAdaptiveCard(in.object) {
		cards = []object{in.object}
	}
	for _, card := range cards {
		if isAdaptiveCard(card) || card.has("body") {
			m.addAdaptiveCard(card)
		} else {
			m.addMessageCard(card)
		}
	}
	if len(cards) == 0 {
		m.addMessageCard(in.object)
	}
	if m.Title == "" {
		m.addTeamsTitle(cmp.Or(in.text("summary"), in.text("text")))
	}
	return m.event("text")
}

// addMessageCard adds a MessageCard, or one of the simpler cards, which have a subtitle and buttons.
func (m *chatMessage) addMessageCard(card object) {
	m.addColor(card.text("themeColor"))
	m.addTeamsTitle(card.text("title"))
	m.addTeamsLine(card.text("subtitle"))
	sections := card.objects("sections")
	sections = sections[:min(len(sections), maxChatParts)]
	if m.Title == "" && !anyHas(sections, messageSectionTitles) {
		m.addTeamsTitle(card.text("summary"))
	}
	m.addTeamsTitle(card.text("text"))
	for _, section := range sections {
		m.addMessageSection(section)
	}
	m.addMessageActions(card)
	for _, button := range card.objects("buttons") {
		m.addButton(button.text("title"), button.text("value"))
	}
}

// messageSectionTitles are the fields of a section that can be the title of the message.
var messageSectionTitles = []string{"title", "activityTitle"}

func (m *chatMessage) addMessageSection(section object) {
	for _, name := range messageSectionTitles {
		m.addHeading(markdownOfHTML(section.text(name)))
	}
	for _, name := range []string{"activitySubtitle", "activityText", "text"} {
		m.addTeamsLine(section.text(name))
	}
	for _, fact := range section.objects("facts") {
		m.addFact(markdownOfHTML(fact.text("name")), markdownOfHTML(fact.text("value")))
	}
	m.addMessageActions(section)
}

// addMessageActions adds the links of a card or a section: actions of kind OpenUri, and of the older ViewAction.
func (m *chatMessage) addMessageActions(of object) {
	for _, action := range of.objects("potentialAction") {
		address := strings.Join(action.texts("target"), "")
		for _, target := range action.objects("targets") {
			address = cmp.Or(address, target.text("uri"))
		}
		m.addButton(action.text("name"), address)
	}
}

func (m *chatMessage) addTeamsTitle(text string) { m.addTitle(markdownOfHTML(text)) }

func (m *chatMessage) addTeamsLine(text string) { m.addLine(markdownOfHTML(text)) }
