package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// It describes the program of the test, which contains the generator itself.
func TestEveryModuleOfABinaryIsListedWithItsLicence(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	bill, licences := filepath.Join(folder, "sbom.json"), filepath.Join(folder, "LICENSES.txt")
	require.NoError(t, run(t.Context(), binary, "0.2.0", bill, licences))

	text, err := os.ReadFile(bill)
	require.NoError(t, err)
	var parsed struct {
		Metadata   struct{ Component struct{ Version string } }
		Components []struct {
			Name, Version, Purl string
			Licenses            []struct{ License struct{ ID string } }
		}
	}
	require.NoError(t, json.Unmarshal(text, &parsed))
	require.Equal(t, "0.2.0", parsed.Metadata.Component.Version)
	all, err := os.ReadFile(licences)
	require.NoError(t, err)
	var names []string
	for _, c := range parsed.Components {
		names = append(names, c.Name)
		require.NotEmpty(t, c.Licenses, c.Name)
		require.Contains(t, string(all), "\n"+c.Name+" "+c.Version+" ("+c.Licenses[0].License.ID)
	}
	require.Subset(t, names, []string{"std", "lit-html", "uplot", "github.com/CycloneDX/cyclonedx-go", "github.com/google/licensecheck"})
	require.NotContains(t, string(text)+string(all), folder, "no path of this machine")
}

func TestPartsWithoutAnAllowedLicenceAreRefused(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, part{name: "m", version: "v1"}.check(), "m v1: no known licence; replace the module")
	require.ErrorContains(t, part{name: "m", version: "v1", licences: []string{"MIT", "AGPL-3.0"}}.check(),
		"licence AGPL-3.0 is not allowed; replace the module")
	require.NoError(t, part{name: "m", version: "v1", licences: []string{"MIT"}}.check())
}

func TestVendoredFilesHaveTheListedVersions(t *testing.T) {
	t.Parallel()
	for file, p := range map[string]part{"lit-html.js": vendored[0], "uplot.js": vendored[1]} {
		text, err := os.ReadFile(filepath.Join("../../server/dashboard", file))
		require.NoError(t, err)
		require.Contains(t, string(text), p.version, file)
		require.Contains(t, file, p.name)
	}
}
