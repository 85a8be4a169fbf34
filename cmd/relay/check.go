package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"slackrelay/app"
	"slackrelay/configs"
)

func newCheck() *cobra.Command {
	var flags configs.Flags
	var explain explainOptions
	var tryRedis bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration and print what is in effect",
		Long: "Validate the configuration of file and environment, and print what is in effect, secrets masked.\n" +
			"All faults are reported together, among them failing rule_tests; then the exit code is 2.\n\n" +
			"With --redis, connect to Redis too, and check that it suits the relay.\n\n" +
			"With --explain, print how the relay decodes a webhook and which rule decides.",
		Example: "  relay check --config relay.yaml\n  relay check --explain webhook.json --channel alerts --header 'X-GitHub-Event: push'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if explain.file != "" {
				return explain.run(flags, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			if err := check(cmd, flags); err != nil || !tryRedis {
				return err
			}
			return checkRedis(cmd, flags)
		},
	}
	addConfigFlags(cmd, &flags)
	cmd.Flags().BoolVar(&tryRedis, "redis", false, "connect to Redis, and check that it suits the relay")
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

// checkRedis connects to the Redis of the configuration, and prints what may go wrong with it on stderr.
func checkRedis(cmd *cobra.Command, flags configs.Flags) error {
	loaded, err := configs.Load(flags)
	if err != nil {
		return err
	}
	address := loaded.Config.RedisAddress()
	if address == "" {
		cmd.PrintErrln("no Redis is configured: the relay keeps its state in memory")
		return nil
	}
	warnings, err := app.CheckRedis(cmd.Context(), &loaded.Config)
	for _, warning := range warnings {
		cmd.PrintErrln("warning: Redis:", warning)
	}
	if err != nil {
		return err
	}
	cmd.PrintErrln("Redis at", address, "suits the relay")
	return nil
}
