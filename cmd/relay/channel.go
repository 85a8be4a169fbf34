package main

import "slackrelay/configs"

// onlyChannel is the help of a flag --channel that means a channel of the configuration.
const onlyChannel = "the channel (default: the only one of the configuration)"

// channelOf returns the channel of a configuration that --channel names, or its only one: of several, none is guessed.
func channelOf(cfg *configs.Config, name string) (configs.Channel, error) {
	if err := needChannel(cfg, name); err != nil {
		return configs.Channel{}, err
	}
	channel, known := cfg.Channel(name)
	if !known {
		return channel, usagef("--channel: the configuration has no channel %q; use one of these: %s", name, someOf(cfg.ChannelNames()))
	}
	return channel, nil
}

// needChannel refuses a missing --channel where the configuration has several channels.
func needChannel(cfg *configs.Config, name string) error {
	if names := cfg.ChannelNames(); name == "" && len(names) > 1 {
		return usagef("--channel is missing; the configuration has these channels: %s", someOf(names))
	}
	return nil
}
