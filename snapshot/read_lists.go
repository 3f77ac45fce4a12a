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
	ref, near tick.Tick  // R and N; tick.None: no N
	records   []listSpan // of R, by index, those of lower indexes taken away
	nears     []listSpan // of N, likewise
	part      listPart   // where the last record was
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
		if l.records, ok = r.past.spans(l.ref); !ok {
			return r.noBaseline()
		}
		if near > 0 {
			if l.nears, ok = r.past.spans(l.near); !ok {
				return r.noBaseline()
			}
		}
		if next += uint32(skip); next >= maxPages {
			return r.malformed()
		}
		l.records, l.nears = fromPage(l.records, next), fromPage(l.nears, next)
		if len(l.records) == 0 || l.records[0].index >= (next+1)*pageEntities {
			return r.malformed()
		}
		if err := r.decodeList(b, s, &l, &next); err != nil {
			return err
		}
	}
	if b.Failed() {
		return r.malformed()
	}
	return nil
}

// fromPage takes away the records of entities before a page.
func fromPage(records []listSpan, page uint32) []listSpan {
	low, high := 0, len(records)
	for low < high {
		if middle := (low + high) / 2; records[middle].end() <= page*pageEntities {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return records[low:]
}

// ofPage returns the first page from one on of which there are records of R, and of which entities; of none where there is no such page.
func (l *readList) ofPage(from uint32) (page uint32, of uint64) {
	if l.records = fromPage(l.records, from); len(l.records) == 0 {
		return 0, 0
	}
	page = max(l.records[0].index/pageEntities, from)
	for i := range l.records {
		s := &l.records[i]
		first, end := max(s.index, page*pageEntities), min(s.end(), (page+1)*pageEntities)
		if first >= end {
			break
		}
		of |= ^uint64(0) >> (64 - (end - first)) << (first % pageEntities)
	}
	return page, of
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
		page, of := l.ofPage(*next)
		if of == 0 || first && !all && !some {
			return r.malformed()
		}
		*next = page + 1
		var err error
		switch {
		case all:
			for ; of != 0; of &= of - 1 {
				if err = r.decodePlaced(b, s, l, page*pageEntities+uint32(bits.TrailingZeros64(of))); err != nil {
					return err
				}
			}
		case some:
			err = r.decodeSome(b, s, l, page, of)
		}
		if err != nil {
			return err
		}
	}
}

// decodeSome reads the records of some entities of a page, of those of a set.
func (r *Replica) decodeSome(b *wire.BitReader, s tick.Tick, l *readList, page uint32, of uint64) error {
	context, symbol, n, most := afterAll, fourNone, 0, bits.OnesCount64(of)
	for of != 0 {
		if symbol = r.schema.codes.four.Read(b, context); symbol == fourNone {
			break
		}
		if context = afterFour(symbol); bits.Len(uint(symbol)) > bits.OnesCount64(of) {
			return r.malformed()
		}
		for k := 0; k < fourSize && of != 0; k, of = k+1, of&(of-1) {
			if symbol>>k&1 == 0 {
				continue
			}
			if err := r.decodePlaced(b, s, l, page*pageEntities+uint32(bits.TrailingZeros64(of))); err != nil {
				return err
			}
			n++
		}
	}
	if b.Failed() || context == afterNone || n == 0 || n == most {
		return r.malformed() // empty fours at the end are left out, and another code tells of none and of all
	}
	return nil
}

// spanAt takes away the records of entities before one and returns where the version of that one lies, and how many there are of which the same is so from
// there on. It is false where there is no record, and n is then of how many there is none.
func spanAt(records *[]listSpan, index uint32) (place int32, n uint32, ok bool) {
	for len(*records) > 0 && (*records)[0].end() <= index {
		*records = (*records)[1:]
	}
	switch list := *records; {
	case len(list) == 0:
		return -1, MaxEntities, false
	case list[0].index > index:
		return -1, list[0].index - index, false
	default:
		s := &list[0]
		if place = s.place; place >= 0 {
			place += int32(index - s.index)
		}
		return place, s.end() - index, true
	}
}

// decodeListed reads a record about an entity of a list: against R, and where N is named against the record of that, if it has
// the same rows; else against what the record of R was coded against.
func (r *Replica) decodeListed(b *wire.BitReader, s tick.Tick, l *readList, index uint32) error {
	t := &r.stage.leant
	place, _, _ := spanAt(&l.records, index)
	if !r.leanAgain(l.ref, index, place) {
		*t = lent{}
		if t.base = r.baseline(index, l.ref); t.base.life < 0 || t.base.version == nil {
			return r.noBaseline()
		}
		t.mask = t.base.version.mask
	}
	v := r.stage.add(s, index, t.base.version.generation)
	v.base, v.basePlace, v.mask = t.base.tick, t.base.place, t.mask
	if l.near != tick.None {
		if place, _, ok := spanAt(&l.nears, index); ok {
			base := t.base.version
			if w := r.versionAt(l.near, index, place); w != nil && w.life == base.life && w.mask == base.mask {
				t.before = w
			}
		}
		return r.decodeRows(b, v)
	}
	if err := r.findBefore(s); err != nil {
		return err
	}
	return r.decodeRows(b, v)
}

// versionAt returns the version that a record of a tick made, -1 being the place where it made none.
func (r *Replica) versionAt(t tick.Tick, index uint32, place int32) *version {
	if place >= 0 {
		return r.past.at(versionRef{tick: t, place: place})
	}
	return r.baseline(index, t).version
}
