package main

import (
	"context"
	"fmt"
)

// measureSize measures what channels and replicas cost.
func (b *bench) measureSize(ctx context.Context, of size) ([]figure, error) {
	fmt.Fprintf(b.progress, "%d channels, %d replicas: start\n", of.channels, of.replicas)
	s, err := b.startSystem(ctx, openChannels(of.channels), of.replicas)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f := &figures{size: of}
	f.add("ready", "s", s.relays[0].ready.Seconds())
	steps := []struct {
		name string
		do   func(ctx context.Context, s *system, f *figures) error
	}{
		{"idle", b.measureIdle},
		{"reads", measureReads},
		{"first messages", measureFirstMessages},
		{"reload", measureReload},
		{"failover", measureFailover},
	}
	for _, step := range steps {
		fmt.Fprintf(b.progress, "%d channels, %d replicas: %s\n", of.channels, of.replicas, step.name)
		if err := step.do(ctx, s, f); err != nil {
			return f.all, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return f.all, nil
}
