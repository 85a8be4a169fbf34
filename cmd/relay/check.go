package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"slackrelay/app"
	"slackrelay/configs"
)

func newCheck() *cobra.Command {
	var flags configs.Flags
	var explain explainOptions
	var online bool
	var tryRedis bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration and print what is in effect",
		Long: "Validate the configuration of file and environment, and print what is in effect, secrets masked.\n" +
			"All faults are reported together, among them failing rule_tests; then the exit code is 2.\n\n" +
			"With --online, also check what the configuration refers to, and print the findings instead: Redis, the Slack token\n" +
			"and its scopes, every Slack channel, and the clocks. Nothing is posted or changed. The exit code is 1 if something\n" +
			"would keep a message from being posted.\n\n" +
			"With --redis, connect to Redis too, and check that it suits the relay.\n\n" +
			"With --explain, print how the relay decodes a webhook and which rule decides.",
		Example: "  relay check --config relay.yaml\n  relay check --online --config relay.yaml\n" +
			"  relay check --explain webhook.json --channel alerts --header 'X-GitHub-Event: push'",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case explain.file != "" && online:
				return usagef("--online and --explain cannot be combined; use one of them")
			case explain.file != "":
				return explain.run(flags, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			if err := check(cmd, flags, online, explain.json); err != nil || !tryRedis {
				return err
			}
			return checkRedis(cmd, flags)
		},
	}
	addConfigFlags(cmd, &flags)
	cmd.Flags().BoolVar(&tryRedis, "redis", false, "connect to Redis, and check that it suits the relay")
	explain.add(cmd)
	cmd.Flags().BoolVar(&online, "online", false, "check Redis, the Slack token, every Slack channel and the clocks")
	return cmd
}

// check checks the configuration, and with online what it refers to. Its warnings are printed on stderr.
func check(cmd *cobra.Command, flags configs.Flags, online, asJSON bool) error {
	loaded, err := configs.Load(flags)
	for _, name := range loaded.UnknownVariables {
		cmd.PrintErrln("error:", name)
	}
	if err != nil {
		return err
	}
	if !online {
		if err := printEffective(cmd.OutOrStdout(), &loaded.Config); err != nil {
			return err
		}
	}
	for _, warning := range loaded.Warnings {
		cmd.PrintErrln("warning:", warning)
	}
	if n := len(loaded.UnknownVariables); n > 0 {
		return usagef("unknown RELAY_ variables: %d; remove or correct them", n)
	}
	cmd.PrintErrln("the configuration is valid")
	if online {
		return diagnose(cmd.Context(), loaded.Config, asJSON, cmd.OutOrStdout())
	}
	return nil
}

// printEffective prints the configuration in effect.
func printEffective(out io.Writer, cfg *configs.Config) error {
	var effective bytes.Buffer
	if address := cfg.RedisAddress(); address != "" {
		fmt.Fprintf(&effective, "# Redis: %s\n", address)
	}
	if err := cfg.WriteYAML(&effective, 2); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	if _, err := out.Write(zeroUnits.ReplaceAll(effective.Bytes(), []byte("$1"))); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
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
