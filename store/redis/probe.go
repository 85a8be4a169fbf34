package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"slackrelay/lua"
)

// ErrUnsuitable is returned for a Redis that cannot be the shared store.
var ErrUnsuitable = errors.New("unsuitable Redis")

// The oldest version of Redis that has all commands used.
const (
	oldestMajor = 6
	oldestMinor = 2
)

// Probe checks whether a Redis can be relied on. An [ErrUnsuitable] names what makes it unusable. The warnings name
// settings with which it works, and can lose data. Any other error means that it could not be reached.
func Probe(ctx context.Context, client redis.UniversalClient) (warnings []string, err error) {
	text, err := client.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	info := infoFields(text)
	if version := info["redis_version"]; !newEnough(version) {
		return nil, fmt.Errorf("%w: version %s, and %d.%d or later is needed", ErrUnsuitable, version, oldestMajor, oldestMinor)
	}
	refused, err := lua.Probe.Run(ctx, client, lua.ProbeKeys()).StringSlice()
	if err := probeError(refused, err); err != nil {
		return nil, err
	}
	return warningsOf(info), nil
}

// probeError returns why scripts cannot run, from the reply of lua/probe.lua: what it was refused, and its error.
func probeError(refused []string, err error) error {
	var replied redis.Error
	switch {
	case len(refused) > 0 && strings.HasPrefix(refused[0], "READONLY"):
		return fmt.Errorf("%w: it is a replica, which cannot be written to; name the master, or the Sentinels", ErrUnsuitable)
	case errors.As(err, &replied) && lua.NotSent(err) && !strings.HasPrefix(err.Error(), "NOPERM"):
		return fmt.Errorf("probe: %w", err) // it is loading, or its cluster is down: a later probe may succeed
	case errors.As(err, &replied):
		return fmt.Errorf("%w: it runs no scripts for this user: %w", ErrUnsuitable, err)
	case err != nil:
		return fmt.Errorf("probe: %w", err)
	case len(refused) > 0:
		return fmt.Errorf("%w: scripts may not do all they must: %s", ErrUnsuitable, strings.Join(refused, "; "))
	default:
		return nil
	}
}

func warningsOf(info map[string]string) (warnings []string) {
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		warnings = append(warnings, "maxmemory-policy is "+policy+": an evicted key is a forgotten limit; set noeviction")
	}
	if info["aof_enabled"] == "0" && info["connected_slaves"] == "0" {
		warnings = append(warnings,
			"there is neither an append-only file nor a replica: what is pending ends with that server; set appendonly yes")
	}
	return warnings
}

// infoFields returns the fields of a reply to INFO.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

func newEnough(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return true // another form of version: the probe script shows what it can do
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	if errMajor != nil || errMinor != nil {
		return true
	}
	return major > oldestMajor || major == oldestMajor && minor >= oldestMinor
}
