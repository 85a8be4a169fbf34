package events

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// Uncategorized is the category of an event without one.
const Uncategorized = "uncategorized"

const (
	maxCategory = 100
	hashLength  = len("-") + 8
)

// NormalizeCategory makes a category from a sender's name for it: lower case, only [a-z0-9._-], at most 100 characters. Each
// run of other characters becomes one "-", and "-" is trimmed from both ends. If letters or digits were replaced or the name
// was cut, "-" and 8 hex digits of the SHA-256 of the original follow, so that different names stay different. An empty name
// is "uncategorized".
func NormalizeCategory(original string) string {
	if isNormalized(original) {
		return original
	}
	var b strings.Builder
	b.Grow(len(original))
	lost, inRun := false, false
	for _, r := range strings.ToLower(original) {
		if isCategoryRune(r) {
			b.WriteRune(r)
			inRun = false
			continue
		}
		lost = lost || unicode.IsLetter(r) || unicode.IsDigit(r)
		if !inRun {
			b.WriteByte('-')
			inRun = true
		}
	}
	category := strings.Trim(b.String(), "-")
	if len(category) > maxCategory || lost {
		category = strings.TrimRight(category[:min(len(category), maxCategory-hashLength)], "-")
		sum := sha256.Sum256([]byte(original))
		category += "-" + hex.EncodeToString(sum[:4])
	}
	if category == "" {
		return Uncategorized
	}
	return category
}

func isCategoryRune(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-'
}

// isNormalized reports whether a name is a category as it is, as the names of many senders are.
func isNormalized(name string) bool {
	if name == "" || len(name) > maxCategory || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	return isOnly(name, func(c byte) bool { return isCategoryRune(rune(c)) })
}
