package events_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"slackrelay/events"
)

// specimen is a webhook of a sender in testdata/corpus/<sender>/<name>.json, and what an engineer on call wants to read of it.
type specimen struct {
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
	Raw    string            `json:"raw"` // the body, where it is no JSON
	Want   expectation       `json:"want"`

	sender, file string
}

// expectation is what the event of a specimen must say. Fields that are left out are not graded: the body cannot tell.
type expectation struct {
	Source      string   `json:"source"`
	Title       []string `json:"title"` // words of the title, in any case
	Severity    string   `json:"severity"`
	Status      *string  `json:"status"`
	Category    string   `json:"category"` // with * as a wildcard at either end
	Link        string   `json:"link"`
	Fingerprint bool     `json:"fingerprint"`
	Resolves    string   `json:"resolves"` // the file of the firing, which has the same fingerprint and another id
}

// criteria are what is graded, in the order of the columns.
var criteria = []string{"title", "severity", "status", "category", "link", "fingerprint", "resolve"}

// Shares of the points that the relay must reach, in percent.
const (
	wantKnown   = 95 // for senders with a source
	wantUnknown = 75 // for all others
)

// Webhooks of each kind that may be refused, or taken for another source.
const (
	mayBeRefused  = 0
	mayBeMistaken = 0
)

func (s specimen) decode() ([]events.Event, error) {
	w := events.Webhook{Body: append([]byte(s.Raw), s.Body...), Header: http.Header{}}
	for name, value := range s.Header {
		w.Header.Set(name, value)
	}
	return events.Decode(w)
}

// isAside reports whether the specimens of a sender are kept aside: no rule is made from them.
func (s specimen) isAside() bool {
	h := fnv.New32a()
	h.Write([]byte(s.sender))
	return h.Sum32()%3 == 0
}

// grade returns for each criterion that the specimen asks for whether the relay meets it, and what it says instead. refused and
// mistaken are faults of the whole webhook.
func (s specimen) grade(t *testing.T) (met map[string]bool, remarks []string, refused, mistaken bool) {
	t.Helper()
	all, err := s.decode()
	if refused = err != nil || len(all) == 0; refused {
		all = []events.Event{{}}
		remarks = append(remarks, fmt.Sprintf("refused: %v", err))
	}
	e := all[0]
	met = map[string]bool{}
	for criterion, g := range s.grades(t, e) {
		if met[criterion] = g.ok && !refused; !met[criterion] && !refused {
			remarks = append(remarks, fmt.Sprintf("%s is %q", criterion, g.got))
		}
	}
	slices.Sort(remarks)
	mistaken = !refused && e.Source != s.Want.Source
	if mistaken {
		remarks = append(remarks, fmt.Sprintf("taken for %s, not %s", e.Source, s.Want.Source))
	}
	return met, remarks, refused, mistaken
}

// graded is whether a criterion is met, and what the event says.
type graded struct {
	ok  bool
	got string
}

// grades returns what the specimen asks for, by criterion.
func (s specimen) grades(t *testing.T, e events.Event) map[string]graded {
	t.Helper()
	want, all := s.Want, map[string]graded{}
	if len(want.Title) > 0 {
		missing := func(word string) bool { return !strings.Contains(strings.ToLower(e.Title), strings.ToLower(word)) }
		all["title"] = graded{!slices.ContainsFunc(want.Title, missing), e.Title}
	}
	if want.Severity != "" {
		all["severity"] = graded{want.Severity == string(e.Severity), string(e.Severity)}
	}
	if want.Status != nil {
		all["status"] = graded{*want.Status == string(e.Status), string(e.Status)}
	}
	if want.Category != "" {
		all["category"] = graded{matchesWildcard(want.Category, e.Category), e.Category}
	}
	if want.Link != "" {
		has := slices.ContainsFunc(e.Links, func(l events.Link) bool { return l.URL == want.Link })
		all["link"] = graded{has, fmt.Sprint(e.Links)}
	}
	if want.Fingerprint {
		all["fingerprint"] = graded{e.Fingerprint != "", e.Fingerprint}
	}
	if want.Resolves != "" {
		firing := readSpecimen(t, filepath.Join(filepath.Dir(s.file), want.Resolves)).first()
		all["resolve"] = graded{
			e.Fingerprint != "" && e.Fingerprint == firing.Fingerprint && e.ID != firing.ID,
			fmt.Sprintf("%s (%s) of %s (%s)", e.Fingerprint, e.ID, firing.Fingerprint, firing.ID),
		}
	}
	return all
}

// first returns the first event of a specimen, an empty one if it is refused.
func (s specimen) first() events.Event {
	all, err := s.decode()
	if err != nil || len(all) == 0 {
		return events.Event{}
	}
	return all[0]
}

func matchesWildcard(pattern, text string) bool {
	inner, before := strings.CutPrefix(pattern, "*")
	inner, after := strings.CutSuffix(inner, "*")
	switch {
	case before && after:
		return strings.Contains(text, inner)
	case before:
		return strings.HasSuffix(text, inner)
	case after:
		return strings.HasPrefix(text, inner)
	default:
		return text == pattern
	}
}

func readSpecimen(t *testing.T, file string) specimen {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	s := specimen{file: file, sender: filepath.Base(filepath.Dir(file))}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&s), file)
	require.NotEmpty(t, s.Want.Source, file)
	return s
}

// points are the points reached, of those that can be reached.
type points struct{ reached, possible int }

func (p *points) add(other points) { p.reached += other.reached; p.possible += other.possible }

func (p *points) percent() float64 { return 100 * float64(p.reached) / float64(max(p.possible, 1)) }

func (p *points) String() string {
	if p.possible == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", p.reached, p.possible)
}

// total is the sum of some senders: the points by criterion, and the webhooks that were refused or taken for another source.
type total struct {
	points            map[string]*points
	refused, mistaken int
}

func (sum *total) add(met map[string]bool, refused, mistaken bool) {
	if sum.points == nil {
		sum.points = map[string]*points{}
		for _, c := range append([]string{"all"}, criteria...) {
			sum.points[c] = &points{}
		}
	}
	for criterion, ok := range met {
		p := points{possible: 1}
		if ok {
			p.reached = 1
		}
		sum.points[criterion].add(p)
		sum.points["all"].add(p)
	}
	if refused {
		sum.refused++
	}
	if mistaken {
		sum.mistaken++
	}
}

func (sum *total) row(w *tabwriter.Writer, name string) {
	if sum == nil || sum.points == nil {
		return
	}
	fmt.Fprint(w, name)
	for _, c := range criteria {
		fmt.Fprintf(w, "\t%s", sum.points[c])
	}
	fmt.Fprintf(w, "\t%s\t%.0f %%\t%d\t%d\n", sum.points["all"], sum.points["all"].percent(), sum.refused, sum.mistaken)
}

// TestCorpusOfWebhooksIsUnderstood grades the corpus, and prints a table of the points by sender and criterion.
func TestCorpusOfWebhooksIsUnderstood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/corpus/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	sums := map[string]*total{}
	var senders []string
	for _, file := range files {
		s := readSpecimen(t, file)
		met, remarks, refused, mistaken := s.grade(t)
		kind, part := "known", "tuned"
		if s.Want.Source == "generic" {
			kind = "unknown"
		}
		if s.isAside() {
			part = "aside"
		}
		row := fmt.Sprintf("%s %s %s", kind, part, s.sender)
		if sums[row] == nil {
			senders = append(senders, row)
		}
		for _, name := range []string{row, kind, kind + " " + part} {
			if sums[name] == nil {
				sums[name] = &total{}
			}
			sums[name].add(met, refused, mistaken)
		}
		if len(remarks) > 0 && part == "tuned" {
			t.Logf("%s/%s: %s", s.sender, filepath.Base(file), strings.Join(remarks, "; "))
		}
	}
	slices.SortFunc(senders, cmp.Compare)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "sender\t%s\tall\t\trefused\tmistaken\n", strings.Join(criteria, "\t"))
	for _, name := range append(senders, "known tuned", "known aside", "known", "unknown tuned", "unknown aside", "unknown") {
		sums[name].row(w, name)
	}
	require.NoError(t, w.Flush())
	t.Log("\n" + table.String())
	for kind, want := range map[string]float64{"known": wantKnown, "unknown": wantUnknown} {
		if sums[kind] == nil {
			continue
		}
		require.GreaterOrEqual(t, sums[kind].points["all"].percent(), want, "percent of the points of %s senders", kind)
		require.LessOrEqual(t, sums[kind].refused, mayBeRefused, "webhooks of %s senders that are refused", kind)
		require.LessOrEqual(t, sums[kind].mistaken, mayBeMistaken, "webhooks of %s senders that are taken for another source", kind)
	}
}

// Webhooks of senders without a source of their own, if there is a folder of them: <folder>/<sender>/*.json, each with its headers
// in a file beside it, if any.
func TestForeignPayloadsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"FOREIGN_DIR", "PAYLOADS_DIR"} {
		root := os.Getenv(variable) //nolint:forbidigo // a folder of test data is no configuration of the product
		if root == "" {
			t.Log(variable + " is not set: no foreign payloads at hand")
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, "*", "*.json"))
		require.NoError(t, err)
		for _, file := range files {
			w := foreignWebhook(t, file)
			all, err := events.Decode(w)
			if err != nil {
				if json.Valid(w.Body) && !unreadable[filepath.Base(file)] {
					t.Errorf("%s: %v", file, err)
				}
				continue
			}
			for _, e := range all {
				require.NotEmpty(t, e.Title, file)
				require.NotRegexp(t, `[0-9a-f]{8}-[0-9a-f]{4}-|[0-9]{8}`, e.Category, "%s: the category is not bounded", file)
				t.Logf("%-60s %-12s %-8s %-8s %-40s %-30s %v | %.140s", strings.TrimPrefix(file, root), e.Source, e.Severity, e.Status, e.Category,
					e.Fingerprint, e.Links, e.Title)
			}
		}
	}
}

func foreignWebhook(t *testing.T, file string) events.Webhook {
	t.Helper()
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	w := events.Webhook{Body: body, Header: http.Header{}}
	lines, _ := os.ReadFile(strings.TrimSuffix(file, ".json") + ".headers") // most have none
	for line := range strings.Lines(string(lines)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			w.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return w
}
