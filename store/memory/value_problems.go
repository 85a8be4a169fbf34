package memory

import (
	"cmp"
	"slices"
	"strconv"

	"slackrelay/store"
)

// problems are the documents of a channel.
type problems struct {
	all     map[string]problem
	bytes   int
	version int64       // the newest one
	wakes   []timedName // of the documents with a wake time, earliest first
	ends    []timedName // of the others by when each is forgotten, earliest first
}

// problem is a document.
type problem struct {
	store.Problem
	endsAt int64 // microseconds
}

// hasEnded reports whether the document is as good as absent.
func (p problem) hasEnded(now int64) bool { return p.endsAt <= now }

// bytes is how many bytes Redis keeps: the document, and the three numbers before it.
func (p problem) bytes() int {
	size := len(p.Data)
	for _, n := range []int64{p.Version, p.Wake, p.endsAt} {
		size += len(strconv.FormatInt(n, 10)) + 1
	}
	return size
}

// find returns a document; without a version, it does not exist.
func (p *problems) find(name string, now int64) problem {
	if found := p.all[name]; !found.hasEnded(now) {
		return found
	}
	return problem{}
}

func (p *problems) put(added problem) {
	if p.all == nil {
		p.all = map[string]problem{}
	}
	p.all[added.Name] = added
	p.bytes += added.bytes()
	if added.Wake > 0 {
		p.wakes = withName(p.wakes, timedName{added.Wake, added.Name})
	} else {
		p.ends = withName(p.ends, timedName{added.endsAt, added.Name})
	}
}

func (p *problems) remove(name string) {
	found, ok := p.all[name]
	if !ok {
		return
	}
	delete(p.all, name)
	p.bytes -= found.bytes()
	if found.Wake > 0 {
		p.wakes = withoutName(p.wakes, timedName{found.Wake, name})
	} else {
		p.ends = withoutName(p.ends, timedName{found.endsAt, name})
	}
}

// timedName is the name of a document and a time, microseconds.
type timedName struct {
	at   int64
	name string
}

func compareTimedNames(a, b timedName) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name))
}

// withName returns the sorted names with another one.
func withName(names []timedName, name timedName) []timedName {
	i, _ := slices.BinarySearchFunc(names, name, compareTimedNames)
	return slices.Insert(names, i, name)
}

// withoutName returns the sorted names without one.
func withoutName(names []timedName, name timedName) []timedName {
	i, found := slices.BinarySearchFunc(names, name, compareTimedNames)
	if !found {
		return names
	}
	return slices.Delete(names, i, i+1)
}

// until returns the first names of a time or before, at most most.
func until(names []timedName, at int64, most int) []timedName {
	n := 0
	for n < min(len(names), most) && names[n].at <= at {
		n++
	}
	return names[:n]
}
