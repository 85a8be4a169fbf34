package notifier

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// httpClients has the client of each timeout.
var httpClients = struct {
	sync.Mutex
	of map[time.Duration]*http.Client
}{of: map[time.Duration]*http.Client{}}

// httpClient returns a client that follows no redirects and has each 429's Retry-After in whole seconds. A timeout of 0 means
// [DefaultTimeout]. Senders with the same timeout share one.
func httpClient(timeout time.Duration) *http.Client {
	timeout = cmp.Or(timeout, DefaultTimeout)
	httpClients.Lock()
	defer httpClients.Unlock()
	client, ok := httpClients.of[timeout]
	if !ok {
		client = &http.Client{
			Timeout:       timeout,
			Transport:     retryAfterTransport{transport()},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		httpClients.of[timeout] = client
	}
	return client
}

// maxIdlePerHost is how many connections to one host are kept for the next request, without HTTP/2. Each channel has one
// request under way at most.
const maxIdlePerHost = 256

// transport returns the standard transport, except that it keeps more than 2 connections to a host: many channels post to the
// same host at the same time, and nearly every message would need a new connection.
func transport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := standard.Clone()
	own.MaxIdleConnsPerHost = maxIdlePerHost
	own.MaxIdleConns = 4 * maxIdlePerHost
	return own
}

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
		after := cmp.Or(response.Header.Get("Retry-After"), resetAfter(response.Header.Get("X-RateLimit-Reset"), time.Now()))
		wait := parseRetryAfter(after, time.Now())
		response.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	}
	return response, err
}

// resetAfter returns X-RateLimit-Reset as seconds from now. Mattermost has seconds from now there, others the time since 1970 in
// seconds, and Rocket.Chat in milliseconds.
func resetAfter(value string, now time.Time) string {
	const aYear = 365 * 24 * 3600
	reset, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	switch {
	case err != nil:
		return ""
	case reset < aYear:
		return strconv.FormatInt(reset, 10)
	case reset < 1000*aYear:
		return strconv.FormatInt(reset-now.Unix(), 10)
	default:
		return strconv.FormatInt((reset-now.UnixMilli()+999)/1000, 10)
	}
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
