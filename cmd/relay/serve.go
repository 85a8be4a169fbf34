package main

import (
	"github.com/spf13/cobra"

	"slackrelay/app"
	"slackrelay/configs"
)

func newServe() *cobra.Command {
	var flags configs.Flags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the relay",
		Long: "Run the relay until SIGTERM or SIGINT. It then answers 503 on /readyz, accepts webhooks for RELAY_DRAIN\n" +
			"longer, finishes what is in flight and exits. A second signal ends it at once.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.Run(cmd.Context(), app.Options{
				Flags: flags, Version: versionText(), Stdout: cmd.OutOrStdout(), Stderr: newTerminal(cmd.ErrOrStderr()),
			})
		},
	}
	addConfigFlags(cmd, &flags)
	cmd.Flags().StringVar(&flags.Listen, "listen", "", "where webhooks are accepted, host:port")
	cmd.Flags().StringVar(&flags.OpsListen, "ops-listen", "", "health, metrics and API, host:port")
	cmd.Flags().StringVar(&flags.RedisURL, "redis-url", "", "redis://host:port/0; a password is better kept in RELAY_REDIS_URL_FILE")
	return cmd
}
