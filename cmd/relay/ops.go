package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/configs"
)

// opsURLFlag is the flag for the address of the ops listener.
const opsURLFlag = "--ops-url"

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

	completed bool // the flags are completed from the configuration
}

func (o *opsOptions) add(cmd *cobra.Command) {
	addConfigFlags(cmd, &o.flags)
	f := cmd.Flags()
	f.StringVar(&o.address, "ops-url", "", "the relay's ops listener (default: RELAY_OPS_URL, or ops_listen of the configuration)")
	f.StringVar(&o.channel, "channel", "", "the channel (default: the only one of the relay)")
	f.StringVar(&o.token, "admin-token", "",
		"the admin token (default: from the configuration, RELAY_ADMIN_TOKEN or "+
			"RELAY_ADMIN_TOKEN_FILE; other users of this machine can see a flag)")
	f.BoolVar(&o.json, "json", false, "print the reply of the API")
	completeFlag(cmd, "channel", o.asked(o.channels))
}

// client completes the flags from the configuration.
func (o *opsOptions) client() (client, error) {
	if !o.completed {
		loaded, err := configs.Load(o.flags)
		if err != nil {
			return client{}, err
		}
		o.completed = true
		o.token = cmp.Or(o.token, string(loaded.Config.AdminToken))
		switch variable := configs.OpsURL(); {
		case o.address != "":
			o.addressFrom = opsURLFlag
		case variable != "":
			o.address, o.addressFrom = variable, configs.OpsURLVariable
		default:
			o.address, o.addressFrom = baseURL(loaded.Config.OpsListen), "ops_listen"
		}
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
		problem += ", and the one that you gave is another"
	}
	return &refusal{refused.code, problem + "; give it in RELAY_ADMIN_TOKEN, RELAY_ADMIN_TOKEN_FILE or --admin-token"}
}

// onChannel calls the API about the channel that --channel names, or about the only channel of the relay; the path is below the
// channel's.
func (o *opsOptions) onChannel(ctx context.Context, request call) error {
	if o.channel == "" {
		names, err := o.channelNames(ctx, maxNamed+1)
		if err != nil {
			return err
		}
		if len(names) != 1 {
			return usagef("--channel is missing; the relay has these channels: %s", someOf(names))
		}
		o.channel = names[0]
	}
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
	names, failed := o.channelNames(ctx, allChannels)
	if failed != nil || len(names) == 0 {
		return fmt.Errorf("%w: the relay has no channel %q", err, o.channel)
	}
	return fmt.Errorf("unknown_channel: the relay has no channel %q; use --channel with one of these: %s", o.channel, someOf(names))
}

// allChannels is more channels than a relay has.
const allChannels = 1_000_000

// channelNames returns the names of the relay's channels; atLeast is how many are enough.
func (o *opsOptions) channelNames(ctx context.Context, atLeast int) ([]string, error) {
	var names []string
	query := url.Values{"limit": {strconv.Itoa(min(atLeast, maxPage))}}
	for {
		var page struct {
			Channels []struct{ Channel string }
			Next     string
		}
		if err := o.api(ctx, call{path: "/channels?" + query.Encode(), reply: &page}); err != nil {
			return nil, err
		}
		for _, ch := range page.Channels {
			if !isOwn(ch.Channel) {
				names = append(names, ch.Channel)
			}
		}
		if page.Next == "" || len(names) >= atLeast {
			return names, nil
		}
		query.Set("after", page.Next)
	}
}

// isOwn reports whether a channel is one of the relay itself, such as that of the canary.
func isOwn(channel string) bool { return strings.HasPrefix(channel, "~") }

// maxPage is the largest page of channels.
const maxPage = 500

// someOf lists names, and counts those beyond maxNamed.
func someOf(names []string) string {
	known := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		known += fmt.Sprintf(" and %d more", more)
	}
	return known
}
