package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"slackrelay/app"
	"slackrelay/configs"
)

// checkOptions are the flags of relay check.
type checkOptions struct {
	flags                configs.Flags
	explain              explainOptions
	print, online, redis bool
}

func newCheck() *cobra.Command {
	var opts checkOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration",
		Long: "Validate the configuration of file and environment, and print whether it is valid, its faults and its warnings.\n" +
			"All faults are reported together, among them failing rule_tests; then the exit code is 2.\n\n" +
			"With --print, also print the whole configuration that is in effect, secrets masked.\n\n" +
			"With --online, also check what the configuration refers to, and print the findings: Redis, the Slack token\n" +
			"and its scopes, every Slack channel, and the clocks. Nothing is posted or changed. The exit code is 1 if something\n" +
			"would keep a message from being posted.\n\n" +
			"With --redis, connect to Redis too, and check that it suits the relay.\n\n" +
			"With --explain, print how the relay decodes a webhook and which rule decides.",
		Example: "  relay check --config relay.yaml\n  relay check --print --config relay.yaml\n  relay check --online --config relay.yaml\n" +
			"  relay check --explain webhook.json --channel alerts --header 'X-GitHub-Event: push'",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return opts.run(cmd) },
	}
	addConfigFlags(cmd, &opts.flags)
	f := cmd.Flags()
	f.BoolVar(&opts.print, "print", false, "print the whole configuration that is in effect, as YAML")
	f.BoolVar(&opts.redis, "redis", false, "connect to Redis, and check that it suits the relay")
	opts.explain.add(cmd)
	completeConfigured(cmd)
	f.BoolVar(&opts.online, "online", false, "check Redis, the Slack token, every Slack channel and the clocks")
	return cmd
}

func (o *checkOptions) run(cmd *cobra.Command) error {
	asJSON := o.explain.json
	switch {
	case o.explain.file != "" && o.online:
		return usagef("--online and --explain cannot be combined; use one of them")
	case o.print && (o.online || asJSON || o.explain.file != ""):
		return usagef("--print prints YAML, and cannot be combined with --online, --explain or --json; use one of them")
	case o.explain.file != "":
		return o.explain.run(o.flags, cmd.InOrStdin(), cmd.OutOrStdout())
	}
	loaded, err := o.validate(cmd, asJSON && !o.online)
	if err != nil {
		return err
	}
	if o.online {
		if err := diagnose(cmd.Context(), loaded.Config, asJSON, cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	if o.redis {
		return checkRedis(cmd, &loaded.Config)
	}
	return nil
}

// verdict is what relay check --json prints.
type verdict struct {
	Valid    bool     `json:"valid"`
	Faults   []string `json:"faults"`
	Warnings []string `json:"warnings"`
}

// validate loads the configuration, and prints the verdict: as text on stderr, and as JSON on stdout.
func (o *checkOptions) validate(cmd *cobra.Command, asJSON bool) (configs.Loaded, error) {
	loaded, err := configs.Load(o.flags)
	if asJSON {
		if failed := printJSON(cmd.OutOrStdout(), verdictOf(loaded, err)); failed != nil {
			return loaded, failed
		}
	}
	for _, name := range loaded.UnknownVariables {
		cmd.PrintErrln("error:", name)
	}
	if err != nil {
		return loaded, err
	}
	if o.print {
		if err := printEffective(cmd.OutOrStdout(), &loaded.Config); err != nil {
			return loaded, err
		}
	}
	for _, warning := range loaded.Warnings {
		cmd.PrintErrln("warning:", warning)
	}
	if n := len(loaded.UnknownVariables); n > 0 {
		return loaded, usagef("unknown RELAY_ variables: %d; remove or correct them", n)
	}
	cmd.PrintErrln("the configuration is valid")
	return loaded, nil
}

// verdictOf returns the verdict on a configuration that was loaded with an error, or with nil.
func verdictOf(loaded configs.Loaded, err error) verdict {
	v := verdict{Faults: append([]string{}, loaded.UnknownVariables...), Warnings: append([]string{}, loaded.Warnings...)}
	if invalid, ok := errors.AsType[*configs.InvalidError](err); ok {
		for _, fault := range invalid.Faults {
			v.Faults = append(v.Faults, fault.Error())
		}
	} else if err != nil {
		v.Faults = append(v.Faults, err.Error())
	}
	v.Valid = len(v.Faults) == 0
	return v
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
func checkRedis(cmd *cobra.Command, cfg *configs.Config) error {
	address := cfg.RedisAddress()
	if address == "" {
		cmd.PrintErrln("no Redis is configured: the relay keeps its state in memory")
		return nil
	}
	warnings, err := app.CheckRedis(cmd.Context(), cfg)
	for _, warning := range warnings {
		cmd.PrintErrln("warning: Redis:", warning)
	}
	if err != nil {
		return err
	}
	cmd.PrintErrln("Redis at", address, "suits the relay")
	return nil
}
