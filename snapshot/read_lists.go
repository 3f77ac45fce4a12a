package snapshot

import (
	"math/bits"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// maxPages is how many pages there are.
const maxPages = MaxEntities / pageEntities

// readList is a list of a payload that is being decoded.
type readList struct {
	ref, near tick.Tick // R and N; tick.None: no N
	records   []spot    // of R, by index
	nears     []spot    // of N, those of lower indexes taken away
}

// decodeLists reads the records about entities of which there were records of earlier ticks.
func (r *Replica) decodeLists(b *wire.BitReader, s tick.Tick) error {
	age := b.Var()
	if b.Failed() || age+1 >= uint64(s) {
		return r.malformed()
	}
	r.stage.upTo = s - tick.Tick(age) - 1
	for next := uint32(0); b.Bool(); {
		var l readList
		back, near, skip := uint64(0), uint64(1), uint64(0)
		if !b.Bool() {
			if back, near, skip = b.Var(), b.Var(), b.Var(); back == 0 && near == 1 && skip == 0 {
				return r.malformed() // that has a code of its own
			}
		}
		if b.Failed() || back >= uint64(r.stage.upTo) || near > mostNear || skip >= maxPages {
			return r.malformed()
		}
		l.ref = r.stage.upTo - tick.Tick(back)
		if near > 0 {
			if l.near = l.ref - tick.Tick(near); l.near <= tick.None || s-l.near >= r.window {
				return r.malformed()
			}
		}
		// That there is no record of a tick from before Lose does not tell that none came.
		if l.ref <= r.lostAt || near > 0 && l.near <= r.lostAt {
			return r.noBaseline()
		}
		var ok bool
		if l.records, ok = r.past.spots(l.ref); !ok {
			return r.noBaseline()
		}
		if near > 0 {
			if l.nears, ok = r.past.spots(l.near); !ok {
				return r.noBaseline()
			}
		}
		if next += uint32(skip); next >= maxPages {
			return r.malformed()
		}
		if l.records = fromPage(l.records, next); len(l.records) == 0 || l.records[0].index/pageEntities != next {
			return r.malformed()
		}
		l.nears = fromPage(l.nears, next)
		if err := r.decodeList(b, s, &l, &next); err != nil {
			return err
		}
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// fromPage returns the records of a page and those behind it.
func fromPage(records []spot, page uint32) []spot {
	low, high := 0, len(records)
	for low < high {
		if middle := (low + high) / 2; records[middle].index < page*pageEntities {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return records[low:]
}

// decodeList reads the pages of a list. next becomes the page behind the last one.
func (r *Replica) decodeList(b *wire.BitReader, s tick.Tick, l *readList, next *uint32) error {
	for first := true; ; first = false {
		all := b.Bool()
		some := !all && b.Bool()
		if !all && !some && !b.Bool() { // the end
			if first || b.Failed() {
				return r.malformed()
			}
			return nil
		}
		if len(l.records) == 0 || first && !all && !some {
			return r.malformed()
		}
		n, page := 1, l.records[0].index/pageEntities
		for n < len(l.records) && l.records[n].index/pageEntities == page {
			n++
		}
		of := l.records[:n]
		r.stage.batch.first = -1
		l.records, *next = l.records[n:], page+1
		var err error
		switch {
		case all:
			for i := range of {
				if err = r.decodePlaced(b, s, l, of, i); err != nil {
					return err
				}
			}
		case some:
			err = r.decodeSome(b, s, l, of)
		}
		if err != nil {
			return err
		}
	}
}

// decodeSome reads the records of some entities of a page.
func (r *Replica) decodeSome(b *wire.BitReader, s tick.Tick, l *readList, of []spot) error {
	context, symbol, n := afterAll, fourNone, 0
	for at := 0; at < len(of); at += fourSize {
		if symbol = r.schema.codes.four.Read(b, context); symbol == fourNone {
			break
		}
		if context = afterFour(symbol); at+bits.Len(uint(symbol)) > len(of) {
			return r.malformed()
		}
		for m := symbol; m != 0; m, n = m&(m-1), n+1 {
			if err := r.decodePlaced(b, s, l, of, at+bits.TrailingZeros(uint(m))); err != nil {
				return err
			}
		}
	}
	if b.Failed() || context == afterNone || n == 0 || n == len(of) {
		return r.malformed() // empty fours at the end are left out, and another code tells of none and of all
	}
	return nil
}

// decodeListed reads a record about an entity of a list: against R, and where N is named against the record of that, if it has
// the same rows; else against what the record of R was coded against.
func (r *Replica) decodeListed(b *wire.BitReader, s tick.Tick, l *readList, at spot) error {
	t := &r.stage.leant
	if !r.leanAgain(l.ref, at.index, at.place) {
		*t = lent{}
		if t.base = r.baseline(at.index, l.ref); t.base.life < 0 || t.base.version == nil {
			return r.noBaseline()
		}
		t.mask = t.base.version.mask
	}
	v := r.stage.add(s, at.index, t.base.version.generation)
	v.base, v.basePlace, v.mask = t.base.tick, t.base.place, t.mask
	if l.near != tick.None {
		for len(l.nears) > 0 && l.nears[0].index < at.index {
			l.nears = l.nears[1:]
		}
		if len(l.nears) > 0 && l.nears[0].index == at.index {
			base := t.base.version
			if w := r.versionAt(l.near, l.nears[0]); w != nil && w.life == base.life && w.mask == base.mask {
				t.before, t.nearer = w, true
			}
		}
		return r.decodeRows(b, v)
	}
	if err := r.findBefore(s); err != nil {
		return err
	}
	return r.decodeRows(b, v)
}

// versionAt returns the version that a record of a tick made.
func (r *Replica) versionAt(t tick.Tick, at spot) *version {
	if at.place >= 0 {
		return r.past.at(versionRef{tick: t, place: at.place})
	}
	return r.baseline(at.index, t).version
}
