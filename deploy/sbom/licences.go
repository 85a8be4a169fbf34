package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// The licences of the vendored files, which contain only a reference to them.
var (
	//go:embed vendored/lit-html.txt
	litLicence string
	//go:embed vendored/uplot.txt
	uplotLicence string
)

// allowed are the licences that parts of the relay may have. All of them permit use in a binary whose licences are enclosed.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense", "CC0-1.0"}

// minCovered is the percentage of a licence's text that must be recognized.
const minCovered = 75

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([.-].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)([.-].*)?$`) // goes with the licence
)

// inFolder adds to a part the licences in its folder.
func inFolder(p part, folder string) (part, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return part{}, fmt.Errorf("read the licences of %s: %w", p.name, err)
	}
	for _, entry := range entries {
		isLicence := licenceFile.MatchString(entry.Name())
		if entry.IsDir() || !isLicence && !noticeFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return part{}, fmt.Errorf("read the licences of %s: %w", p.name, err)
		}
		p.texts = append(p.texts, string(text))
		found := licensecheck.Scan(text)
		if !isLicence || found.Percent < minCovered {
			continue
		}
		for _, match := range found.Match {
			if !slices.Contains(p.licences, match.ID) {
				p.licences = append(p.licences, match.ID)
			}
		}
	}
	return p, p.check()
}

// check returns an error unless the part has a licence, and all of its licences are allowed.
func (p part) check() error {
	if len(p.licences) == 0 {
		return fmt.Errorf("%s %s: no known licence; replace the module, or teach deploy/sbom where its licence is", p.name, p.version)
	}
	for _, id := range p.licences {
		if !slices.Contains(allowed, id) {
			return fmt.Errorf("%s %s: licence %s is not allowed; replace the module, or add the licence to deploy/sbom", p.name, p.version, id)
		}
	}
	return nil
}

// licenceText is the text of all licences, with the names of the parts that have them.
func licenceText(parts []part) string {
	var text strings.Builder
	text.WriteString("The relay contains the following software.\n")
	for _, p := range parts {
		fmt.Fprintf(&text, "\n%s\n%s %s (%s)\n\n", strings.Repeat("=", 80), p.name, p.version, strings.Join(p.licences, ", "))
		for _, licence := range p.texts {
			text.WriteString(strings.TrimSpace(strings.ReplaceAll(licence, "\r\n", "\n")) + "\n")
		}
	}
	return text.String()
}
