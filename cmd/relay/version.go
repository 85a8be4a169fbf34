package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// version is set when the image is built (-ldflags "-X main.version=...").
var version string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "relay", versionText())
			return err
		},
	}
}

// buildInfo tells Prometheus which version runs.
func buildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "relay_build_info", Help: "1, with the version of the relay and of Go.",
		ConstLabels: prometheus.Labels{"version": versionText(), "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}

// versionText is the version that was stamped in, else what the Go toolchain knows.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}
