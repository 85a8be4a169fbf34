package notifier

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Delays after a 429, which may have any Retry-After or none.
const (
	defaultRetryAfter = 30 * time.Second
	minRetryAfter     = time.Second
	maxRetryAfter     = time.Hour
)

// retryAfterTransport rewrites each 429's Retry-After to whole seconds, the only form that slack-go reads: without the header,
// or with a date, its error does not have the delay.
type retryAfterTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t retryAfterTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		wait := parseRetryAfter(response.Header.Get("Retry-After"), time.Now())
		response.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	}
	return response, err
}

// parseRetryAfter parses seconds (with a fraction too) or an HTTP date, rounds up, and applies the bounds.
func parseRetryAfter(value string, now time.Time) time.Duration {
	wait := defaultRetryAfter
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(seconds) {
		wait = time.Duration(min(max(seconds, 0), maxRetryAfter.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	whole := (wait + time.Second - 1).Truncate(time.Second)
	return min(max(whole, minRetryAfter), maxRetryAfter)
}
