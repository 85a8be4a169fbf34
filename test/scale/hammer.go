package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// hammer posts the same webhook from many senders for a time, to the URLs in turn, which must be of one server. It returns the
// accepted webhooks in a second, and all of them. The senders write prepared bytes and hardly read the answers, so that they
// leave the processors to the server.
func hammer(ctx context.Context, urls []string, body []byte, during time.Duration) (rate float64, posted int64, err error) {
	requests := make([][]byte, len(urls))
	var host string
	for i, address := range urls {
		target, err := url.Parse(address)
		if err != nil {
			return 0, 0, fmt.Errorf("post to %s: %w", address, err)
		}
		host = target.Host
		requests[i] = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			target.Path, host, len(body), body)
	}
	var all atomic.Int64
	senders, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for sender := range loadSenders {
		senders.Go(func() error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
			if err != nil {
				return fmt.Errorf("connect: %w", err)
			}
			defer conn.Close()
			answers := bufio.NewReaderSize(conn, 16<<10)
			for i := sender; time.Since(began) < during && ctx.Err() == nil; i += loadSenders {
				if _, err := conn.Write(requests[i%len(requests)]); err != nil {
					return fmt.Errorf("post: %w", err)
				}
				if err := skipAnswer(answers); err != nil {
					return err
				}
				all.Add(1)
			}
			return nil
		})
	}
	err = senders.Wait()
	return float64(all.Load()) / time.Since(began).Seconds(), all.Load(), err
}

// skipAnswer reads an answer, which must be 202, without its contents.
func skipAnswer(from *bufio.Reader) error {
	status, err := from.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 202 ")) {
		return fmt.Errorf("answered %q, want %d", status, http.StatusAccepted)
	}
	length := -1 // it comes in chunks
	for {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		if len(line) <= len("\r\n") {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(string(value))); err != nil {
				return fmt.Errorf("answer: %w", err)
			}
		}
	}
	if length < 0 {
		return skipChunks(from)
	}
	_, err = from.Discard(length)
	return err
}

func skipChunks(from *bufio.Reader) error {
	for {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(line)), 16, 32)
		if err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		if _, err := io.CopyN(io.Discard, from, size+int64(len("\r\n"))); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		if size == 0 {
			return nil
		}
	}
}
