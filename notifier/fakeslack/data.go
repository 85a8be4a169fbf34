package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// Slack's limits of charts and tables. That of charts is observed, not documented.
const (
	maxCharts    = 2
	maxTables    = 1
	maxRows      = 100
	maxColumns   = 20
	maxTableText = 10_000
)

// checkData returns the error that Slack answers for the blocks of a message, as far as they are charts, tables, or too long; code
// is "" if they are valid.
func (s *Server) checkData(raw []byte) (code string, detail []string) {
	var blocks slack.Blocks
	if len(raw) == 0 {
		return "", nil
	}
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return "invalid_blocks_format", []string{err.Error()}
	}
	if len(blocks.BlockSet) > maxBlocks {
		return "invalid_blocks", []string{fmt.Sprintf("[ERROR] no more than %d items allowed", maxBlocks)}
	}
	charts, tables, total := 0, 0, 0
	for i, b := range blocks.BlockSet {
		size, err := checkBlock(b)
		switch b.BlockType() {
		case slack.MBTDataVisualization:
			charts++
		case slack.MBTTable:
			tables++
		default: // counted as a block alone
		}
		if err == nil && (s.NoData && charts+tables > 0 || charts > maxCharts || tables > maxTables) {
			err = fmt.Errorf("unsupported type: %s", b.BlockType())
		}
		if err != nil {
			return "invalid_blocks", []string{fmt.Sprintf("[ERROR] %v [json-pointer:/blocks/%d]", err, i)}
		}
		total += size
	}
	if total > maxTotal {
		return "msg_blocks_too_long", nil
	}
	return "", nil
}

func checkBlock(b slack.Block) (size int, err error) {
	switch b := b.(type) {
	case *slack.DataVisualizationBlock:
		return 0, b.Validate()
	case *slack.TableBlock:
		return checkTable(b)
	case *slack.SectionBlock:
		return checkText(b.Text)
	default:
		return 0, nil
	}
}

func checkText(t *slack.TextBlockObject) (size int, err error) {
	if t == nil {
		return 0, nil
	}
	size = utf8.RuneCountInString(t.Text)
	if size == 0 || size > maxText {
		err = fmt.Errorf("must be 1 to %d characters", maxText)
	}
	return size, err
}

func checkTable(table *slack.TableBlock) (size int, err error) {
	if len(table.Rows) == 0 || len(table.Rows) > maxRows || len(table.ColumnSettings) > maxColumns {
		return 0, fmt.Errorf("a table of %d rows and %d column settings", len(table.Rows), len(table.ColumnSettings))
	}
	for _, row := range table.Rows {
		if len(row) == 0 || len(row) > maxColumns || len(row) != len(table.Rows[0]) {
			return 0, fmt.Errorf("a row of %d cells", len(row))
		}
		for _, cell := range row {
			text, ok := cell.(*slack.TableRawTextCell)
			if !ok || text.Text == "" { // this fake is a workspace that refuses cells of numbers
				return 0, errors.New("unsupported or empty cell")
			}
			size += utf8.RuneCountInString(text.Text)
		}
	}
	if size > maxTableText {
		return 0, fmt.Errorf("a table of more than %d characters", maxTableText)
	}
	return size, nil
}
