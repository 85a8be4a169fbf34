package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"slackrelay/store"
)

// errFaultsContended is a document that other replicas change all the time.
var errFaultsContended = errors.New("the documents of destinations change all the time")

// read reads all faults.
func (d *Destinations) read(ctx context.Context) error {
	const page = 500
	all := destinationFaults{}
	for after := ""; ; {
		_, documents, err := d.opts.Documents.ListProblems(ctx, destinationsScope, faultPrefix, after, page)
		if err != nil {
			return err //nolint:wrapcheck // the store says what failed
		}
		if len(documents) == 0 {
			break
		}
		for _, document := range documents {
			var fault DestinationFault
			if json.Unmarshal(document.Data, &fault) == nil { // else a newer version wrote it
				all[document.Name] = fault
			}
		}
		after = documents[len(documents)-1].Name
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults, d.readAt = all, time.Now()
	return nil
}

// savedAtOnce is how many documents are written with one call.
const savedAtOnce = 100

// save writes faults, or deletes those that are nil, and returns the names of those that are new.
func (d *Destinations) save(ctx context.Context, changes map[string]*DestinationFault, keep time.Duration) (added []string, err error) {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(changes)), savedAtOnce) {
		more, err := d.saveSome(ctx, some, changes, keep)
		if err != nil {
			return added, err
		}
		added = append(added, more...)
	}
	d.apply(changes)
	return added, nil
}

func (d *Destinations) saveSome(
	ctx context.Context, names []string, changes map[string]*DestinationFault, keep time.Duration,
) (added []string, err error) {
	const attempts = 5
	for range attempts {
		_, documents, err := d.opts.Documents.Problems(ctx, destinationsScope, names)
		if err != nil {
			return nil, err //nolint:wrapcheck // the store says what failed
		}
		added = nil
		var wanted []store.ProblemChange
		for _, document := range documents {
			fault := changes[document.Name]
			change := store.ProblemChange{Name: document.Name, Version: document.Version}
			switch {
			case fault == nil && document.Version == 0:
				continue
			case fault != nil:
				change.Data, _ = json.Marshal(fault) //nolint:errchkjson // texts
				change.Keep = keep
				if document.Version == 0 {
					added = append(added, document.Name)
				}
			}
			wanted = append(wanted, change)
		}
		if len(wanted) == 0 {
			return nil, nil
		}
		saved, err := d.opts.Documents.SaveProblems(ctx, destinationsScope, wanted, store.ProblemCounts{})
		if err != nil {
			return nil, err //nolint:wrapcheck // the store says what failed
		}
		if saved {
			return added, nil
		}
	}
	return nil, errFaultsContended
}

// apply changes what this process knows.
func (d *Destinations) apply(changes map[string]*DestinationFault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := maps.Clone(d.faults)
	if all == nil {
		all = destinationFaults{}
	}
	for name, fault := range changes {
		if fault == nil {
			delete(all, name)
		} else {
			all[name] = *fault
		}
	}
	d.faults = all
}

// checkState is what replicas know of the checks of one token's destinations. Times are microseconds of the store's clock.
type checkState struct {
	Of    string            `json:"of"`              // a hash of the destinations
	All   int64             `json:"all"`             // when all of them were checked last
	Last  int64             `json:"last"`            // when some were
	Until int64             `json:"until,omitempty"` // a replica checks until then at most; 0 = none does
	URL   string            `json:"url,omitempty"`   // of the workspace
	IDs   map[string]string `json:"ids,omitempty"`   // of Slack channels, by their names
}

// check is a document of checks as it was loaded.
type check struct {
	checkState

	name    string
	version int64
	now     int64
}

// loadCheck loads what is known of the checks of a token's destinations.
func (d *Destinations) loadCheck(ctx context.Context, workspace string) (*check, error) {
	c := &check{name: checkPrefix + workspace}
	now, documents, err := d.opts.Documents.Problems(ctx, destinationsScope, []string{c.name})
	if err != nil {
		return nil, err //nolint:wrapcheck // the store says what failed
	}
	c.now, c.version = now, documents[0].Version
	if c.version != 0 && json.Unmarshal(documents[0].Data, &c.checkState) != nil {
		c.checkState = checkState{} // a newer version wrote it
	}
	return c, nil
}

// saveCheck saves a check, unless another replica changed it.
func (d *Destinations) saveCheck(ctx context.Context, c *check) (saved bool, err error) {
	data, _ := json.Marshal(c.checkState) //nolint:errchkjson // texts and numbers
	if len(data) > store.MaxProblemBytes {
		c.IDs = nil // each replica finds the ids by itself, with the first message
		data, _ = json.Marshal(c.checkState)
	}
	return d.opts.Documents.SaveProblems(ctx, destinationsScope, []store.ProblemChange{{
		Name: c.name, Version: c.version, Data: data, Keep: keepUnchecked,
	}}, store.ProblemCounts{})
}

// isToken reports whether a document is the fault of a token.
func isToken(name string) bool { return strings.HasPrefix(name, tokenPrefix) }
