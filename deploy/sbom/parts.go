package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// part is a module, a file or the standard library in a binary.
type part struct {
	name     string
	version  string
	purl     string // package URL, which identifies it in a bill of materials
	sum      string // of the module's files, as in go.sum; "" = none
	licences []string
	texts    []string // of the licences and notices
}

// vendored are the files of other authors in this repository that the binary contains.
var vendored = []part{
	{name: "lit-html", version: "3.3.3", purl: "pkg:npm/lit-html@3.3.3", licences: []string{"BSD-3-Clause"}, texts: []string{litLicence}},
	{name: "uplot", version: "1.6.32", purl: "pkg:npm/uplot@1.6.32", licences: []string{"MIT"}, texts: []string{uplotLicence}},
}

// partsOf returns everything that is linked into a binary, by name.
func partsOf(ctx context.Context, info *debug.BuildInfo) ([]part, error) {
	root, err := goOutput(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	std, err := inFolder(part{name: "std", version: info.GoVersion, purl: "pkg:golang/std@" + info.GoVersion}, root)
	if err != nil {
		return nil, err
	}
	folders, err := moduleFolders(ctx, info.Deps)
	if err != nil {
		return nil, err
	}
	parts := append([]part{std}, vendored...)
	for _, module := range info.Deps {
		p, err := inFolder(part{
			name: module.Path, version: module.Version, purl: "pkg:golang/" + module.Path + "@" + module.Version, sum: module.Sum,
		}, folders[module.Path])
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return parts, nil
}

// moduleFolders returns the folder of each module in the module cache, by the module's path.
func moduleFolders(ctx context.Context, modules []*debug.Module) (map[string]string, error) {
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, module := range modules {
		args = append(args, module.Path)
	}
	list, err := goOutput(ctx, args...)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for line := range strings.Lines(list) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders[path] = folder
	}
	return folders, nil
}

// component is the part as an entry of a bill of materials.
func (p part) component() cyclonedx.Component {
	licences := make(cyclonedx.Licenses, 0, len(p.licences))
	for _, id := range p.licences {
		licences = append(licences, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	component := cyclonedx.Component{
		BOMRef: p.purl, Type: cyclonedx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: p.purl, Licenses: &licences,
	}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.sum, "h1:")); err == nil && len(sum) > 0 {
		component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return component
}

// goOutput is what a go command prints.
func goOutput(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
