package events

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// discord is what tools send to a webhook of Discord (https://discord.com/developers/docs/resources/webhook#execute-webhook).
var discord = source{
	name:  "discord",
	marks: marks{fields: []string{"embeds", "content"}},
	claims: func(in input) bool {
		return isDiscordEmbed(in.objects("embeds")) || in.at("content").Kind() == '"' && in.hasOnly(discordFields)
	},
	decode: decodeDiscord,
}

// discordFields are the fields of such a body.
var discordFields = map[string]bool{
	"content": true, "username": true, "avatar_url": true, "tts": true, "embeds": true, "allowed_mentions": true, "components": true,
	"attachments": true, "flags": true, "thread_name": true, "applied_tags": true, "poll": true,
}

func isDiscordEmbed(embeds []object) bool {
	return len(embeds) > 0 && (embeds[0].has("title") || embeds[0].has("description") || embeds[0].has("fields") || embeds[0].has("author"))
}

// hasOnly reports whether all fields of a body are among these.
func (o object) hasOnly(names map[string]bool) bool {
	for _, m := range o {
		if !names[m.name] {
			return false
		}
	}
	return len(o) > 0
}

func decodeDiscord(in input) ([]Event, error) {
	m := newChatMessage(in)
	m.Category = in.text("username")
	m.setLabel("username", in.text("username"))
	embeds := in.objects("embeds")
	embeds = embeds[:min(len(embeds), maxChatParts)]
	for _, embed := range embeds { // the first title is that of the message
		if m.Title == "" && embed.text("title") != "" {
			m.addButton("Link", embed.text("url"))
			m.addTitle(unmentioned(embed.text("title")))
		}
	}
	m.addTitle(unmentioned(in.text("content")))
	for _, embed := range embeds {
		m.addDiscordEmbed(embed)
	}
	for component := range itemsOf(in.at("components")) {
		m.addDiscordComponent(objectOf(component))
	}
	m.addTitle(in.text("thread_name"))
	return m.event("content")
}

func (m *chatMessage) addDiscordEmbed(embed object) {
	m.addButton(embed.text("title"), embed.text("url"))
	m.addHeading(unmentioned(embed.text("author", "name")))
	if title := m.plain(unmentioned(embed.text("title"))); title != m.Title {
		m.addHeading(title)
	}
	m.addLine(unmentioned(embed.text("description")))
	for _, field := range embed.objects("fields") {
		m.addFact(unmentioned(field.text("name")), unmentioned(field.text("value")))
	}
	m.addLine(unmentioned(embed.text("footer", "text")))
	m.addButton("Image", embed.text("image", "url"))
	if color, err := strconv.Atoi(embed.text("color")); err == nil {
		m.addRGB(color)
	}
	if m.StartedAt.IsZero() {
		m.StartedAt = timeOf(embed.text("timestamp"))
	}
}

// addDiscordComponent adds the texts and links of a component, and of those within it.
func (m *chatMessage) addDiscordComponent(component object) {
	m.addLine(unmentioned(component.text("content")))
	m.addButton(component.text("label"), component.text("url"))
	for inner := range itemsOf(component.at("components")) {
		m.addDiscordComponent(objectOf(inner))
	}
	if accessory := component.at("accessory"); accessory.Kind() == jsontext.KindBeginObject {
		m.addDiscordComponent(objectOf(accessory))
	}
}
