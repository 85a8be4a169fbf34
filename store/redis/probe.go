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

// ErrUnsuitable is a Redis that cannot serve as the shared state.
var ErrUnsuitable = errors.New("unsuitable Redis")

// oldest is the oldest version of Redis that has all commands used.
const oldestMajor, oldestMinor = 6, 2

// Probe looks at a Redis before it is relied on. An ErrUnsuitable says what makes it unusable; the warnings say
// what works and can lose something. Any other error means that it could not be reached.
func Probe(ctx context.Context, client redis.UniversalClient) (warnings []string, err error) {
	text, err := client.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	info := infoFields(text)
	if !newEnough(info["redis_version"]) {
		return nil, fmt.Errorf("%w: version %s, and %d.%d or later is needed", ErrUnsuitable, info["redis_version"], oldestMajor, oldestMinor)
	}
	refused, err := lua.Probe.Run(ctx, client, lua.ProbeKeys()).StringSlice()
	var answered redis.Error
	switch {
	case len(refused) > 0 && strings.HasPrefix(refused[0], "READONLY"):
		return nil, fmt.Errorf("%w: it is a replica, which cannot be written to; name the master, or the Sentinels", ErrUnsuitable)
	case errors.As(err, &answered) && lua.NotSent(err) && !strings.HasPrefix(err.Error(), "NOPERM"):
		return nil, fmt.Errorf("probe: %w", err) // it is loading, or its cluster is down: later
	case errors.As(err, &answered):
		return nil, fmt.Errorf("%w: it runs no scripts for this user: %w", ErrUnsuitable, err)
	case err != nil:
		return nil, fmt.Errorf("probe: %w", err)
	case len(refused) > 0:
		return nil, fmt.Errorf("%w: scripts may not do all they must: %s", ErrUnsuitable, strings.Join(refused, "; "))
	}
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		warnings = append(warnings, "maxmemory-policy is "+policy+": an evicted key is a forgotten limit; set noeviction")
	}
	if info["aof_enabled"] == "0" && info["connected_slaves"] == "0" {
		warnings = append(warnings, "there is neither an append-only file nor a replica: what is pending ends with that server; set appendonly yes")
	}
	return warnings, nil
}

// infoFields reads the answer of INFO.
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
		return true // it calls itself something else; what it can do was tried
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil {
		return true
	}
	return major > oldestMajor || major == oldestMajor && minor >= oldestMinor
}
