package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
)

// version is an entity as one decoded record left it: all its rows as of the
// record's tick, stored with the record and never found by a search by tick
// (rule 2). It takes one line of a processor's cache.
type version struct {
	life       int32 // whom it is of
	generation uint32
	first      int32     // its lanes' place in the block, rows in ascending order
	basePlace  int32     // of T′ in the block of its tick, -1 when there was no version any more
	tick       tick.Tick // T
	base       tick.Tick // T′, what the record leant on; tick.None when absolute
	mask       Mask
	moved      Mask       // rows that the record said to differ from T′
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
	listed   []listSpan // whom its payloads spoke of, part after part
	count    int        // how many they are
	parts    []listPart
	runs     []run // whose versions are still to be put together
	memory   *blockMemory
}

// maxListedAt bounds what the lists of one tick hold.
const maxListedAt = 1 << 17

// listSpan is entities of a list, one behind the other by index, and by place. A place
// of -1 is none.
type listSpan struct {
	index uint32
	place int32
	n     int32
}

// listPart is where the list of one payload of a tick lies.
type listPart struct{ part, first, end int32 }

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

	listed []uint32 // the list that was asked for last, one by one
	places []int32
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
	if len(b.runs) > 0 {
		b.settle()
	}
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
	b.listed, b.count, b.parts = b.listed[:0], 0, b.parts[:0]
	b.runs = b.runs[:0]
	b.over.clear()
}

// enter adds a run that took effect to those whose versions are not put together.
func (b *block) enter(u *run) {
	if n := len(b.runs) - 1; n >= 0 {
		last := &b.runs[n]
		if last.prev.tick == u.prev.tick && last.prev.place+int32(last.n) == u.prev.place && last.goesOn(u) {
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
	for i := range b.runs {
		for u := &b.runs[i]; u.n > 0; u.skip(1) {
			u.version(&b.versions[u.place], b.tick)
		}
	}
	b.runs = b.runs[:0]
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

// open begins the list of a payload.
func (b *block) open(part int) {
	if len(b.parts) >= maxParts {
		b.parts = b.parts[:maxParts-1]
	}
	b.parts = append(room(b.parts, 1, usualParts), listPart{part: int32(part), first: int32(len(b.listed)), end: int32(len(b.listed))})
}

// fits reports whether noteLone has room for n entities.
func (b *block) fits(n int) bool {
	return cap(b.versions)-len(b.versions) >= n && len(b.parts) < min(cap(b.parts), maxParts) && len(b.listed) < cap(b.listed) && b.count+n <= maxListedAt
}

// noteLone is open, and noteRun of all that the payload is about, whose versions come last.
func (b *block) noteLone(part int, index uint32, n int) {
	place, k, at := len(b.versions), len(b.parts), len(b.listed)
	b.versions, b.parts, b.listed = b.versions[:place+n], b.parts[:k+1], b.listed[:at+1]
	b.parts[k] = listPart{part: int32(part), first: int32(at), end: int32(at) + 1}
	b.listed[at] = listSpan{index: index, place: int32(place), n: int32(n)}
	b.count += n
}

// note adds to the list of the payload that was opened last. No honest server
// comes near the most that a tick's lists may hold.
func (b *block) note(index uint32, place int32) {
	b.noteRun(index, place, 1)
}

// noteRun is note for entities one behind the other, whose versions lie so too.
func (b *block) noteRun(index uint32, place int32, n int) {
	if n = min(n, maxListedAt-b.count); n <= 0 {
		return
	}
	b.count += n
	p := &b.parts[len(b.parts)-1]
	if p.end > p.first && place >= 0 {
		if last := &b.listed[p.end-1]; last.place >= 0 && last.index+uint32(last.n) == index && last.place+last.n == place {
			last.n += int32(n)
			return
		}
	}
	m := &b.memory.listed
	b.listed = append(moved(m, b.listed, m.grow(b.listed, 1, usualSpans), nil), listSpan{index: index, place: place, n: int32(n)})
	p.end++
}

// list is the entities of a payload that was decoded, in its order, and the
// places of what it said of them, -1 where it said nothing new. They are good
// until the next call.
func (p *past) list(t tick.Tick, part int) (list []uint32, places []int32, ok bool) {
	if t <= p.horizon {
		return nil, nil, false
	}
	b := p.block(t)
	if b.tick != t {
		return nil, nil, false
	}
	for _, l := range b.parts {
		if int(l.part) == part {
			p.spell(b.listed[l.first:l.end])
			return p.listed, p.places, true
		}
	}
	return nil, nil, false
}

// spell lists entities one by one.
func (p *past) spell(list []listSpan) {
	p.listed, p.places = p.listed[:0], p.places[:0]
	for _, s := range list {
		for i := range s.n {
			p.listed = append(p.listed, s.index+uint32(i))
			p.places = append(p.places, s.place+i)
		}
	}
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
