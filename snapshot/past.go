package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
)

// version is an entity as one decoded record left it: all its rows as of the
// record's tick, stored with the record and never found by a search by tick
// (rule 2).
type version struct {
	life  int32     // whom it is of
	tick  tick.Tick // T
	base  tick.Tick // T′, what the record leant on; tick.None when absolute
	mask  Mask
	first int // its lanes' place in the block, rows in ascending order
	prev  versionRef
}

// versionRef names a version: its tick and its place in that tick's block.
// The zero value names none.
type versionRef struct {
	tick tick.Tick
	pos  int32
}

// block holds the versions of one tick. Its slices are reused.
type block struct {
	tick     tick.Tick
	versions []version
	lanes    []uint32
	listed   []uint32 // indexes that its payloads spoke of, part after part
	parts    []listPart
}

// maxListedAt bounds what the lists of one tick hold.
const maxListedAt = 1 << 17

// listPart is where the list of one payload of a tick lies.
type listPart struct{ part, first, end int }

// past is the client's history: a ring of ticks. Versions leave it by tick
// only, never with the entity (rules 4 and 7).
type past struct {
	schema  *Schema
	blocks  []block // by tick modulo length, a power of two above the retention
	keep    tick.Tick
	horizon tick.Tick // versions at or before it have left
}

// newPast keeps versions for keep ticks, and those of the keep ticks before start.
func newPast(schema *Schema, keep, start tick.Tick) past {
	size := 1
	for size <= int(keep) {
		size *= 2
	}
	return past{schema: schema, blocks: make([]block, size), keep: keep, horizon: max(start-keep, tick.None)}
}

func (p *past) block(t tick.Tick) *block { return &p.blocks[int(t)&(len(p.blocks)-1)] }

// at returns the version a ref names, nil when it has left or names none.
func (p *past) at(ref versionRef) *version {
	if ref.tick <= p.horizon {
		return nil
	}
	return &p.block(ref.tick).versions[ref.pos]
}

// row is the lanes of one row of a version that has it.
func (p *past) row(v *version, row int) []uint32 {
	n := v.first + p.schema.lanes(v.mask&(bit(row)-1))
	return p.block(v.tick).lanes[n : n+p.schema.plans[row].Lanes()]
}

// add appends a version to the block of its tick, with its lanes, and returns
// its name. The tick must be inside the retention.
func (p *past) add(v version, lanes []uint32) versionRef {
	b := p.of(v.tick)
	v.first = len(b.lanes)
	b.lanes = append(b.lanes, lanes...)
	b.versions = append(b.versions, v)
	return versionRef{tick: v.tick, pos: int32(len(b.versions) - 1)}
}

// of is the block of a tick inside the retention, emptied of an earlier one.
func (p *past) of(t tick.Tick) *block {
	b := p.block(t)
	if b.tick != t {
		*b = block{tick: t, versions: b.versions[:0], lanes: b.lanes[:0], listed: b.listed[:0], parts: b.parts[:0]}
	}
	return b
}

// open begins the list of a payload.
func (p *past) open(t tick.Tick, part int) {
	b := p.of(t)
	if len(b.parts) >= maxParts {
		b.parts = b.parts[:maxParts-1]
	}
	b.parts = append(b.parts, listPart{part: part, first: len(b.listed), end: len(b.listed)})
}

// note adds to the list of the payload that was opened last. No honest server
// comes near the most that a tick's lists may hold.
func (p *past) note(t tick.Tick, index uint32) {
	b := p.of(t)
	if len(b.listed) >= maxListedAt {
		return
	}
	b.listed = append(b.listed, index)
	b.parts[len(b.parts)-1].end++
}

// list is the entities of a payload that was decoded, in its order.
func (p *past) list(t tick.Tick, part int) ([]uint32, bool) {
	if t <= p.horizon {
		return nil, false
	}
	b := p.block(t)
	if b.tick != t {
		return nil, false
	}
	for _, l := range b.parts {
		if l.part == part {
			return b.listed[l.first:l.end], true
		}
	}
	return nil, false
}

// advance moves the horizon for a newest tick and hands every version that
// leaves, oldest tick first, to leave.
func (p *past) advance(newest tick.Tick, leave func(*version)) {
	to := newest - p.keep
	if to <= p.horizon {
		return
	}
	// Everything held is of the ticks just above the horizon, however far the
	// newest tick jumps.
	for t := p.horizon + 1; t <= min(to, p.horizon+p.keep); t++ {
		b := p.block(t)
		if b.tick != t {
			continue
		}
		for i := range b.versions {
			leave(&b.versions[i])
		}
	}
	p.horizon = to
}

// older is what remains of an entity's versions that have left the window: the
// newest of them, and since when each row has had its value, so that a row
// which slept for an hour still has its baseline (rule 4).
type older struct {
	tick  tick.Tick // tick.None when nothing has left yet
	mask  Mask
	since []tick.Tick // per row of mask, in ascending order
	lanes []uint32    // likewise
}

// take makes v, which is newer, what remains.
func (o *older) take(p *past, v *version) {
	lanes := p.block(v.tick).lanes[v.first : v.first+p.schema.lanes(v.mask)]
	var since [MaxRows]tick.Tick
	at, oldAt, i, oldI := 0, 0, 0, 0
	for m := v.mask | o.mask; m != 0; m &= m - 1 {
		row := m.next()
		n, was, is := p.schema.plans[row].Lanes(), o.mask.Has(row), v.mask.Has(row)
		if is {
			since[i] = v.tick
			if was && slices.Equal(o.lanes[oldAt:oldAt+n], lanes[at:at+n]) {
				since[i] = o.since[oldI]
			}
			at, i = at+n, i+1
		}
		if was {
			oldAt, oldI = oldAt+n, oldI+1
		}
	}
	o.tick, o.mask = v.tick, v.mask
	o.since = append(o.since[:0], since[:i]...)
	o.lanes = append(o.lanes[:0], lanes...)
}

// row is the row as of t, if what remains reaches back that far.
func (o *older) row(schema *Schema, row int, t tick.Tick) ([]uint32, bool) {
	if o.tick == tick.None || t > o.tick || !o.mask.Has(row) {
		return nil, false
	}
	before := o.mask & (bit(row) - 1)
	if o.since[before.Count()] > t {
		return nil, false
	}
	n := schema.lanes(before)
	return o.lanes[n : n+schema.plans[row].Lanes()], true
}
