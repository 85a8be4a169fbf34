package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"slackrelay/configs"
)

// commandGroups are all commands of the program, as the help lists them.
var commandGroups = []struct {
	title    string
	commands []func() *cobra.Command
}{
	{"Set up", []func() *cobra.Command{newDemo, newCheck, newSlack}},
	{"Run", []func() *cobra.Command{newServe}},
	{"Look", []func() *cobra.Command{newStatus, newReady, newDrops, newDead, newHeld, newHeartbeats}},
	{"Act", []func() *cobra.Command{newSend, newSilence, newPause, newResume, newLimits}},
	{"Choose limits", []func() *cobra.Command{newSimulate, newRecord}},
	{otherCommands, []func() *cobra.Command{newMan, newVersion}},
}

// otherCommands is the title of the commands that say something about the program itself.
const otherCommands = "Other"

// run runs one command line. It does everything but exit.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := newRoot()
	root.SetArgs(args)
	out := newTerminal(stdout)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	if err != nil {
		fmt.Fprintln(newTerminal(stderr), "relay:", err)
	}
	return err
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "relay",
		Short: "Throttled notifications for Slack",
		Long: "The relay accepts webhooks of alerting systems, throttles them with limits that all replicas share,\n" +
			"and posts what passes to Slack. Begin with: relay demo",
		Version:               versionText(),
		DisableFlagsInUseLine: true, // the flags are those of the commands
		SilenceErrors:         true,
		SilenceUsage:          true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q; relay --help lists them%s", args[0], suggestion(cmd, args[0]))
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see %s --help", err, cmd.CommandPath())
	})
	root.SetVersionTemplate("relay {{.Version}}\n")
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, newCommand := range group.commands {
			cmd := newCommand()
			cmd.GroupID = group.title
			completeNoFiles(cmd)
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID(otherCommands)
	root.SetCompletionCommandGroupID(otherCommands)
	return root
}

// maxTypos is how many letters of a command may be wrong for it to be suggested.
const maxTypos = 2

// suggestion names the commands that are spelt like a mistyped one; "" = none is.
func suggestion(cmd *cobra.Command, typed string) string {
	cmd.SuggestionsMinimumDistance = maxTypos
	names := cmd.SuggestionsFor(typed)
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// newGroup makes a command that only has subcommands.
func newGroup(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s has no command %q; see %s --help%s", cmd.CommandPath(), args[0], cmd.CommandPath(), suggestion(cmd, args[0]))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

func addConfigFlags(cmd *cobra.Command, flags *configs.Flags) {
	cmd.Flags().StringVarP(&flags.File, "config", "c", "", "YAML file (default RELAY_CONFIG)")
}

// noArgs refuses arguments that a command would ignore.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// idArgs requires one id or more.
func idArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs an id; %s list shows them", cmd.CommandPath(), cmd.Parent().CommandPath())
	}
	return nil
}

// forEach makes a command that does something with each id that it is given.
func forEach(opts *opsOptions, use, short string, do func(ctx context.Context, id string, out io.Writer) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: idArgs,
		RunE: func(cmd *cobra.Command, ids []string) error {
			for _, id := range ids {
				if err := do(cmd.Context(), id, cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			return nil
		},
	}
	opts.add(cmd)
	return cmd
}

// usageError is a command line that is not valid.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// exitCode is 0 for success, 1 for a failure, 2 for a command line or a configuration that is not valid, and above that what a
// command says by itself.
func exitCode(err error) int {
	var usage *usageError
	var own *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &usage), configs.IsInvalid(err):
		return 2
	default:
		return 1
	}
}
