// Command sbom describes what is linked into a binary of the relay: as a bill of materials in CycloneDX's format, and as one text of
// all licences. It reads the list of modules from the binary, and their licences from the module cache. A module without a licence
// that is known to allow this use is an error.
//
// The output depends on the binary alone: it contains no time, no path and no random number.
package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "", "the version of the relay")
	sbom := flag.String("sbom", "", "the file for the bill of materials")
	licenses := flag.String("licenses", "", "the file for the licences")
	flag.Parse()
	if err := run(context.Background(), flag.Arg(0), *version, *sbom, *licenses); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, version, sbom, licenses string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read the modules of %q: %w", binary, err)
	}
	parts, err := partsOf(ctx, info)
	if err != nil {
		return err
	}
	if err := os.WriteFile(licenses, []byte(licenceText(parts)), 0o644); err != nil { //nolint:gosec // everybody may read it
		return fmt.Errorf("write the licences: %w", err)
	}
	file, err := os.Create(sbom)
	if err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	err = cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(billOf(info, version, parts))
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return nil
}

// billOf is the bill of materials of the relay in this version.
func billOf(info *debug.BuildInfo, version string, parts []part) *cyclonedx.BOM {
	relay := cyclonedx.Component{
		BOMRef: "relay", Type: cyclonedx.ComponentTypeApplication, Name: info.Main.Path, Version: version,
		PackageURL: "pkg:golang/" + info.Main.Path + "@" + version, Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "MIT"}}},
	}
	components := make([]cyclonedx.Component, 0, len(parts))
	needed := make([]string, 0, len(parts))
	for _, p := range parts {
		components = append(components, p.component())
		needed = append(needed, p.purl)
	}
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Component: &relay, Properties: &[]cyclonedx.Property{
		{Name: "goos", Value: setting(info, "GOOS")}, {Name: "goarch", Value: setting(info, "GOARCH")},
	}}
	bill.Components = &components
	bill.Dependencies = &[]cyclonedx.Dependency{{Ref: relay.BOMRef, Dependencies: &needed}}
	return bill
}

// setting is a setting of the build; "" = it is not recorded.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
