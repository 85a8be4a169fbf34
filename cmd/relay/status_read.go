package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"slackrelay/pipeline"
)

// read reads the status of one channel or all. Where the relay cannot read its channels, it returns the rest with the error.
func (o *statusOptions) read(ctx context.Context) (relayStatus, error) {
	status := relayStatus{Channels: []pipeline.ChannelStatus{}}
	failed := o.readChannels(ctx, &status)
	var refused *refusal
	if failed != nil && (!errors.As(failed, &refused) || refused.code != "unavailable") {
		return status, failed
	}
	if failed != nil {
		status.Channels = []pipeline.ChannelStatus{}
	}
	if err := o.api(ctx, call{path: "/refusals", reply: &status.Refused}); err != nil {
		return status, err
	}
	if err := o.readReady(ctx, &status.Ready); err != nil {
		return status, err
	}
	return status, failed
}

func (o *statusOptions) readChannels(ctx context.Context, status *relayStatus) error {
	if o.channel == "" {
		return o.readPages(ctx, status)
	}
	status.Channels = make([]pipeline.ChannelStatus, 1)
	return o.onChannel(ctx, call{reply: &status.Channels[0]})
}

// readPages reads all channels that are wanted, page by page.
func (o *statusOptions) readPages(ctx context.Context, status *relayStatus) error {
	query := url.Values{}
	for name, value := range map[string]string{"name": o.name, "state": o.state} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for {
		var page struct {
			Channels []pipeline.ChannelStatus `json:"channels"`
			Next     string                   `json:"next"`
		}
		if err := o.api(ctx, call{path: "/channels?" + query.Encode(), reply: &page}); err != nil {
			return err
		}
		status.Channels = append(status.Channels, page.Channels...)
		if page.Next == "" {
			return nil
		}
		query.Set("after", page.Next)
	}
}

// readReady reads the readiness, whose reasons a 503 has too.
func (o *statusOptions) readReady(ctx context.Context, ready *readiness) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	response, err := c.send(ctx, call{path: "/readyz"})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(ready); err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	ready.Status = cmp.Or(ready.Status, "unknown")
	return nil
}
