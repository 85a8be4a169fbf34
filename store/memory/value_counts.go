package memory

import "maps"

// counts are totals by name: of a ledger, or of an hour. The zero value is empty.
type counts struct{ byName map[string]int64 }

func (c *counts) add(name string, n int64) {
	if c.byName == nil {
		c.byName = map[string]int64{}
	}
	c.byName[name] += n
}

// has reports whether a name was ever counted, even with 0.
func (c *counts) has(name string) bool {
	_, ok := c.byName[name]
	return ok
}

// size is the number of names.
func (c *counts) size() int { return len(c.byName) }

// all returns a copy of the counts. It works on nil.
func (c *counts) all() map[string]int64 {
	all := map[string]int64{}
	if c != nil {
		maps.Copy(all, c.byName)
	}
	return all
}
