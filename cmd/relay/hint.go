package main

import (
	"regexp"
	"strings"
)

// command is a command about the channel as it can be pasted into a shell: with the channel, and with what this command was told
// about the relay by flags, but for its token.
func (o *opsOptions) command(name string, args ...string) string {
	return o.commandOf(name, append([]string{"--channel", o.channel}, args...)...)
}

// commandOf is a command that needs no channel.
func (o *opsOptions) commandOf(name string, args ...string) string {
	if o.addressFrom == opsURLFlag && !strings.Contains(o.address, "@") { // a user and a password are not repeated
		args = append(args, "--ops-url", o.address)
	}
	if o.flags.File != "" {
		args = append(args, "--config", o.flags.File)
	}
	words := []string{name}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " ")
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quoted is a word as a shell must be given it. The sender of an event can choose its id.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
