package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// readyTimeout bounds one question for readiness; the relay answers within 2 s.
const readyTimeout = 5 * time.Second

func newReady() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "ready", Short: "Check whether the relay accepts webhooks; exit with 1 if not", Args: noArgs,
		Long: "Ask the relay's /readyz, and exit with 0 if it accepts webhooks, or with 1 if it does not. Use it as the health\n" +
			"check of a container, whose image contains no other program.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := opts.client()
			if err != nil {
				return err
			}
			c.timeout = readyTimeout
			response, err := c.send(cmd.Context(), call{path: "/readyz"})
			if err != nil {
				return err
			}
			defer response.Body.Close()
			return printReadiness(cmd.OutOrStdout(), response)
		},
	}
	addConfigFlags(cmd, &opts.flags)
	cmd.Flags().StringVar(&opts.address, "ops-url", "",
		"the relay's ops listener (default: RELAY_OPS_URL, or ops_listen of the configuration)")
	return cmd
}

// printReadiness prints the state of a relay and its reasons, and returns an error if the relay is not ready.
func printReadiness(out io.Writer, response *http.Response) error {
	var ready struct {
		Status  string
		Reasons []string
	}
	if err := json.NewDecoder(response.Body).Decode(&ready); err != nil || ready.Status == "" {
		return fmt.Errorf("the reply was %s; is that a relay?", response.Status)
	}
	text := strings.Join(append([]string{ready.Status}, ready.Reasons...), "; ")
	if response.StatusCode != http.StatusOK {
		return errors.New(text)
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
