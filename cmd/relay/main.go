// Command relay takes webhooks of alerting systems, throttles them with limits that all replicas share, and
// posts what passes to Slack.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and the image holds nothing but this program
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	os.Exit(exitCode(run(ctx, os.Args[1:], os.Stdout, os.Stderr)))
}
