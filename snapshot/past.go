package snapshot

import (
	"cmp"
	"slices"

	"github.com/arche-netcode/netcode/tick"
)

// version is an entity as one decoded record left it: all its rows as of the
// record's tick, stored with the record and never found by a search by tick
// (rule 2).
type version struct {
	life       int32 // whom it is of
	generation uint32
	first      int32     // its lanes' place in the block, rows in ascending order
	basePlace  int32     // of T′ in the block of its tick, -1 when there was no version any more
	tick       tick.Tick // T
	base       tick.Tick // T′, what the record leant on; tick.None when absolute
	mask       Mask
	prev       versionRef // the version before of the same life
}

// versionRef names a version: its tick and its place in that tick's block.
// The zero value names none.
type versionRef struct {
	tick  tick.Tick
	place int32
}

// block holds the versions of one tick. Its slices are reused.
type block struct {
	tick     tick.Tick
	versions []version
	over     followed
	lanes    []uint32
	listed   []listSpan // the entities that its payloads had records of, in their order
	count    int        // how many they are
	spans    []listSpan // the same by index, each entity once, as of when somebody asked
	sorted   int        // how many they were then
	runs     []run      // by place
	settled  int        // of the runs, from the first on: whose versions are put together
	memory   *blockMemory
}

// maxListedAt bounds what the lists of one tick hold.
const maxListedAt = 1 << 17

// listSpan is records of entities one behind the other by index, whose versions lie in the block of their tick one behind the other too. A
// place of -1 is none: they made no versions.
type listSpan struct {
	index uint32
	place int32
	n     int32
}

func (s *listSpan) end() uint32 { return s.index + uint32(s.n) }

// past is the client's history: a ring of ticks. Versions leave it by tick
// only, never with the entity (rules 4 and 7).
type past struct {
	schema  *Schema
	shapes  *shapes
	blocks  []*block // by tick modulo length, a power of two above the retention
	none    *block   // in the place of those that have left
	spare   block    // for a payload whose tick has no block yet
	left    []*block // memory of those that have left, the last of them still in the cache
	memory  *blockMemory
	keep    tick.Tick
	horizon tick.Tick // versions at or before it have left
}

// spareTicks is how much longer versions are kept than anything can lean on
// them. Of those that are followed within as many ticks, by one with the same
// rows, nothing has then to remain when they leave: that one says as much.
const spareTicks = 4

// newPast keeps versions for keep ticks, and those of the keep ticks before start.
func newPast(schema *Schema, shapes *shapes, keep, start tick.Tick) past {
	size := 1
	for size <= int(keep) {
		size *= 2
	}
	none, memory := new(block), new(blockMemory)
	return past{
		memory: memory, spare: block{memory: memory},
		schema: schema, shapes: shapes, blocks: slices.Repeat([]*block{none}, size), none: none,
		keep: keep, horizon: max(start-keep, tick.None),
	}
}

func (p *past) block(t tick.Tick) *block { return p.blocks[int(t)&(len(p.blocks)-1)] }

// at returns the version a ref names, nil when it has left or names none.
func (p *past) at(ref versionRef) *version {
	if ref.tick <= p.horizon {
		return nil
	}
	b := p.block(ref.tick)
	b.settle()
	return &b.versions[ref.place]
}

// lanes is all rows of a version.
func (p *past) lanes(v *version) []uint32 {
	return p.block(v.tick).lanes[v.first:][:p.shapes.of(v.mask).lanes]
}

// row is the lanes of one row of a version that has it.
func (p *past) row(v *version, row int) []uint32 {
	return p.shapes.of(v.mask).row(p.lanes(v), row)
}

// of is the block of a tick inside the retention, emptied of an earlier one.
func (p *past) of(t tick.Tick) *block {
	b := p.block(t)
	if b.tick == t {
		return b
	}
	if b == p.none {
		if n := len(p.left) - 1; n >= 0 {
			b, p.left = p.left[n], p.left[:n]
		} else {
			b = &block{memory: p.memory}
		}
		p.blocks[int(t)&(len(p.blocks)-1)] = b
	}
	b.empty(t)
	return b
}

// empty makes a block one of a tick of which there is nothing yet.
func (b *block) empty(t tick.Tick) {
	b.tick = t
	b.versions, b.lanes = b.versions[:0], b.lanes[:0]
	b.listed, b.count, b.sorted = b.listed[:0], 0, 0
	b.runs, b.settled = b.runs[:0], 0
	b.over.clear()
}

// enter adds a run that took effect.
func (b *block) enter(u *run) {
	if n := len(b.runs) - 1; n >= b.settled {
		last := &b.runs[n]
		k := int32(last.n)
		if last.prev.tick == u.prev.tick && last.prev.place+k == u.prev.place && last.base == u.base &&
			(u.base == tick.None || last.basePlace+k == u.basePlace) && last.goesOn(u) {
			last.n += u.n
			return
		}
	}
	b.addRun(u)
}

func (b *block) addRun(u *run) {
	m := &b.memory.runs
	b.runs = append(moved(m, b.runs, m.grow(b.runs, 1, usualParts), nil), *u)
}

// settle puts together the versions of runs.
func (b *block) settle() {
	for ; b.settled < len(b.runs); b.settled++ {
		for u := b.runs[b.settled]; u.n > 0; u.skip(1) {
			u.version(&b.versions[u.place], b.tick)
		}
	}
}

// runAt returns what is left of a run from the version of a place on. It is false where that is in none.
func (b *block) runAt(place int32) (u run, ok bool) {
	low, high := 0, len(b.runs)
	for low < high {
		if middle := (low + high) / 2; b.runs[middle].place+int32(b.runs[middle].n) <= place {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(b.runs) || b.runs[low].place > place {
		return u, false
	}
	u = b.runs[low]
	u.skip(int(place - u.place))
	return u, true
}

// begin is the block that the lanes of a payload of tick t are decoded into,
// behind those that it has. Nothing knows of them before the payload counts.
func (p *past) begin(t tick.Tick) *block {
	if b := p.block(t); b.tick == t || b.tick <= p.horizon {
		return p.of(t)
	}
	p.spare.empty(t) // the block's ticks have not left yet: they do when this payload counts
	return &p.spare
}

// enter is the block of the tick of a payload that counts, which begin gave a
// place for.
func (p *past) enter(t tick.Tick, begun *block) *block {
	b := p.of(t)
	if b != begun {
		b.lanes, begun.lanes = begun.lanes, b.lanes
		b.versions, begun.versions = begun.versions, b.versions
	}
	return b
}

// note adds a record to those of the tick. No honest server comes near the most that these may be.
func (b *block) note(index uint32, place int32) {
	b.noteRun(index, place, 1)
}

// noteRun is note for entities one behind the other, whose versions lie so too.
func (b *block) noteRun(index uint32, place int32, n int) {
	if n = min(n, maxListedAt-b.count); n <= 0 {
		return
	}
	b.count += n
	if k := len(b.listed) - 1; k >= 0 && place >= 0 {
		if last := &b.listed[k]; last.place >= 0 && last.index+uint32(last.n) == index && last.place+last.n == place {
			last.n += int32(n)
			return
		}
	}
	m := &b.memory.listed
	b.listed = append(moved(m, b.listed, m.grow(b.listed, 1, usualSpans), nil), listSpan{index: index, place: place, n: int32(n)})
}

// spans returns the records of a tick that were decoded, by index. They are good until the next payload counts.
func (p *past) spans(t tick.Tick) (records []listSpan, ok bool) {
	if t <= p.horizon {
		return nil, false
	}
	b := p.block(t)
	if b.tick != t {
		return nil, false
	}
	if b.sorted < b.count {
		b.sort()
	}
	return b.spans, true
}

// sort lists the records of a block by index, each entity once.
func (b *block) sort() {
	b.sorted = b.count
	b.roomForSpans(len(b.listed))
	b.spans = append(b.spans, b.listed...)
	if ascending(b.spans) {
		return
	}
	byIndex := func(x, y listSpan) int {
		if c := cmp.Compare(x.index, y.index); c != 0 {
			return c
		}
		return cmp.Compare(y.place, x.place) // what made a version first
	}
	if slices.SortFunc(b.spans, byIndex); ascending(b.spans) {
		return
	}
	b.roomForSpans(b.count) // an entity had several records
	for _, s := range b.listed {
		for i := range s.n {
			place := s.place
			if place >= 0 {
				place += i
			}
			b.spans = append(b.spans, listSpan{index: s.index + uint32(i), place: place, n: 1})
		}
	}
	slices.SortFunc(b.spans, byIndex)
	b.spans = slices.CompactFunc(b.spans, func(x, y listSpan) bool { return x.index == y.index })
}

// roomForSpans empties the spans and makes room for n.
func (b *block) roomForSpans(n int) {
	m := &b.memory.spans
	b.spans = moved(m, b.spans, m.grow(b.spans[:0], n, usualSpans), nil)
}

// ascending reports whether spans are in ascending order of index and do not overlap.
func ascending(spans []listSpan) bool {
	for i := 1; i < len(spans); i++ {
		if spans[i].index < spans[i-1].end() {
			return false
		}
	}
	return true
}

// advance moves the horizon for a newest tick and hands every version that
// leaves, oldest tick first, to what remains.
func (p *past) advance(newest tick.Tick, to *olds) {
	horizon := newest - p.keep
	if horizon <= p.horizon {
		return
	}
	// Everything held is of the ticks just above the horizon, however far the
	// newest tick jumps.
	for t := p.horizon + 1; t <= min(horizon, p.horizon+p.keep); t++ {
		b := p.block(t)
		if b.tick != t {
			continue
		}
		b.remain(to)
		b.leave()
		p.left = append(p.left, b)
		p.blocks[int(t)&(len(p.blocks)-1)] = p.none
	}
	p.horizon = horizon
}

// leave gives back memory of which the tick used little.
func (b *block) leave() {
	m := b.memory
	b.versions, b.lanes = m.versions.leave(b.versions), m.lanes.leave(b.lanes)
	b.listed, b.runs = m.listed.leave(b.listed), m.runs.leave(b.runs)
	b.spans = m.spans.leave(b.spans)
}

// remain hands what may be asked for of a block that leaves to what remains. Of a
// version that was followed soon nothing is: the other is as old as twice the
// window by then, and of what the server still leans on nothing changed between
// the two.
func (b *block) remain(to *olds) {
	if b.over.n == len(b.versions) {
		return
	}
	b.settle()
	for i := range b.versions {
		if v := &b.versions[i]; !b.over.has(uint32(i)) {
			to.take(v, b.lanes[v.first:])
		}
	}
}

// follow notes that n versions, from the one of a place on, were followed.
func (b *block) follow(place int32, n int) { b.over.add(uint32(place), n, len(b.versions)) }
