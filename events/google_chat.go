package events

// googleChat is what tools send to a webhook of Google Chat
// (https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages).
var googleChat = source{
	name:    "google_chat",
	aliases: []string{"googlechat"},
	marks:   marks{fields: []string{"cards", "cardsV2", "cards_v2", "thread"}},
	claims: func(in input) bool {
		for _, card := range googleCards(in.object) {
			if card.has("header") || card.has("sections") {
				return true
			}
		}
		return in.has("text") && (in.child("thread").has("threadKey") || in.child("thread").has("name"))
	},
	decode: decodeGoogleChat,
}

// googleCards returns the cards of a message, of both versions.
func googleCards(o object) []object {
	cards := o.objects("cards")
	for _, card := range append(o.objects("cardsV2"), o.objects("cards_v2")...) {
		cards = append(cards, card.child("card"))
	}
	return cards[:min(len(cards), maxChatParts)]
}

func decodeGoogleChat(in input) ([]Event, error) {
	m := newChatMessage(in)
	cards := googleCards(in.object)
	if len(cards) > 0 {
		m.addGoogleText(cards[0].text("header", "title"))
	}
	m.addTitle(m.googleText(in.text("text")))
	for i, card := range cards {
		if i > 0 {
			m.addHeading(markdownOfHTML(card.text("header", "title")))
		}
		m.addGoogleText(card.text("header", "subtitle"))
		for _, section := range card.objects("sections") {
			m.addHeading(markdownOfHTML(section.text("header")))
			m.addGoogleWidgets(section)
		}
	}
	for _, accessory := range in.objects("accessoryWidgets") {
		m.addGoogleWidget(accessory)
	}
	m.addTitle(in.text("fallbackText"))
	return m.event("text")
}

// googleText reads the markup of texts outside of cards, which is nearly mrkdwn.
func (m *chatMessage) googleText(text string) string {
	return googleBold.ReplaceAllString(markup{links: &m.Links}.slackLinks(text), "**${1}**")
}

// googleBold is bold text; Markdown has two stars.
var googleBold = italicText

func (m *chatMessage) addGoogleText(text string) { m.addTitle(markdownOfHTML(text)) }

func (m *chatMessage) addGoogleWidgets(of object) {
	for _, widget := range of.objects("widgets") {
		m.addGoogleWidget(widget)
	}
}

func (m *chatMessage) addGoogleWidget(widget object) {
	if m.left <= 0 {
		return
	}
	m.addGoogleText(widget.text("textParagraph", "text"))
	for _, name := range []string{"decoratedText", "keyValue"} {
		pair := widget.child(name)
		m.addFact(markdownOfHTML(pair.text("topLabel")), markdownOfHTML(pair.first("text", "content")))
		m.addGoogleText(pair.text("bottomLabel"))
		for _, button := range []object{pair, pair.child("button")} { // they belong to this line, not to the message
			name, address := googleButton(button)
			markup{links: &m.Links}.keep(name, address)
		}
	}
	for _, button := range append(widget.objects("buttons"), widget.objects("buttonList", "buttons")...) {
		m.addButton(googleButton(button))
	}
	for _, column := range widget.objects("columns", "columnItems") {
		m.addGoogleWidgets(column)
	}
}

// googleButton returns the name and the link of a button, or of a widget that opens one.
func googleButton(button object) (name, address string) {
	if inner := button.child("textButton"); inner != nil {
		button = inner
	}
	return button.first("text", "topLabel", "name"), button.text("onClick", "openLink", "url")
}
