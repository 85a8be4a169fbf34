package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"slackrelay/events"
	"slackrelay/silence"
)

func newSilence() *cobra.Command {
	return group("silence", "Keep events quiet for a while: add a silence, list them, end one", newSilenceAdd(), newSilenceList(), newSilenceExpire())
}

// silenceOptions are the flags of relay silence add.
type silenceOptions struct {
	opsOptions
	lasts, from, until, author, reason string
}

func newSilenceAdd() *cobra.Command {
	var opts silenceOptions
	cmd := &cobra.Command{
		Use: "add MATCHER...", Short: "Mute what fulfils all matchers; it is counted as muted",
		Long: "Mute what fulfils all matchers; it is counted as muted. A matcher is a field, or label.NAME, or the name of a\n" +
			"label; one of = != =~ !~; and a value. Fields: " + strings.Join(events.Fields(), ", ") + ".",
		Example: "  relay silence add category=disk 'host=~db-.*' --for 2h --reason 'migration, OPS-12'",
		Args:    someMatcher,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.addSilence(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	opts.add(cmd)
	cmd.Flag("channel").Usage = "the channel (default: all)"
	f := cmd.Flags()
	f.StringVar(&opts.lasts, "for", "", "how long, like 2h (default 1h)")
	f.StringVar(&opts.from, "from", "", "when it begins, like 2026-11-20T22:00:00Z (default now)")
	f.StringVar(&opts.until, "until", "", "when it ends, instead of --for")
	f.StringVar(&opts.author, "author", "", "who wants it (default: you)")
	f.StringVar(&opts.reason, "reason", "", "why")
	return cmd
}

func someMatcher(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("a matcher is needed, like category=disk; see %s --help", cmd.CommandPath())
	}
	return nil
}

func (o *silenceOptions) addSilence(ctx context.Context, args []string, out io.Writer) error {
	wanted := map[string]any{"channel": o.channel, "author": cmp.Or(o.author, whoami()), "reason": o.reason}
	var matchers []events.Matcher
	for _, arg := range args {
		m, err := events.ParseMatcher(arg)
		if err != nil {
			return usagef("%v", err)
		}
		matchers = append(matchers, m)
	}
	wanted["matchers"] = matchers
	for name, text := range map[string]string{"starts_at": o.from, "ends_at": o.until} {
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return usagef("%q is no time; write it like 2026-11-20T22:00:00Z", text)
		}
		wanted[name] = at
	}
	switch {
	case o.reason == "":
		return usagef("--reason is needed, for those who wonder later")
	case o.lasts != "" && o.until != "":
		return usagef("--for and --until are both given; keep one")
	case o.until == "":
		wanted["for"] = cmp.Or(o.lasts, "1h")
	}
	var made silence.Silence
	if err := o.ask(ctx, http.MethodPost, "/silences", wanted, &made); err != nil {
		return err
	}
	if o.json {
		return printJSON(out, made)
	}
	_, err := fmt.Fprintf(out, "silence %s: %s, until %s\nend it with: relay silence expire %s\n", made.ID, wordsOf(made), made.EndsAt.Local().Format(time.DateTime), made.ID)
	return err
}

// whoami is the name of whoever runs this.
func whoami() string {
	who, err := user.Current()
	if err != nil {
		return ""
	}
	return who.Username
}

// wordsOf says what a silence mutes.
func wordsOf(s silence.Silence) string {
	words := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		words[i] = m.String()
	}
	return cmp.Or(s.Channel, "all channels") + ": " + strings.Join(words, " and ")
}

func newSilenceList() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "list", Short: "List the silences: those that wait, are active, or ended within 5 days", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return opts.listSilences(cmd.Context(), cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	cmd.Flag("channel").Usage = "only those of a channel (default: all)"
	return cmd
}

func (o *opsOptions) listSilences(ctx context.Context, out io.Writer) error {
	var answer struct {
		Silences []silence.Listed `json:"silences"`
		Texts    bool             `json:"texts"`
	}
	if err := o.ask(ctx, http.MethodGet, "/silences", nil, &answer); err != nil {
		return err
	}
	if o.json {
		return printJSON(out, answer)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tENDS\tBY\tMUTES\tREASON")
	shown := 0
	for _, s := range answer.Silences {
		if o.channel != "" && s.Channel != "" && s.Channel != o.channel {
			continue
		}
		shown++
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, s.State, s.EndsAt.Local().Format(time.DateTime), cleaned(s.Author), cleaned(wordsOf(s.Silence)), cleaned(s.Reason))
	}
	if shown == 0 {
		_, err := fmt.Fprintln(out, "there are no silences")
		return err
	}
	if !answer.Texts {
		defer fmt.Fprintln(out, "what they mute is shown with --admin-token only")
	}
	return table.Flush()
}

func newSilenceExpire() *cobra.Command {
	var opts opsOptions
	cmd := &cobra.Command{
		Use: "expire ID...", Short: "End silences now", Args: ids,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				var ended silence.Silence
				if err := opts.ask(cmd.Context(), http.MethodDelete, "/silences/"+url.PathEscape(id), nil, &ended); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), "ended", id); err != nil {
					return err
				}
			}
			return nil
		},
	}
	opts.add(cmd)
	return cmd
}
