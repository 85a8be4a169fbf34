package lua

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Row is an entry of a stream.
type Row struct {
	ID     string
	At     time.Time // when the entry was added
	Fields map[string]string
}

// ReadPage reads a page of a stream, newest first: up to limit entries, all older than the entry with the ID before.
// An empty before starts at the newest entry.
func ReadPage(ctx context.Context, scripter redis.Scripter, key, before string, limit int) ([]Row, error) {
	reply, err := Page.Run(ctx, scripter, []string{key}, cmp.Or(before, "+"), limit).Slice()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	rows := make([]Row, 0, len(reply))
	for _, item := range reply {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			return nil, fmt.Errorf("read %s: an entry of %d values", key, len(pair))
		}
		row := Row{Fields: map[string]string{}}
		row.ID, _ = pair[0].(string)
		row.At = TimeOf(row.ID)
		values, _ := pair[1].([]any)
		for i := 0; i+1 < len(values); i += 2 {
			name, _ := values[i].(string)
			row.Fields[name], _ = values[i+1].(string)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// TimeOf returns the time when an entry of a stream was added, from its ID, or the zero time if the ID is not valid.
func TimeOf(id string) time.Time {
	millis, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
