package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"
)

// listOptions are the flags of a list.
type listOptions struct {
	opsOptions
	limit  int
	before string
}

func (o *listOptions) add(cmd *cobra.Command) {
	o.opsOptions.add(cmd)
	cmd.Flag("channel").Usage = "only this channel (default: all)"
	cmd.Flags().IntVar(&o.limit, "limit", 50, "how many of a channel to list, at most 1000")
	cmd.Flags().StringVar(&o.before, "before", "", "list those older than this id: the next page; with --channel")
}

func (o *listOptions) query() string {
	return "?" + url.Values{"limit": {strconv.Itoa(o.limit)}, "before": {o.before}}.Encode()
}

// records are a kind of records that channels keep, and how a list shows them.
type records[T any] struct {
	name string // in the path and in the reply of the API
	// verb and noun are for a list without any: channel alerts has no dead letters.
	verb, noun string
	columns    []any
	row        func(T) []any
}

// newList makes a command that lists records of a channel, or of all.
func newList[T any](short string, kind records[T]) *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use: "list", Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return kind.list(cmd.Context(), opts, cmd.OutOrStdout()) },
	}
	opts.add(cmd)
	return cmd
}

func (k records[T]) list(ctx context.Context, opts listOptions, out io.Writer) error {
	if opts.channel != "" {
		return k.listOne(ctx, opts, out)
	}
	names, err := opts.channelNames(ctx, allChannels)
	if err != nil {
		return err
	}
	if len(names) == 1 {
		opts.channel = names[0]
		return k.listOne(ctx, opts, out)
	}
	if opts.before != "" {
		return usagef("--before is an id of one channel; name the channel with --channel")
	}
	return k.listAll(ctx, opts, names, out)
}

// listOne lists the records of the channel.
func (k records[T]) listOne(ctx context.Context, opts listOptions, out io.Writer) error {
	all, err := k.read(ctx, opts)
	switch {
	case err != nil:
		return err
	case opts.json:
		return printJSON(out, map[string][]T{k.name: all})
	case len(all) == 0:
		fmt.Fprintf(out, "channel %s %s no %s\n", opts.channel, k.verb, k.noun)
		return nil
	}
	table := newTable(out, k.columns...)
	defer table.flush()
	for _, one := range all {
		table.row(k.row(one)...)
	}
	return nil
}

// listAll lists the records of channels, with a column for the channel.
func (k records[T]) listAll(ctx context.Context, opts listOptions, channels []string, out io.Writer) error {
	var rows [][]any
	replies := []map[string]any{}
	for _, channel := range channels {
		opts.channel = channel
		all, err := k.read(ctx, opts)
		if err != nil {
			return err
		}
		for _, one := range all {
			reply, err := tagged(one, channel)
			if err != nil {
				return err
			}
			replies = append(replies, reply)
			rows = append(rows, append([]any{channel}, k.row(one)...))
		}
	}
	switch {
	case opts.json:
		return printJSON(out, map[string]any{k.name: replies})
	case len(rows) == 0:
		fmt.Fprintf(out, "no channel %s %s\n", k.verb, k.noun)
		return nil
	}
	table := newTable(out, append([]any{"CHANNEL"}, k.columns...)...)
	defer table.flush()
	for _, row := range rows {
		table.row(row...)
	}
	return nil
}

// tagged returns a record as JSON has it, with its channel.
func tagged(record any, channel string) (map[string]any, error) {
	encoded, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("print: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("print: %w", err)
	}
	fields["channel"] = channel
	return fields, nil
}

// read reads the records of the channel.
func (k records[T]) read(ctx context.Context, opts listOptions) ([]T, error) {
	var reply map[string]json.RawMessage
	if err := opts.onChannel(ctx, call{path: "/" + k.name + opts.query(), reply: &reply}); err != nil {
		return nil, err
	}
	var all []T
	if err := json.Unmarshal(reply[k.name], &all); err != nil {
		return nil, fmt.Errorf("read the reply: %w; is that a relay?", err)
	}
	return all, nil
}
