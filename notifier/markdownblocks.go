package notifier

import (
	"encoding/json"
	"strings"

	"github.com/slack-go/slack"
)

// blocksJSON returns blocks as decoded JSON.
func blocksJSON(blocks []slack.Block) []map[string]any {
	encoded, err := json.Marshal(blocks)
	if err != nil {
		return nil
	}
	return decodeBlocks(encoded)
}

// decodeBlocks decodes an array of objects; nil for any other value.
func decodeBlocks(array []byte) []map[string]any {
	var list []map[string]any
	if len(array) == 0 || json.Unmarshal(array, &list) != nil {
		return nil
	}
	return list
}

// markdownBlocks returns blocks as Markdown, a paragraph each, and the address of the first image.
func markdownBlocks(blocks []map[string]any) (text, image string) {
	var lines []string
	for _, block := range blocks {
		if address := textOf(block["image_url"]); image == "" && linkTarget.MatchString(address) {
			image = address
		}
		if line := markdownBlock(block); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), image
}

// markdownBlock returns a block as Markdown; "" if it has no text, or is of a kind that only Slack can show.
func markdownBlock(block map[string]any) string {
	switch textOf(block["type"]) {
	case "markdown":
		return inertMarkdown(textOf(block["text"]))
	case "header":
		return wrapped("**", markdownValue(block["text"]))
	case "divider":
		return "---"
	case "image":
		return markdownValue(block["title"])
	case "context":
		return strings.Join(markdownValues(block["elements"]), " ")
	case "actions":
		return strings.Join(markdownButtons(block["elements"]), " · ")
	case "table":
		return markdownTable(block["rows"])
	case "rich_text":
		return strings.Join(markdownValues(block["elements"]), "\n")
	default:
		parts := append(markdownValues([]any{block["text"]}), markdownValues(block["fields"])...)
		return strings.Join(append(parts, markdownButtons([]any{block["accessory"]})...), "\n")
	}
}

// markdownValue returns a text object, a string, or an element of a rich text as Markdown.
func markdownValue(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return Markdown(textOf(value))
	}
	switch textOf(object["type"]) {
	case "mrkdwn":
		return Markdown(textOf(object["text"]))
	case "image":
		return ""
	case "link":
		return markdownLink(textOf(object["text"]), textOf(object["url"]))
	case "rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted", "rich_text":
		return strings.Join(markdownValues(object["elements"]), "")
	default:
		return inertMarkdown(textOf(object["text"]))
	}
}

// markdownValues returns the values of an array that have a text.
func markdownValues(array any) []string {
	var all []string
	list, _ := array.([]any)
	for _, value := range list {
		if text := markdownValue(value); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// markdownButtons returns the buttons of an array that open an address, as links. Others are for Slack only.
func markdownButtons(array any) []string {
	var all []string
	list, _ := array.([]any)
	for _, value := range list {
		button, _ := value.(map[string]any)
		label, _ := button["text"].(map[string]any)
		if address := textOf(button["url"]); linkTarget.MatchString(address) {
			all = append(all, markdownLink(textOf(label["text"]), address))
		}
	}
	return all
}

// markdownLink returns a link with a text that is not escaped.
func markdownLink(label, address string) string {
	return Markdown(link(address, label, maxLabelShown))
}

// markdownTable returns the rows of a table; the first one is its head.
func markdownTable(rows any) string {
	var lines []string
	list, _ := rows.([]any)
	for i, row := range list {
		cells, _ := row.([]any)
		line, rule := "|", "|"
		for _, cell := range cells {
			line += " " + strings.NewReplacer("|", "¦", "\n", " ").Replace(markdownValue(cell)) + " |"
			rule += "---|"
		}
		lines = append(lines, line)
		if i == 0 {
			lines = append(lines, rule)
		}
	}
	return strings.Join(lines, "\n")
}

// markdownAttachment returns an attachment of a sender who writes for Slack.
func markdownAttachment(native map[string]any) chatAttachment {
	var nested []map[string]any
	blocks, _ := native["blocks"].([]any)
	for _, block := range blocks {
		object, _ := block.(map[string]any)
		nested = append(nested, object)
	}
	below, image := markdownBlocks(nested)
	if address := textOf(native["image_url"]); image == "" && linkTarget.MatchString(address) {
		image = address
	}
	title := Markdown(textOf(native["title"]))
	if address := textOf(native["title_link"]); address != "" && title != "" {
		title = markdownLink(textOf(native["title"]), address)
	}
	lines := []string{Markdown(textOf(native["pretext"])), wrapped("**", title), Markdown(textOf(native["text"]))}
	fields, _ := native["fields"].([]any)
	for _, value := range fields {
		field, _ := value.(map[string]any)
		lines = append(lines, strings.TrimSpace(wrapped("**", Markdown(textOf(field["title"])))+" "+Markdown(textOf(field["value"]))))
	}
	lines = append(lines, below, Markdown(textOf(native["footer"])))
	return chatAttachment{
		Fallback: Markdown(textOf(native["fallback"])), Color: colorOf(textOf(native["color"])), Text: joined(lines), ImageURL: image,
	}
}

// namedColors are Slack's colours that have a name.
var namedColors = map[string]string{"good": "#2eb67d", "warning": "#ecb22e", "danger": "#e01e5a"}

func colorOf(color string) string {
	if hex, ok := namedColors[color]; ok {
		return hex
	}
	return color
}

// joined joins the lines that are not empty.
func joined(lines []string) string {
	var all []string
	for _, line := range lines {
		if line != "" {
			all = append(all, line)
		}
	}
	return strings.Join(all, "\n")
}

// wrapped puts marks around a text; "" for an empty one.
func wrapped(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text + mark
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}
