package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// may tells whether one more request may be made now.
func (n *snsCertificates) may() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if !n.since.IsZero() {
		n.left = min(n.left+now.Sub(n.since).Seconds(), snsBurst)
	}
	n.since = now
	if n.left < 1 {
		return false
	}
	n.left--
	return true
}

// get asks for a file. Errors hold no address: there may be a token in it.
func (n *snsCertificates) get(ctx context.Context, address string) ([]byte, error) {
	if !n.may() {
		return nil, fmt.Errorf("%w: too many requests to Amazon SNS in a short time", errCannotTell)
	}
	ctx, cancel := context.WithTimeout(ctx, snsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: the address is not valid", errRefused)
	}
	response, err := n.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: Amazon did not answer", errCannotTell)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode >= http.StatusInternalServerError, response.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: Amazon answered %d", errCannotTell, response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: Amazon answered %d", errRefused, response.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxSNSAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: Amazon's answer ended early", errCannotTell)
	case len(answer) > maxSNSAnswer:
		return nil, fmt.Errorf("%w: Amazon's answer is too long", errRefused)
	}
	return answer, nil
}
