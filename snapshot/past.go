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
	lanes    []uint32
	listed   []uint32 // indexes that its payloads spoke of, part after part
	places   []int32  // of the version of each, -1 where there is none
	parts    []listPart
	runs     []run  // whose versions are still to be put together
	over     bitset // by place: another version that differs in each row followed within spareTicks
	overs    int    // how many
}

// room returns s with space for n more. What has to grow at all becomes twice as
// large as it needs to be: the memory of a tick then soon suffices for the fullest
// tick of a game, and nothing is allocated in the tenth minute.
func room[T any](s []T, n int) []T {
	most := len(s) + n
	if most <= cap(s) {
		return s
	}
	if cap(s) > 0 {
		most *= 2
	}
	return append(make([]T, 0, most), s...)
}

// maxListedAt bounds what the lists of one tick hold.
const maxListedAt = 1 << 17

// usualParts is how many payloads a tick usually has at most.
const usualParts = 8

// listPart is where the list of one payload of a tick lies.
type listPart struct{ part, first, end int }

// past is the client's history: a ring of ticks. Versions leave it by tick
// only, never with the entity (rules 4 and 7).
type past struct {
	schema  *Schema
	shapes  *shapes
	blocks  []block // by tick modulo length, a power of two above the retention
	spare   block   // for a payload whose tick has no block yet
	left    []block // memory of those that have left, the last of them still in the cache
	keep    tick.Tick
	horizon tick.Tick // versions at or before it have left
}

// spareTicks is how much longer versions are kept than anything can lean on
// them. Of those that change in every row within as many ticks nothing has then
// to remain when they leave.
const spareTicks = 4

// newPast keeps versions for keep ticks, and those of the keep ticks before start.
func newPast(schema *Schema, shapes *shapes, keep, start tick.Tick) past {
	size := 1
	for size <= int(keep) {
		size *= 2
	}
	return past{schema: schema, shapes: shapes, blocks: make([]block, size), keep: keep, horizon: max(start-keep, tick.None)}
}

func (p *past) block(t tick.Tick) *block { return &p.blocks[int(t)&(len(p.blocks)-1)] }

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
	if n := len(p.left) - 1; n >= 0 && cap(b.versions) == 0 {
		*b = p.left[n]
		p.left = p.left[:n]
	}
	b.empty(t)
	return b
}

// empty makes a block one of a tick of which there is nothing yet.
func (b *block) empty(t tick.Tick) {
	b.tick = t
	b.versions, b.lanes = b.versions[:0], b.lanes[:0]
	b.listed, b.places, b.parts = b.listed[:0], b.places[:0], b.parts[:0]
	b.runs, b.over, b.overs = b.runs[:0], b.over[:0], 0
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
	if len(b.parts) == cap(b.parts) {
		b.parts = slices.Grow(b.parts, max(usualParts, len(b.parts)))
	}
	b.parts = append(b.parts, listPart{part: part, first: len(b.listed), end: len(b.listed)})
}

// note adds to the list of the payload that was opened last. No honest server
// comes near the most that a tick's lists may hold.
func (b *block) note(index uint32, place int32) {
	if len(b.listed) >= maxListedAt {
		return
	}
	b.listed, b.places = append(room(b.listed, 1), index), append(room(b.places, 1), place)
	b.parts[len(b.parts)-1].end++
}

// noteRun is note for entities whose versions lie one behind the other.
func (b *block) noteRun(indexes []uint32, place int32) {
	if len(b.listed)+len(indexes) > maxListedAt {
		for i, index := range indexes {
			b.note(index, place+int32(i))
		}
		return
	}
	b.listed = append(room(b.listed, len(indexes)), indexes...)
	n := len(b.places)
	b.places = room(b.places, len(indexes))[:n+len(indexes)]
	places := b.places[n:]
	for i := range places {
		places[i] = place + int32(i)
	}
	b.parts[len(b.parts)-1].end += len(indexes)
}

// list is the entities of a payload that was decoded, in its order, and the
// places of what it said of them.
func (p *past) list(t tick.Tick, part int) (list []uint32, places []int32, ok bool) {
	if t <= p.horizon {
		return nil, nil, false
	}
	b := p.block(t)
	if b.tick != t {
		return nil, nil, false
	}
	for _, l := range b.parts {
		if l.part == part {
			return b.listed[l.first:l.end], b.places[l.first:l.end], true
		}
	}
	return nil, nil, false
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
		p.left = append(p.left, *b)
		*b = block{}
	}
	p.horizon = horizon
}

// remain hands what can still be leaned on of a block that leaves to what
// remains. A version can not when another that differs in every row followed
// soon, and so is twice the window old: the server leans on no row that changed
// so long ago, and then on none of the entity's.
func (b *block) remain(to *olds) {
	if b.overs == len(b.versions) {
		return
	}
	b.settle()
	for i := range b.versions {
		if v := &b.versions[i]; !b.over.has(uint32(i)) {
			to.take(v, b.lanes[v.first:])
		}
	}
}

// follow notes that a version which differs in every row followed the one of a
// place.
func (b *block) follow(place uint32) {
	b.over = b.over.grownTo(len(b.versions))
	b.over.set(place)
	b.overs++
}
