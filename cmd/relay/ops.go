package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/configs"
)

// opsTimeout bounds one request to the ops listener.
const opsTimeout = 30 * time.Second

// opsOptions are the flags of the commands that call the ops listener of a running relay.
type opsOptions struct {
	flags       configs.Flags
	address     string
	addressFrom string // the flag or variable that address comes from
	channel     string
	token       string
	json        bool

	firstChannel string // of the configuration; "" = the configuration is not loaded yet
}

func (o *opsOptions) add(cmd *cobra.Command) {
	addConfigFlags(cmd, &o.flags)
	f := cmd.Flags()
	f.StringVar(&o.address, "ops-url", "", "the relay's ops listener (default: RELAY_OPS_URL, or ops_listen of the configuration)")
	f.StringVar(&o.channel, "channel", "", "the channel (default: the first of the configuration)")
	f.StringVar(&o.token, "admin-token", "",
		"the admin token (default: from the configuration, RELAY_ADMIN_TOKEN or "+
			"RELAY_ADMIN_TOKEN_FILE; other users of this machine can see a flag)")
	f.BoolVar(&o.json, "json", false, "print the reply of the API")
}

// client completes the flags from the configuration.
func (o *opsOptions) client() (client, error) {
	if o.firstChannel == "" {
		loaded, err := configs.Load(o.flags)
		if err != nil {
			return client{}, err
		}
		o.firstChannel = loaded.Config.FirstChannel()
		o.token = cmp.Or(o.token, string(loaded.Config.AdminToken))
		o.addressFrom = "--ops-url"
		if variable := configs.OpsURL(); o.address == "" && variable != "" {
			o.address, o.addressFrom = variable, configs.OpsURLVariable
		}
		o.address = cmp.Or(o.address, baseURL(loaded.Config.OpsListen))
	}
	return client{address: o.address, flag: o.addressFrom, token: o.token, user: currentUser(), timeout: opsTimeout}, nil
}

// currentUser is the name of the user who runs the command; "" = unknown.
func currentUser() string {
	current, err := user.Current()
	if err != nil {
		return ""
	}
	return current.Username
}

// api calls the API; the path is below /api/v1.
func (o *opsOptions) api(ctx context.Context, request call) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	request.path = "/api/v1" + request.path
	return o.inWords(c.do(ctx, request))
}

// inWords says in the words of the command line what the relay says in those of its API.
func (o *opsOptions) inWords(err error) error {
	refused, ok := errors.AsType[*refusal](err)
	if !ok || refused.code != "unauthorized" {
		return err
	}
	problem := "this needs the admin token of the relay"
	if o.token != "" {
		problem = "that is not the admin token of the relay"
	}
	return &refusal{refused.code, problem + "; give it in RELAY_ADMIN_TOKEN, RELAY_ADMIN_TOKEN_FILE or --admin-token"}
}

// onChannel calls the API about the channel, which is the first of the configuration unless --channel names one; the path is
// below the channel's.
func (o *opsOptions) onChannel(ctx context.Context, request call) error {
	if _, err := o.client(); err != nil {
		return err
	}
	o.channel = cmp.Or(o.channel, o.firstChannel)
	request.path = "/channels/" + url.PathEscape(o.channel) + request.path
	err := o.api(ctx, request)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.code == "unknown_channel" {
		return o.unknownChannel(ctx, err)
	}
	return err
}

// maxNamed is how many channels an error names.
const maxNamed = 20

// unknownChannel names the channel that the relay does not have, and those that it has.
func (o *opsOptions) unknownChannel(ctx context.Context, err error) error {
	var reply struct {
		Channels []struct{ Channel string }
	}
	if o.api(ctx, call{path: "/channels", reply: &reply}) != nil || len(reply.Channels) == 0 {
		return fmt.Errorf("%w: the relay has no channel %q", err, o.channel)
	}
	names := make([]string, 0, maxNamed)
	for _, ch := range reply.Channels[:min(len(reply.Channels), maxNamed)] {
		names = append(names, ch.Channel)
	}
	known := strings.Join(names, ", ")
	if more := len(reply.Channels) - len(names); more > 0 {
		known += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("unknown_channel: the relay has no channel %q; use --channel with one of these: %s", o.channel, known)
}
