package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"slackrelay/configs"
)

// run runs one command line. Everything but the exit is done here.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(newTerminal(stdout))
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(newTerminal(stderr), "relay:", err)
	}
	return err
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "relay",
		Short: "Throttled notifications for Slack",
		Long: "The relay takes webhooks of alerting systems, throttles them with limits that all replicas share,\n" +
			"and posts what passes to Slack. Begin with: relay demo",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q; relay --help lists them", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newServe(), newDemo(), newCheck(), newSend(), newDrops(), newDead(), newSilence(), newLimits(), newPause(), newResume(), newStatus(), newSimulate(), newRecord(), newMan(), newVersion())
	return root
}

// usageError is a command line that makes no sense.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// noArgs refuses arguments that a command would ignore.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// exitCode is 0 when done, 1 when it failed, 2 for wrong usage or configuration.
func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), configs.IsInvalid(err):
		return 2
	default:
		return 1
	}
}
