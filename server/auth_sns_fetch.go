package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// allow reports whether one more request may be sent now, and counts it.
func (n *snsCertificates) allow() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if !n.refill.IsZero() {
		n.tokens = min(n.tokens+now.Sub(n.refill).Seconds(), snsBurst)
	}
	n.refill = now
	if n.tokens < 1 {
		return false
	}
	n.tokens--
	return true
}

// get fetches a file. Its errors do not contain the address, which may contain a token.
func (n *snsCertificates) get(ctx context.Context, address string) ([]byte, error) {
	if !n.allow() {
		return nil, fmt.Errorf("%w: too many requests to Amazon SNS in a short time", errUndecided)
	}
	ctx, cancel := context.WithTimeout(ctx, snsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: the address is not valid", errRefused)
	}
	response, err := n.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: Amazon did not answer", errUndecided)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode >= http.StatusInternalServerError, response.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: Amazon answered %d", errUndecided, response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: Amazon answered %d", errRefused, response.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxSNSAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: Amazon's answer ended early", errUndecided)
	case len(answer) > maxSNSAnswer:
		return nil, fmt.Errorf("%w: Amazon's answer is too long", errRefused)
	}
	return answer, nil
}
