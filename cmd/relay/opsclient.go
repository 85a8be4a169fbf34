package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/configs"
)

// opsOptions are the flags of the commands that ask a running relay.
type opsOptions struct {
	flags   configs.Flags
	address string
	channel string
	token   string
	json    bool

	first string // channel of the configuration
}

func (o *opsOptions) add(cmd *cobra.Command) {
	addConfigFlags(cmd, &o.flags)
	f := cmd.Flags()
	f.StringVar(&o.address, "ops-url", "", "the relay's ops listener (default: where the configuration has it)")
	f.StringVar(&o.channel, "channel", "", "the channel (default: the first of the configuration)")
	f.StringVar(&o.token, "admin-token", "", "the admin token (default: from the configuration, RELAY_ADMIN_TOKEN or RELAY_ADMIN_TOKEN_FILE; other users of this machine can see a flag)")
	f.BoolVar(&o.json, "json", false, "answer as the API does")
}

// fillIn takes from the configuration what no flag says.
func (o *opsOptions) fillIn() error {
	if o.first != "" {
		return nil
	}
	loaded, err := configs.Load(o.flags)
	if err != nil {
		return err
	}
	o.first = loaded.Config.Channels[0].Name
	o.token = cmp.Or(o.token, string(loaded.Config.AdminToken))
	if o.address == "" {
		host, port, _ := net.SplitHostPort(loaded.Config.OpsListen) // validated
		o.address = "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
	}
	return nil
}

const opsTimeout = 30 * time.Second

// call asks the API about the channel; path is below it.
func (o *opsOptions) call(ctx context.Context, method, path string, answer any) error {
	return o.callWith(ctx, method, path, nil, answer)
}

// callWith sends what is wanted along, as JSON; nil = nothing.
func (o *opsOptions) callWith(ctx context.Context, method, path string, wanted, answer any) error {
	if err := o.fillIn(); err != nil {
		return err
	}
	o.channel = cmp.Or(o.channel, o.first)
	err := o.ask(ctx, method, "/channels/"+url.PathEscape(o.channel)+path, wanted, answer)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.code == "unknown_channel" {
		return o.unknownChannel(ctx, err)
	}
	return err
}

// maxNamed is how many channels an error names.
const maxNamed = 20

// unknownChannel names the channel that the relay does not have, and those that it has.
func (o *opsOptions) unknownChannel(ctx context.Context, err error) error {
	var answer struct {
		Channels []struct{ Channel string }
	}
	if o.ask(ctx, http.MethodGet, "/channels", nil, &answer) != nil || len(answer.Channels) == 0 {
		return fmt.Errorf("%w: the relay has no channel %q", err, o.channel)
	}
	names := make([]string, 0, maxNamed)
	for _, ch := range answer.Channels[:min(len(answer.Channels), maxNamed)] {
		names = append(names, ch.Channel)
	}
	known := strings.Join(names, ", ")
	if more := len(answer.Channels) - len(names); more > 0 {
		known += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("unknown_channel: the relay has no channel %q; use --channel with one of these: %s", o.channel, known)
}

// ask asks the API; path is below /api/v1.
func (o *opsOptions) ask(ctx context.Context, method, path string, wanted, answer any) error {
	response, err := o.do(ctx, method, "/api/v1"+path, wanted)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusalOf(response, reply)
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	return nil
}

// do makes a request to the ops listener.
func (o *opsOptions) do(ctx context.Context, method, path string, wanted any) (*http.Response, error) {
	if err := o.fillIn(); err != nil {
		return nil, err
	}
	var body io.Reader
	if wanted != nil {
		encoded, err := json.Marshal(wanted)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(o.address, "/")+path, body)
	if err != nil {
		return nil, usagef("--ops-url %q is not an address like http://127.0.0.1:9090", o.address)
	}
	if o.token != "" {
		request.Header.Set("Authorization", "Bearer "+o.token)
	}
	request.Header.Set("X-Relay-User", whoami()) // for the audit log
	client := &http.Client{Timeout: opsTimeout}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the relay: %w; is one running there? start one with: relay serve", err)
	}
	return response, nil
}

// refusal is an error reply of the API.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

// refusalOf is an error of the relay, as it said it.
func refusalOf(response *http.Response, body []byte) error {
	var answer struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		return &refusal{answer.Error.Code, answer.Error.Message}
	}
	return fmt.Errorf("the reply was %s; is that a relay?", response.Status)
}

// printJSON answers as the API does.
func printJSON(out io.Writer, v any) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if _, err := io.WriteString(out, escapedJSON(encoded.Bytes())); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// group is a command that only has others below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s knows no %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(below...)
	return cmd
}

// ids wants one id or more.
func ids(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs an id, as %s list shows them", cmd.CommandPath(), cmd.Parent().CommandPath())
	}
	return nil
}
