package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"slackrelay/configs"
)

func newCheck() *cobra.Command {
	var flags configs.Flags
	var explain explainOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration and print what is in effect",
		Long: "Validate the configuration of file and environment, and print what is in effect, secrets masked.\n" +
			"All faults are reported together, among them failing rule_tests; then the exit code is 2.\n\n" +
			"With --explain, print how the relay decodes a webhook and which rule decides.",
		Example: "  relay check --config relay.yaml\n  relay check --explain webhook.json --channel alerts --header 'X-GitHub-Event: push'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if explain.file != "" {
				return explain.run(flags, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			return check(cmd, flags)
		},
	}
	addConfigFlags(cmd, &flags)
	explain.add(cmd)
	return cmd
}

// check prints the configuration in effect, and its warnings on stderr.
func check(cmd *cobra.Command, flags configs.Flags) error {
	loaded, err := configs.Load(flags)
	for _, name := range loaded.UnknownVariables {
		cmd.PrintErrln("error:", name)
	}
	if err != nil {
		return err
	}
	var effective bytes.Buffer
	if address := loaded.Config.RedisAddress(); address != "" {
		fmt.Fprintf(&effective, "# Redis: %s\n", address)
	}
	if err := loaded.Config.WriteYAML(&effective, 2); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	if _, err := cmd.OutOrStdout().Write(zeroUnits.ReplaceAll(effective.Bytes(), []byte("$1"))); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	for _, warning := range loaded.Warnings {
		cmd.PrintErrln("warning:", warning)
	}
	if n := len(loaded.UnknownVariables); n > 0 {
		return usagef("unknown RELAY_ variables: %d; remove or correct them", n)
	}
	cmd.PrintErrln("the configuration is valid")
	return nil
}
