package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMistypedCommandsAreSuggested(t *testing.T) {
	t.Parallel()
	for typed, fault := range map[string]string{
		"serv":        `relay: there is no command "serv"; relay --help lists them; did you mean serve or send?` + "\n",
		"versio":      `relay: there is no command "versio"; relay --help lists them; did you mean version?` + "\n",
		"drop":        `relay: there is no command "drop"; relay --help lists them; did you mean drops?` + "\n",
		"xyzzy":       `relay: there is no command "xyzzy"; relay --help lists them` + "\n",
		"drops lst":   `relay: relay drops has no command "lst"; see relay drops --help; did you mean list?` + "\n",
		"drops xyzzy": `relay: relay drops has no command "xyzzy"; see relay drops --help` + "\n",
	} {
		t.Run(typed, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := runRelay(t, nil, strings.Fields(typed)...)
			require.Equal(t, 2, code)
			require.Equal(t, fault, stderr)
		})
	}
}

func TestTheVersionIsAFlagToo(t *testing.T) {
	t.Parallel()
	command, _, code := runRelay(t, nil, "version")
	require.Zero(t, code)
	flag, _, code := runRelay(t, nil, "--version")
	require.Zero(t, code)
	require.Equal(t, command, flag)
}

func TestTheHelpGroupsTheCommands(t *testing.T) {
	t.Parallel()
	stdout, _, code := runRelay(t, nil, "--help")
	require.Zero(t, code)
	require.NotContains(t, stdout, "relay [flags]")
	_, rest, ok := strings.Cut(stdout, "Set up:\n")
	require.True(t, ok, stdout)
	for _, group := range []string{"Run:\n", "Look:\n", "Act:\n", "Choose limits:\n", "Other:\n"} {
		_, rest, ok = strings.Cut(rest, group)
		require.True(t, ok, "%s is missing or out of order: %s", group, stdout)
	}
	require.NotContains(t, stdout, "Additional Commands")
	require.NotContains(t, stdout, "Available Commands")
}
