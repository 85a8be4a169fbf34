package test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/pipeline"
)

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestEveryLinkBetweenPagesLeadsToAHeading(t *testing.T) {
	t.Parallel()
	for _, path := range markdownPages(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			for _, link := range pageLink.FindAllStringSubmatch(readPage(t, path), -1) {
				if strings.Contains(link[1], "://") {
					continue
				}
				target, anchor, hasAnchor := strings.Cut(link[1], "#")
				file := path
				if target != "" {
					file = filepath.Join(filepath.Dir(path), target)
				}
				_, err := os.Stat(file)
				require.NoError(t, err, link[1])
				if hasAnchor {
					require.Contains(t, headingAnchors(readPage(t, file)), anchor, link[1])
				}
			}
		})
	}
}

func TestEveryDecisionIsInTheIndexWithItsTitle(t *testing.T) {
	t.Parallel()
	index := readPage(t, "../docs/adr/README.md")
	decisions, err := filepath.Glob("../docs/adr/0*.md")
	require.NoError(t, err)
	for _, path := range decisions {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			title := regexp.MustCompile(`^# (\d+)\. (.+)\n\nStatus: (?:accepted|superseded)`).FindStringSubmatch(readPage(t, path))
			require.NotNil(t, title, `begins with "# <number>. <title>", then the status`)
			require.Contains(t, index, "| ["+title[1]+"]("+filepath.Base(path)+") | "+title[2]+" |")
		})
	}
}

func TestGlossaryDefinesEveryTotalOfAReceipt(t *testing.T) {
	t.Parallel()
	glossary := readPage(t, "../docs/glossary.md")
	receipt := reflect.TypeFor[pipeline.Receipt]()
	for field := range receipt.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "events" {
			continue // a list, not a total
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Regexp(t, "`"+name+"`|(?m)^\\| "+name+" \\|", glossary)
		})
	}
}

func TestAnchorsOfHeadingsAreThoseOfGitHub(t *testing.T) {
	t.Parallel()
	text := "# Upgrade to 0.2.0\n\n## What `relay.yaml` has: names, units\n### A_b - c/d\n"
	require.Equal(t, []string{"upgrade-to-020", "what-relayyaml-has-names-units", "a_b---cd"}, headingAnchors(text))
}

// markdownPages returns the paths of all documents of the repository.
func markdownPages(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		pages = append(pages, found...)
	}
	return pages
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// headingAnchors returns the anchors of a document's headings, as GitHub makes them.
func headingAnchors(text string) []string {
	var anchors []string
	for _, heading := range pageHeading.FindAllStringSubmatch(text, -1) {
		anchor := notInAnchor.ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	return anchors
}
