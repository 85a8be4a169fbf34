package problem

import (
	"encoding/json"
	"fmt"
)

// Kept is an event that is kept from being posted for now: it waits in the document of its problem.
type Kept struct {
	By    string // what keeps it: "hold", "flapping" or "inhibition <name>"
	Why   string // a sentence for people
	Since int64  // microseconds
	Until int64  // when it is posted, or the state of its alert, if nothing happens before; 0 = nobody knows
	Data  json.RawMessage
}

// Kept returns the event that a document keeps; false = it keeps none.
func (d *Document) Kept(s Settings) (Kept, bool) {
	switch {
	case d.Held != nil:
		return Kept{
			By: ByHold, Since: d.Held.Since, Until: d.Held.Until, Data: d.Held.Data,
			Why: fmt.Sprintf("it is held for %s, and posted then unless the alert resolves before",
				rounded(d.Held.Until-d.Held.Since)),
		}, true
	case d.Muted != nil:
		return Kept{
			By: ByInhibition + d.Muted.By, Since: d.Muted.Since, Data: d.Muted.Data,
			Why: fmt.Sprintf("inhibition %q mutes it while its source fires; if it still fires afterwards, it is posted", d.Muted.By),
		}, true
	case d.Quiet != nil:
		return Kept{
			By: ByFlapping, Since: d.Quiet.Since, Until: d.Quiet.ChangedAt + s.Flapping.Stable.Microseconds(), Data: d.Quiet.Data,
			Why: fmt.Sprintf("the alert is flapping, with %d more %s since then; its state is posted when it has been stable for %s",
				d.Quiet.Kept, plural(d.Quiet.Kept, "change"), short(s.Flapping.Stable)),
		}, true
	default:
		return Kept{}, false
	}
}
