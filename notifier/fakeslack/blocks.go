package fakeslack

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Slack's limits (https://docs.slack.dev/reference/block-kit/blocks).
const (
	maxAttachments = 100
	maxBlocks      = 50
	maxText        = 3000
	maxElements    = 10
	maxTotal       = 13_200 // of all blocks together; observed, not documented
)

type attachment struct {
	Blocks []block `json:"blocks"`
}

type block struct {
	Type     string          `json:"type"`
	Text     *text           `json:"text"`
	Elements json.RawMessage `json:"elements"` // texts of a context block, or what can be clicked on in an actions block
	ImageURL string          `json:"image_url"`
	AltText  string          `json:"alt_text"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// checkAttachments returns the error that Slack answers for attachments; code is "" if they are valid.
func checkAttachments(raw []byte) (code string, detail []string) {
	if len(raw) == 0 {
		return "", nil
	}
	var attachments []attachment
	if err := json.Unmarshal(raw, &attachments); err != nil {
		return "invalid_attachments", []string{err.Error()}
	}
	if len(attachments) > maxAttachments {
		return "too_many_attachments", nil
	}
	total := 0
	for i, a := range attachments {
		if len(a.Blocks) > maxBlocks {
			fault := fmt.Sprintf("[ERROR] no more than %d items allowed [json-pointer:/attachments/%d/blocks]", maxBlocks, i)
			return "invalid_blocks", []string{fault}
		}
		for j, b := range a.Blocks {
			at := fmt.Sprintf("[json-pointer:/attachments/%d/blocks/%d]", i, j)
			size, fault := b.check()
			if fault != "" {
				return "invalid_blocks", []string{"[ERROR] " + fault + " " + at}
			}
			total += size
		}
	}
	if total > maxTotal {
		return "msg_blocks_too_long", nil
	}
	return "", nil
}

func (b block) check() (size int, fault string) {
	if b.Type == "image" {
		return b.checkImage()
	}
	if b.Type == "actions" {
		return b.checkActions()
	}
	var texts []text
	if err := json.Unmarshal(b.Elements, &texts); err != nil && b.Elements != nil {
		return 0, err.Error()
	}
	elements := len(texts)
	if b.Text != nil {
		texts = append(texts, *b.Text)
	}
	if len(texts) == 0 || elements > maxElements {
		return 0, fmt.Sprintf("a %s block with %d texts", b.Type, len(texts))
	}
	for _, t := range texts {
		n := utf8.RuneCountInString(t.Text)
		if n == 0 {
			return 0, "must be more than 0 characters"
		}
		if n > maxText {
			return 0, fmt.Sprintf("must be less than %d characters", maxText+1)
		}
		size += n
	}
	return size, ""
}

// checkImage checks an image block. Slack loads the picture itself, over HTTPS.
func (b block) checkImage() (size int, fault string) {
	const maxURL, maxAlt = 3000, 2000
	switch {
	case !strings.HasPrefix(b.ImageURL, "https://") || utf8.RuneCountInString(b.ImageURL) > maxURL:
		return 0, "downloading image failed [json-pointer:/image_url]"
	case b.AltText == "" || utf8.RuneCountInString(b.AltText) > maxAlt:
		return 0, "must be more than 0 characters [json-pointer:/alt_text]"
	default:
		return 0, ""
	}
}
