package main

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"slackrelay/configs"
	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/silence"
)

const (
	// completionTimeout bounds the wait of a shell for the relay.
	completionTimeout = time.Second
	// maxCompletions is how many candidates a shell gets.
	maxCompletions = 100
)

// fileFlags are the flags that name a file.
var fileFlags = []string{"config", "against", "explain", "out", "trace"}

// completeNoFiles keeps shells from completing arguments and flags to names of files, except those that name files and those that have
// candidates of their own.
func completeNoFiles(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		completeNoFiles(sub)
	}
	if cmd.ValidArgsFunction == nil && cmd.Name() != "man" {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if _, has := cmd.GetFlagCompletionFunc(flag.Name); !has && !slices.Contains(fileFlags, flag.Name) {
			completeFlag(cmd, flag.Name, cobra.NoFileCompletions)
		}
	})
}

// completeFlag sets the candidates of a flag.
func completeFlag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // the command has no such flag
	}
}

// completeWords completes a flag to one of a few words.
func completeWords(cmd *cobra.Command, name string, words ...string) {
	completeFlag(cmd, name, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return startingWith(words, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// asked makes a completion of what a running relay is asked for. If it does not answer soon, there are no candidates, and no error: a
// shell would print that into the command line.
func (o *opsOptions) asked(ask func(ctx context.Context, typed string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		all, err := ask(ctx, typed)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return startingWith(all, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// startingWith returns the candidates that begin with what was typed, at most maxCompletions.
func startingWith(all []string, typed string) []string {
	var found []string
	for _, candidate := range all {
		if strings.HasPrefix(candidate, typed) && len(found) < maxCompletions {
			found = append(found, candidate)
		}
	}
	return found
}

// described is a candidate with what a shell shows beside it.
func described(candidate, description string) string {
	return cobra.CompletionWithDesc(cleaned(candidate), cleaned(description))
}

// channels completes the name of a channel.
func (o *opsOptions) channels(ctx context.Context, typed string) ([]string, error) {
	var page struct{ Channels []struct{ Channel string } }
	query := url.Values{"name": {typed}, "limit": {strconv.Itoa(maxPage)}}
	if err := o.api(ctx, call{path: "/channels?" + query.Encode(), reply: &page}); err != nil {
		return nil, err
	}
	names := make([]string, len(page.Channels))
	for i, ch := range page.Channels {
		names[i] = ch.Channel
	}
	return names, nil
}

// categories completes a category of the channel.
func (o *opsOptions) categories(ctx context.Context, _ string) ([]string, error) {
	var status pipeline.ChannelStatus
	err := o.onChannel(ctx, call{reply: &status})
	names := make([]string, len(status.Categories))
	for i, c := range status.Categories {
		names[i] = c.Category
	}
	return names, err
}

// levels completes a level of the channel.
func (o *opsOptions) levels(ctx context.Context, _ string) ([]string, error) {
	var status pipeline.ChannelStatus
	err := o.onChannel(ctx, call{reply: &status})
	names := []string{"category"}
	for _, level := range status.Levels {
		names = append(names, level.Level)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// completionQuery asks for the newest records.
var completionQuery = "?limit=" + strconv.Itoa(maxCompletions)

// drops completes the id of a dropped event.
func (o *opsOptions) drops(ctx context.Context, _ string) ([]string, error) {
	var reply struct{ Drops []pipeline.DropRecord }
	err := o.onChannel(ctx, call{path: "/drops" + completionQuery, reply: &reply})
	ids := make([]string, len(reply.Drops))
	for i, d := range reply.Drops {
		ids[i] = described(d.ID, brief(d.Event))
	}
	return ids, err
}

// deadLetters completes the id of a dead letter.
func (o *opsOptions) deadLetters(ctx context.Context, _ string) ([]string, error) {
	var reply struct{ Dead []pipeline.DeadLetter }
	err := o.onChannel(ctx, call{path: "/dead" + completionQuery, reply: &reply})
	ids := make([]string, len(reply.Dead))
	for i, d := range reply.Dead {
		ids[i] = described(d.ID, d.Reason)
	}
	return ids, err
}

// silences completes the id of a silence that has not ended.
func (o *opsOptions) silences(ctx context.Context, _ string) ([]string, error) {
	var reply struct{ Silences []silence.Listed }
	err := o.api(ctx, call{path: "/silences", reply: &reply})
	var ids []string
	for _, s := range reply.Silences {
		if s.State != silence.Ended {
			ids = append(ids, described(s.ID, describeSilence(s.Silence)))
		}
	}
	return ids, err
}

// completeConfigured completes --channel to a channel of the configuration.
func completeConfigured(cmd *cobra.Command) {
	completeFlag(cmd, "channel", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		loaded, _ := configs.Load(configs.Flags{File: cmd.Flag("config").Value.String()}) // a faulty one has channels too
		return startingWith(loaded.Config.ChannelNames(), typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeMatchers completes the field of a matcher.
func completeMatchers(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, field := range events.Fields() {
		all = append(all, field+"=")
	}
	return startingWith(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
