package netecs

import "github.com/arche-netcode/netcode/snapshot"

// Mostly a run has to write what the one before had: the same entities, which are one stretch, where they were. Then nothing is looked up and
// nothing listed again. What is another is the tick, and where its lanes begin.

// repeats reports whether what is to be written is what the lists have since the run before, which was a flow. Nobody's place has changed since.
func (a *Apply) repeats() bool {
	spans := a.replica.ChangedSpans()
	if !a.writing.lone || len(a.legs) != 1 || len(spans) != 1 {
		return false
	}
	l := &a.legs[0]
	if spans[0] != (snapshot.Span{First: l.berth.index, Count: l.berth.n}) {
		return false
	}
	var s snapshot.Stretch
	if !a.stretch(&s, l.berth.index, l.berth.n) || s.Count != l.berth.n || s.Generation != l.berth.generation || s.Mask != l.berth.mask {
		return false
	}
	l.stretch = s
	return true
}

// renew makes lists that are one stretch those of another tick.
func (w *writing) renew(l *leg) {
	w.parcels[0].tick = l.stretch.Tick
	first, list := l.stretch.First, w.byTable[l.berth.table]
	for i := range list {
		d := &list[i]
		d.first, d.rows, d.detail = first, 0, 0
		first += d.n * l.stretch.Width
	}
	w.details = w.details[:0]
}
