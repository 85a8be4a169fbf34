package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"slackrelay/app"
	"slackrelay/configs"
	"slackrelay/slackapp"
)

func newSlack() *cobra.Command {
	return newGroup("slack", "Set up the relay's app in Slack, and check it", newSlackManifest(), newSlackDoctor())
}

func newSlackManifest() *cobra.Command {
	var link bool
	var requestURL string
	cmd := &cobra.Command{
		Use:   "manifest",
		Short: "Print the manifest from which Slack creates the relay's app",
		Long: "Print the manifest from which Slack creates the relay's app, with all scopes that the relay uses. Clicks and\n" +
			"commands arrive by Socket Mode, or, with --request-url, as requests at the webhook listener of the relay.\n" +
			"With --link, print the page of Slack that creates the app from it: open it, choose the workspace, create the\n" +
			"app, install it, and copy its Bot User OAuth Token.",
		Example: "  relay slack manifest --link",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if link {
				page, err := slackapp.CreateURL(requestURL)
				if err != nil {
					return err //nolint:wrapcheck // the error names the step that failed
				}
				fmt.Fprintln(cmd.OutOrStdout(), page)
				return nil
			}
			manifest, err := slackapp.Manifest(requestURL)
			if err != nil {
				return err //nolint:wrapcheck // the error names the step that failed
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n", manifest)
			return nil
		},
	}
	cmd.Flags().StringVar(&requestURL, "request-url", "", "HTTPS address of the webhook listener, instead of Socket Mode")
	cmd.Flags().BoolVar(&link, "link", false, "print the page of Slack that creates the app")
	return cmd
}

func newSlackDoctor() *cobra.Command {
	var flags configs.Flags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check Redis, the Slack token and every Slack channel, and say how to fix what is wrong",
		Long: "Check Redis, the Slack token and its scopes, and every Slack channel of the configuration: whether it exists,\n" +
			"whether the bot may post there, and whether the relay can look up messages. The clocks of this machine, Redis and\n" +
			"Slack are compared, and the form of external_url is checked. Nothing is posted or changed. The exit code is 1 if\n" +
			"something would keep a message from being posted. relay check --online does the same.",
		Example: "  relay slack doctor --config relay.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := configs.Load(flags)
			if err != nil {
				return err
			}
			return diagnose(cmd.Context(), loaded.Config, asJSON, cmd.OutOrStdout())
		},
	}
	addConfigFlags(cmd, &flags)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// errUnhealthy ends a diagnosis that found a fault.
var errUnhealthy = errors.New("something keeps messages from being posted; see the faults above")

// diagnose prints each finding as soon as it is known.
func diagnose(ctx context.Context, cfg configs.Config, asJSON bool, out io.Writer) error {
	all := []slackapp.Finding{}
	app.Diagnose(ctx, cfg, func(findings []slackapp.Finding) {
		all = append(all, findings...)
		if !asJSON {
			for _, f := range findings {
				printFinding(out, f)
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if asJSON {
		if err := printJSON(out, map[string]any{"findings": all}); err != nil {
			return err
		}
	}
	if slackapp.Worst(all) == slackapp.Fault {
		return errUnhealthy
	}
	return nil
}

func printFinding(out io.Writer, f slackapp.Finding) {
	fmt.Fprintf(out, "%-7s  %s: %s\n", f.Grade, f.Subject, cleaned(f.Message))
	if f.Remedy != "" {
		fmt.Fprintf(out, "%-7s  -> %s\n", "", f.Remedy)
	}
}
