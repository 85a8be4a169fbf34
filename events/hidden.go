package events

import "unicode"

// Hidden reports whether a character is invisible and can change how a text is read: control characters (line breaks and tabs
// too), characters that change the reading direction, and characters without width, among them tags, which can hide one text
// in another. The joiners U+200C and U+200D are not hidden: Persian, Hindi and many emoji need them.
func Hidden(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u061c', r == '\u180e', r == '\u200b', r == '\u200e', r == '\u200f', r == '\ufeff', r == '\u2028', r == '\u2029':
		return true
	case '\u202a' <= r && r <= '\u202e', '\u2060' <= r && r <= '\u206f', '\ufff9' <= r && r <= '\ufffb':
		return true
	default:
		return '\U000e0000' <= r && r <= '\U000e007f'
	}
}
