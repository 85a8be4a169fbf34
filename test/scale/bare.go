package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"slackrelay/test/bare"
)

// bareCommand is the first argument of this program where it serves the bare handlers.
const bareCommand = "bare"

// startBare starts this program once more as an HTTP server that does the least that a relay must: it parses the same JSON with
// encoding/json into a struct, and answers a reply of the same size.
func (b *bench) startBare(ctx context.Context, eventReply, alertsReply int) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("bare handler: %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	p, err := startProcess(ctx, b.dir, bareCommand, nil, self, bareCommand, address, strconv.Itoa(eventReply), strconv.Itoa(alertsReply))
	if err != nil {
		return nil, "", err
	}
	if err := p.await(ctx, "bare handler", startWithin, func() bool { return answers(ctx, address) }); err != nil {
		p.kill()
		return nil, "", err
	}
	return p, "http://" + address, nil
}

// serveBare serves on an address until the process is killed: /event and /alerts, with replies of so many bytes.
func serveBare(args []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /event", bare.Handler[bare.Event](replyOf(args[1])))
	mux.HandleFunc("POST /alerts", bare.Handler[bare.Alerts](replyOf(args[2])))
	server := &http.Server{Addr: args[0], Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
}

// replyOf returns a reply of so many bytes.
func replyOf(size string) []byte {
	n, _ := strconv.Atoi(size) // it is written by startBare
	return bytes.Repeat([]byte("x"), n)
}
