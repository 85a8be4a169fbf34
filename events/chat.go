package events

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// chatMessage gathers what a message for another chat tool shows, for the event that it becomes: a title, then lines. Such
// messages have no fingerprint: two alerts may have the same title, and a resolve must not be taken for that of another alert.
type chatMessage struct {
	Event

	lines   []string
	left    int // characters of text that still fit
	buttons int // how many of the links are buttons, which stand before those in texts
}

func newChatMessage(in input) *chatMessage {
	return &chatMessage{left: in.limits.Text}
}

// maxChatParts is how many embeds, sections, cards and the like are read of a message.
const maxChatParts = 50

// markdown converts a text in Markdown, and keeps its links.
func (m *chatMessage) markdown(text string) string {
	return markup{marks: formatted, links: &m.Links}.markdown(cut(text, m.left))
}

// addTitle sets the title to the first line of a text in Markdown, and adds the rest as lines. If there is a title, all of the
// text becomes lines.
func (m *chatMessage) addTitle(text string) {
	if m.Title != "" {
		m.addLine(text)
		return
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	m.Title = strings.TrimPrefix(markup{marks: plainOnly, links: &m.Links}.markdown(cut(first, m.left)), "• ")
	m.addLine(rest)
}

// addHeading adds the title of a part: the title of the message, or else a line in bold.
func (m *chatMessage) addHeading(text string) {
	if m.Title == "" {
		m.addTitle(text)
		return
	}
	if plain := m.plain(text); plain != "" {
		m.addLine("**" + strings.ReplaceAll(plain, "*", "") + "**")
	}
}

func (m *chatMessage) plain(text string) string {
	return markup{marks: plainOnly, links: &m.Links}.markdown(cut(text, m.left))
}

// addLine adds a text in Markdown, unless it is the title or there is no more room.
func (m *chatMessage) addLine(text string) {
	if m.left <= 0 {
		return
	}
	line := m.markdown(text)
	if line == "" || line == m.Title {
		return
	}
	m.left -= len(line)
	m.lines = append(m.lines, line)
}

// addFact adds a name with its value, both in Markdown. A severity becomes that of the event.
func (m *chatMessage) addFact(name, value string) {
	if m.left <= 0 {
		return
	}
	name = strings.TrimSuffix(strings.TrimSpace(m.plain(name)), ":")
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		m.addLine(name)
		return
	case name == "":
		m.addLine(value)
		return
	}
	if word := strings.ToLower(value); chatSeverityNames[strings.ToLower(name)] && severities[word] != "" {
		m.Severity = severities[word]
	}
	separator := " "
	if strings.Contains(value, "\n") {
		separator = "\n"
	}
	m.addLine("**" + strings.ReplaceAll(name, "*", "") + ":**" + separator + value)
}

// chatSeverityNames are the names of facts that contain a severity.
var chatSeverityNames = map[string]bool{"severity": true, "priority": true, "level": true, "criticality": true, "urgency": true}

// addButton adds a link with its name before those in texts.
func (m *chatMessage) addButton(name, address string) {
	before := len(m.Links)
	if m.Links = withLink(m.Links, m.buttons, name, address); len(m.Links) > before {
		m.buttons++
	}
}

// addColor sets the severity from a colour in hexadecimal, unless it is known.
func (m *chatMessage) addColor(hex string) {
	rgb, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(hex), "#"), 16, 32)
	if err == nil {
		m.addRGB(int(rgb))
	}
}

func (m *chatMessage) addRGB(rgb int) { m.Severity = cmp.Or(m.Severity, severityOfColor(rgb)) }

// event returns the event of a message of the format; missing is the field that an empty message lacks.
func (m *chatMessage) event(missing string) ([]Event, error) {
	for m.Title == "" && len(m.lines) > 0 {
		m.addTitle(m.lines[0])
		m.lines = m.lines[1:]
	}
	if m.Title == "" {
		return nil, badField(missing, "is empty, and so is everything else that could be shown; set it")
	}
	m.Text = strings.Join(m.lines, "\n")
	m.readTag()
	if m.Severity == "" {
		m.Severity = map[Status]Severity{Firing: Warning}[m.Status]
	}
	m.Severity = cmp.Or(m.Severity, Info) // a message need not be about a fault
	if len(m.Links) == 0 {
		if address := bareLink.FindString(m.Title + "\n" + m.Text); address != "" {
			m.addButton("", strings.TrimRight(address, ".,;:!?)"))
		}
	}
	return []Event{m.Event}, nil
}

var (
	bareLink = regexp.MustCompile(`https?://[^\s<>|"*` + "`" + `]+`)
	// leadingTag is what titles begin with: [FIRING:1], RESOLVED, Triggered:, perhaps after an emoji.
	leadingTag = regexp.MustCompile(`^[^\p{L}\p{N}\[(]*([\[(]?)\s*(\p{L}+)(\]|\)|:|\b)`)
)

// readTag finds status and severity in the tag that the title begins with, and severity in its emoji.
func (m *chatMessage) readTag() {
	found := leadingTag.FindStringSubmatch(m.Title)
	if found != nil && (found[1] != "" || found[3] == ":" || found[2] == strings.ToUpper(found[2])) {
		word := strings.ToLower(found[2])
		if severity := severities[word]; severity == "" || severity == Info { // the others say how serious it is, not that it began
			m.Status = cmp.Or(statusOf(word), chatTagStatus[word])
		}
		if word != "alert" { // it says nothing about how serious it is
			m.Severity = cmp.Or(m.Severity, severities[word])
		}
	}
	for _, sign := range chatSigns {
		if strings.HasPrefix(m.Title, sign.emoji) {
			m.Severity = cmp.Or(m.Severity, sign.severity)
		}
	}
}

// chatTagStatus are tags that mean a status only as the tag of a title.
var chatTagStatus = map[string]Status{"fixed": Resolved, "normal": Resolved, "cleared": Resolved}

// chatSigns are emoji that titles begin with.
var chatSigns = []struct {
	emoji    string
	severity Severity
}{
	{"🔥", Error},
	{"🚨", Error},
	{"🔴", Error},
	{"❌", Error},
	{":fire:", Error},
	{":rotating_light:", Error},
	{":red_circle:", Error},
	{":x:", Error},
	{"⚠", Warning},
	{"🟠", Warning},
	{"🟡", Warning},
	{":warning:", Warning},
	{"✅", Info},
	{"🟢", Info},
	{":white_check_mark:", Info},
	{":large_green_circle:", Info},
}

// The least difference of a colour from grey, of 255, and the hues in degrees at which another colour begins.
const (
	leastChroma          = 40
	orange, green, blue  = 18, 70, 175
	crimson, wholeCircle = 335, 360
	sextant              = wholeCircle / 6
)

// severityOfColor returns the severity that a colour, 0xRRGGBB, stands for: red, orange or yellow, and green; "" for any other.
func severityOfColor(rgb int) Severity {
	r, g, b := rgb>>16&0xff, rgb>>8&0xff, rgb&0xff
	most, least := max(r, g, b), min(r, g, b)
	chroma := most - least
	if chroma < leastChroma {
		return ""
	}
	var hue int
	switch most {
	case r:
		hue = (sextant*(g-b)/chroma + wholeCircle) % wholeCircle
	case g:
		hue = sextant*(b-r)/chroma + 2*sextant
	default:
		hue = sextant*(r-g)/chroma + 4*sextant
	}
	switch {
	case hue < orange || hue >= crimson:
		return Error
	case hue < green:
		return Warning
	case hue < blue:
		return Info
	default:
		return ""
	}
}
