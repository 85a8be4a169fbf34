package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/events"
	"slackrelay/silence"
)

func newSilence() *cobra.Command {
	return newGroup("silence", "Create, list or expire silences, which mute matching events temporarily", newSilenceAdd(), newSilenceList(),
		newSilenceExpire())
}

// silenceOptions are the flags of relay silence add.
type silenceOptions struct {
	opsOptions
	duration, from, until, author, reason string
}

func newSilenceAdd() *cobra.Command {
	var opts silenceOptions
	cmd := &cobra.Command{
		Use: "add MATCHER...", Short: "Create a silence, which mutes events that match all matchers",
		Long: "Create a silence. It mutes events that match all matchers; the relay counts them as muted. A matcher is a field,\n" +
			"label.NAME or the name of a label; an operator, one of = != =~ !~; and a value.\nFields: " + strings.Join(events.Fields(), ", ") + ".",
		Example: "  relay silence add category=disk 'host=~db-.*' --for 2h --reason 'migration, OPS-12'",
		Args:    matcherArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.addSilence(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	opts.add(cmd)
	cmd.ValidArgsFunction = completeMatchers
	cmd.Flag("channel").Usage = "the channel whose events are muted (default: all)"
	f := cmd.Flags()
	f.StringVar(&opts.duration, "for", "", "how long the silence lasts, for example 2h (default 1h)")
	f.StringVar(&opts.from, "from", "", "when the silence begins, for example 2026-11-20T22:00:00Z (default now)")
	f.StringVar(&opts.until, "until", "", "when the silence ends; replaces --for")
	f.StringVar(&opts.author, "author", "", "who creates the silence (default: your user name)")
	f.StringVar(&opts.reason, "reason", "", "why the events are muted (required)")
	return cmd
}

func matcherArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s needs a matcher, like category=disk; see %s --help", cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

func (o *silenceOptions) addSilence(ctx context.Context, args []string, out io.Writer) error {
	body, err := o.body(args)
	if err != nil {
		return err
	}
	var added silence.Silence
	if err := o.api(ctx, call{method: http.MethodPost, path: "/silences", body: body, reply: &added}); err != nil {
		return err
	}
	if o.json {
		return printJSON(out, added)
	}
	fmt.Fprintf(out, "silence %s: %s, until %s\nexpire it with: %s\n",
		added.ID, describeSilence(added), localTime(added.EndsAt), o.commandOf("relay silence expire", added.ID))
	return nil
}

// body returns the request for a silence.
func (o *silenceOptions) body(args []string) (map[string]any, error) {
	body := map[string]any{"channel": o.channel, "author": cmp.Or(o.author, currentUser()), "reason": o.reason}
	var matchers []events.Matcher
	for _, arg := range args {
		m, err := events.ParseMatcher(arg)
		if err != nil {
			return nil, usagef("%v", err)
		}
		matchers = append(matchers, m)
	}
	body["matchers"] = matchers
	for _, limit := range []struct{ flag, field, text string }{{"--from", "starts_at", o.from}, {"--until", "ends_at", o.until}} {
		if limit.text == "" {
			continue
		}
		at, err := parseTime(limit.flag, limit.text)
		if err != nil {
			return nil, err
		}
		body[limit.field] = at
	}
	switch {
	case o.reason == "":
		return nil, usagef("--reason is missing; set it to the reason that the list of silences shows")
	case o.duration != "" && o.until != "":
		return nil, usagef("--for and --until are both given; keep one")
	case o.until == "":
		body["for"] = cmp.Or(o.duration, "1h")
	}
	return body, nil
}

// parseTime reads the time that a flag gives.
func parseTime(flag, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(zonedTime, text)
	}
	if err != nil {
		return at, usagef("%s: %q is not a time; write it like 2026-11-20T22:00:00Z", flag, text)
	}
	return at, nil
}

// describeSilence returns what a silence mutes, in one line.
func describeSilence(s silence.Silence) string {
	words := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		words[i] = m.String()
	}
	return cmp.Or(s.Channel, "all channels") + ": " + strings.Join(words, " and ")
}

func newSilenceList() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "list", Short: "List silences: scheduled, active, or ended in the last 5 days", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return opts.listSilences(cmd.Context(), cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	cmd.Flag("channel").Usage = "list only silences of this channel (default: all)"
	return cmd
}

func (o *opsOptions) listSilences(ctx context.Context, out io.Writer) error {
	var reply struct {
		Silences []silence.Listed `json:"silences"`
		Texts    bool             `json:"texts"`
	}
	if err := o.api(ctx, call{path: "/silences", reply: &reply}); err != nil {
		return err
	}
	if o.json {
		return printJSON(out, reply)
	}
	silences := newTable(out, "ID", "STATE", "ENDS", "BY", "MUTES", "REASON")
	shown := 0
	for _, s := range reply.Silences {
		if o.channel != "" && s.Channel != "" && s.Channel != o.channel {
			continue
		}
		shown++
		silences.row(s.ID, s.State, localTime(s.EndsAt), cleaned(s.Author), cleaned(describeSilence(s.Silence)), cleaned(s.Reason))
	}
	if shown == 0 {
		fmt.Fprintln(out, "there are no silences")
		return nil
	}
	silences.flush()
	if !reply.Texts {
		fmt.Fprintln(out, "the reply has no matchers and reasons, because they need the admin token; set --admin-token or RELAY_ADMIN_TOKEN")
	}
	return nil
}

func newSilenceExpire() *cobra.Command {
	var opts opsOptions
	cmd := forEach(&opts, "expire ID...", "Expire silences: they end now", func(ctx context.Context, id string, out io.Writer) error {
		var ended silence.Silence
		if err := opts.api(ctx, call{method: http.MethodDelete, path: "/silences/" + url.PathEscape(id), reply: &ended}); err != nil {
			return err
		}
		fmt.Fprintln(out, "ended", id)
		return nil
	})
	cmd.ValidArgsFunction = opts.asked(opts.silences)
	return cmd
}
