package events

import "unicode"

// Hidden tells the characters that change how others are read and are not seen themselves: control characters (also line
// breaks and tabs), those that turn the reading direction, and those without width, among them tags, which can hide a text in
// another. The two joiners, U+200C and U+200D, are not among them: Persian, Hindi and many emoji are written with them.
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
