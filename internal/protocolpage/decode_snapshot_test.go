package protocolpage_test

// The fourth part of the reader written from PROTOCOL.md: snapshots. (7)

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// state is an entity as one record left it.
type state struct {
	generation uint64
	base       int64 // the tick of the record that this one leant on, 0 for none
	rows       map[int][]uint32
	lacks      map[int]bool // rows whose value is not known, where the record of T is gone
}

// observed is the client side of section 7 for a client that gets every packet. It loses its past when it asks for a resync,
// and else forgets what rule 4 allows to forget.
type observed struct {
	components []shape
	differs    []*differ // nil for rows that travel whole or have no fields
	which      [5]*table // by number of rows
	fours, gap *table
	newest     int64
	window     int64
	longer     int64 // ticks for which records are kept beyond 2W
	asked      uint16
	past       map[uint64]map[int64]state // index, tick of the record
	kept       map[uint64]map[uint64]kept // index, generation: what is left of older records
	recall     recallFunc
	parts      *[]part                           // nil: nothing is noted
	tried      func(o *observed, payload []byte) // called before a payload is decoded; may be nil
	lists      map[int64][]uint64                // by tick: the indexes of its records, ascending, each once
	present    map[uint64]state
	applied    map[uint64]int64
	seen       map[string]int // what there was of everything that may be there
	writable   map[int]bool   // rows that the sender may write; nil: all
}

func newObserved(components []shape, set tables, tick, window int64) *observed {
	o := &observed{
		components: components, newest: tick, window: window,
		past: map[uint64]map[int64]state{}, kept: map[uint64]map[uint64]kept{}, lists: map[int64][]uint64{},
		present: map[uint64]state{}, applied: map[uint64]int64{}, recall: recallRows,
		fours: set.find("list.four", "list.four", 17, 3), gap: set.find("list.gap", "list.gap", 67, 2),
	}
	for n := 1; n <= 4; n++ {
		name := fmt.Sprintf("rows.%d", n)
		o.which[n] = set.find(name, name, 1<<n, whichContexts(n))
	}
	for i := range components {
		var d *differ
		whole := slices.ContainsFunc(components[i].fields, func(f field) bool { return f.base == "entity" })
		if len(components[i].fields) > 0 && !whole {
			d = newDiffer(&components[i], set)
		}
		o.differs = append(o.differs, d)
	}
	return o
}

// lacking is the panic of a reader that does not have the state that a record is coded against.
type lacking struct{}

func held(holds bool) {
	if !holds {
		panic(lacking{})
	}
}

// resync is a client's wish.
func (o *observed) resync(epoch uint16) {
	if o.asked != epoch {
		o.asked, o.past, o.lists, o.kept = epoch, map[uint64]map[int64]state{}, map[int64][]uint64{}, map[uint64]map[uint64]kept{}
	}
}

// decoding is one payload that is being read.
type decoding struct {
	*observed
	s         *stream
	tick      int64
	upTo      int64 // U, or S without lists
	listed    int64 // R, while a list is read; else 0
	near      int64 // N then; 0: none
	order     []uint64
	records   map[uint64]state
	resynced  uint64
	despawned map[uint64]uint64
	// what there was
	absolute, baseline, rows, deltas, same int
}

// snapshot decodes a payload and says what the entities in it are afterwards.
func (o *observed) snapshot(payload []byte) (text string) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case lacking:
			o.seen["lacking"]++
			text = "Snapshot that leans on what is not held"
		default:
			panic(why)
		}
	}()
	if o.tried != nil {
		o.tried(o, payload)
	}
	d := o.decode(payload)
	if d.tick > o.newest {
		o.newest = d.tick
		o.forget()
	}
	o.seen["despawned"] += len(d.despawned)
	o.lists[d.tick] = append(o.lists[d.tick], d.order...)
	slices.Sort(o.lists[d.tick])
	o.lists[d.tick] = slices.Compact(o.lists[d.tick])
	return fmt.Sprintf("Snapshot tick=%d resynced=%d despawns=%d absolute=%d baseline=%d rows=%d deltas=%d same=%d: %s", d.tick,
		d.resynced, len(d.despawned), d.absolute, d.baseline, d.rows, d.deltas, d.same,
		strings.Join(o.apply(d.tick, d.despawned, d.records), "; "))
}

// decode reads a payload without any effect. It panics with illegal or lacking.
func (o *observed) decode(payload []byte) *decoding {
	s := &stream{b: payload, parts: o.parts}
	tick := o.newest + int64(uint16(s.bits(16))-uint16(o.newest))
	if tick-o.newest > 1<<15 {
		tick -= 1 << 16
	}
	must(tick >= 1 && tick > o.newest-o.window, "tick %d", tick)
	s.part("tick: S = %d", tick)
	d := &decoding{observed: o, s: s, tick: tick, upTo: tick, records: map[uint64]state{}, despawned: map[uint64]uint64{}}
	if s.bit() {
		d.resynced = s.bits(16)
		o.seen["resync"]++
		must(d.resynced != 0 && int16(uint16(d.resynced)-o.asked) <= 0, "resync %d", d.resynced)
	}
	s.part("resynced: %d", d.resynced)
	for at := uint64(0); s.bit(); {
		skipped := s.number()
		must(skipped < 1<<32, "gap")
		index := (at + skipped) % (1 << 32)
		must(index < 1<<20, "index %d", index)
		d.despawned[index], at = generation(s), index+1
	}
	s.part("no more despawns")
	context := 0
	if s.bit() {
		d.lists()
		context = 1
	}
	s.part("no more lists")
	d.others(context)
	for s.at < 8*len(s.b) {
		must(!s.bit(), "padding")
	}
	s.part("padding")
	return d
}

func generation(s *stream) uint64 {
	g := s.number()
	must(g >= 1 && g < 1<<32, "generation %d", g)
	return g
}

// lists reads records about entities of which there were records of earlier ticks.
func (d *decoding) lists() {
	age := d.s.number()
	must(age+1 < uint64(d.tick), "age %d", age)
	d.upTo = d.tick - int64(age) - 1
	d.s.part("lists, U = %d", d.upTo)
	for page := uint64(0); d.s.bit(); {
		back, near, skip := uint64(0), uint64(1), uint64(0)
		if !d.s.bit() {
			back, near, skip = d.s.number(), d.s.number(), d.s.number()
			must(back != 0 || near != 1 || skip != 0, "a usual list told at length")
			d.seen["list told"]++
		}
		must(back < uint64(d.upTo) && near <= 15 && skip < 1<<14, "list %d %d %d", back, near, skip)
		d.listed, d.near = d.upTo-int64(back), 0
		if near > 0 {
			d.near = d.listed - int64(near)
			must(d.near >= 1 && d.tick-d.near < d.window, "near %d", near)
			_, has := d.observed.lists[d.near]
			held(has)
			d.seen["near"]++
		}
		list, has := d.observed.lists[d.listed]
		held(has)
		d.seen["list"]++
		page += skip
		list = list[len(list)-len(behind(list, page)):]
		must(len(list) > 0 && list[0]/64 == page, "page %d", page)
		d.s.part("a list: R = %d, N = %s, from page %d on", d.listed, cmp.Or(strings.TrimPrefix(fmt.Sprint(d.near), "0"), "none"), page)
		for first := true; ; first = false {
			all := d.s.bit()
			some := !all && d.s.bit()
			if !all && !some && !d.s.bit() {
				must(!first, "a list without a page")
				d.s.part("the list ends")
				break
			}
			d.s.part("page %d: %s", page, map[[2]bool]string{{true, false}: "all", {false, true}: "some", {}: "none"}[[2]bool{all, some}])
			must(len(list) > 0 && (!first || all || some), "no such page")
			rest := behind(list, list[0]/64+1)
			of := list[:len(list)-len(rest)]
			list, page = rest, of[0]/64+1
			switch {
			case all:
				d.seen["whole page"]++
				for _, index := range of {
					d.record(index, false)
				}
			case some:
				d.seen["part of a page"]++
				d.fourByFour(of)
			default:
				d.seen["no record of a page"]++
			}
		}
	}
	d.listed, d.near = 0, 0
}

// behind returns the indexes of a page and of those behind it.
func behind(list []uint64, page uint64) []uint64 {
	at, _ := slices.BinarySearch(list, 64*page)
	return list[at:]
}

// fourByFour reads records about some entities of a page.
func (d *decoding) fourByFour(list []uint64) {
	context, empty, records := 2, false, 0
	for at := 0; at < len(list); at += 4 {
		symbol := d.fours.read(d.s, context)
		d.s.part("list.four: symbol %d", symbol)
		if symbol == 16 {
			break
		}
		for i := range 4 {
			if symbol>>i&1 == 0 {
				d.seen["left out"]++
				continue
			}
			must(at+i < len(list), "beyond the page")
			d.record(list[at+i], false)
			records++
		}
		switch context, empty = 1, symbol == 0; symbol {
		case 0:
			context = 0
		case 15:
			context = 2
		}
	}
	must(!empty && records > 0 && records < len(list), "%d of %d records of a page", records, len(list))
}

// others reads records about any entities.
func (d *decoding) others(context int) {
	for next := uint64(0); ; {
		symbol := d.gap.read(d.s, context)
		if symbol == 0 {
			d.s.part("list.gap: symbol 0: no more")
			return
		}
		k := (symbol - 1) / 2
		skipped := uint64(k)
		if k >= 2 {
			skipped = 1<<(k-1) | d.s.bits(k-1)
		}
		index := (next + skipped) % (1 << 32)
		must(index < 1<<20, "index %d", index)
		next = index + 1
		d.s.part("list.gap: symbol %d: gap %d, index %d, %s", symbol, skipped, index, [2]string{"explicit", "implicit"}[symbol%2])
		e := d.record(index, symbol%2 == 0)
		if e.base == 0 && d.floats(e) {
			next += d.run(index, e)
		}
	}
}

// floats says that an entity has rows of nothing but plain floats.
func (d *decoding) floats(e state) bool {
	fields := 0
	for row := range e.rows {
		for _, f := range d.components[row].fields {
			if f.kind != "f32" {
				return false
			}
			fields++
		}
	}
	return fields > 0
}

// run reads the records of a run behind that of an index, and says how many there were.
func (d *decoding) run(index uint64, first state) uint64 {
	if !d.s.bit() {
		return 0
	}
	for d.s.at%8 != 0 {
		must(!d.s.bit(), "padding")
	}
	n := d.s.bits(8)
	must(n > 0, "run")
	d.seen["run"]++
	for range n {
		index++
		must(index < 1<<20, "index %d", index)
		d.order = append(d.order, index)
		d.absolute++
		e := state{generation: first.generation, rows: map[int][]uint32{}}
		for _, row := range slices.Sorted(maps.Keys(first.rows)) {
			d.whole(&e, row)
		}
		d.keep(index, e)
	}
	return n
}

// record reads what is said of one entity.
func (d *decoding) record(index uint64, odd bool) state {
	d.order = append(d.order, index)
	var e state
	if odd && !d.s.bit() {
		d.s.part("against no baseline")
		e = state{generation: generation(d.s), rows: map[int][]uint32{}}
		d.s.part("generation: %d", e.generation)
		d.absolute++
		rows := d.present1()
		d.s.part("rows: %s", d.names(rows))
		for _, row := range rows {
			d.whole(&e, row)
		}
	} else {
		e = d.against(index, odd)
	}
	d.keep(index, e)
	return e
}

// names returns the names of rows.
func (o *observed) names(rows []int) string {
	var names []string
	for _, row := range rows {
		names = append(names, o.components[row].name)
	}
	return strings.Join(names, ", ")
}

// keep enters a record among those of the payload.
func (d *decoding) keep(index uint64, e state) {
	for row := range e.rows {
		must(d.writable == nil || d.writable[row], "row %d is not a client's", row)
	}
	if _, twice := d.records[index]; !twice {
		d.records[index] = e
	}
}

// present1 reads which rows there are.
func (d *decoding) present1() []int { return presentOf(d.s, len(d.components)) }

// presentOf reads which rows there are, of a protocol with so many.
func presentOf(s *stream, components int) (rows []int) {
	set := make([]bool, (components+7)/8)
	for block := range set {
		set[block] = components <= 64 || s.bit()
	}
	for block := range set {
		before := len(rows)
		for row := 8 * block; set[block] && row < min(8*block+8, components); row++ {
			if s.bit() {
				rows = append(rows, row)
			}
		}
		must(components <= 64 || !set[block] || len(rows) > before, "block %d has no row", block)
	}
	return rows
}

func (d *decoding) whole(e *state, row int) {
	e.rows[row] = d.components[row].row(d.s)
	if len(d.components[row].fields) > 0 {
		d.rows++
	}
	for _, f := range d.components[row].fields {
		if f.base == "entity" && f.number(e.rows[row]) == 0 {
			d.seen["nobody"]++
		}
	}
}

// against reads a record that leans on one of T.
func (d *decoding) against(index uint64, odd bool) state {
	guessed := !odd || d.s.bit()
	t := int64(0)
	switch {
	case !guessed:
		v := d.s.number()
		must(v < uint64(d.tick)-1, "age %d", v+1)
		t = d.tick - int64(v) - 1
		d.seen["age"]++
	case d.listed > 0:
		t = d.listed
	default:
		t = d.newestUpTo(index, d.upTo)
		d.seen["newest"]++
	}
	base, has := d.past[index][t]
	var rows []int
	if !odd || d.s.bit() {
		must(!odd || !guessed, "odd, but as usual")
		held(has)
		rows = slices.Sorted(maps.Keys(base.rows))
	} else {
		rows = d.present1()
		d.seen["rows told"]++
	}
	if odd {
		d.s.part("against T = %d", t)
	}
	if !has {
		base = d.gone(index, t, rows)
	}
	d.baseline++
	e := state{generation: base.generation, base: t, rows: map[int][]uint32{}}
	d.body(index, &e, base, rows)
	return e
}

// body reads how the rows differ from those of T.
func (d *decoding) body(index uint64, e *state, base state, rows []int) {
	v := leant{age: d.tick - e.base, miss: new(int)}
	var before state
	same := func(w state) bool {
		return slices.Equal(slices.Sorted(maps.Keys(w.rows)), slices.Sorted(maps.Keys(base.rows)))
	}
	if d.near > 0 {
		if w, has := d.past[index][d.near]; has && w.generation == base.generation && same(w) {
			before, v.span = w, e.base-d.near
			d.seen["nearer"]++
		}
	} else if base.base != 0 && d.tick-base.base < d.window {
		has := false
		before, has = d.past[index][base.base]
		held(has)
		if same(before) {
			v.span = e.base - base.base
		}
	}
	var old, after []int
	for _, row := range rows {
		_, had := base.rows[row]
		switch {
		case len(d.components[row].fields) == 0:
			e.rows[row] = nil
		case had:
			old = append(old, row)
		default:
			after = append(after, row)
		}
	}
	for ; len(old) > 0; old = old[min(4, len(old)):] {
		after = append(after, d.four(e, base, before, old[:min(4, len(old))], v)...)
	}
	slices.Sort(after)
	for _, row := range after {
		d.whole(e, row)
	}
}

// four reads up to four rows that were there at T, and returns those that follow whole.
func (d *decoding) four(e *state, base, before state, rows []int, v leant) (whole []int) {
	moved := 0
	for i, row := range rows {
		held(d.differs[row] == nil || !base.lacks[row])
		if v.span > 0 && d.differs[row] != nil && !slices.Equal(base.rows[row], before.rows[row]) {
			moved |= 1 << i
		}
	}
	context := which(len(rows), moved, v.span > 0, v.age, v.span)
	changed := d.which[len(rows)].read(d.s, context)
	d.s.part("rows.%d, context %d: symbol %d of %s", len(rows), context, changed, d.names(rows))
	for i, row := range rows {
		switch {
		case changed>>i&1 == 0:
			held(!base.lacks[row])
			e.rows[row] = base.rows[row]
			d.same++
		case d.differs[row] == nil:
			whole = append(whole, row)
		default:
			v.base, v.before = base.rows[row], nil
			if v.span > 0 {
				v.before = before.rows[row]
				d.seen["against T'"]++
			}
			e.rows[row] = d.differs[row].row(d.s, v)
			d.deltas++
		}
	}
	return whole
}

// apply lets a decoded snapshot take effect.
func (o *observed) apply(tick int64, despawned map[uint64]uint64, updated map[uint64]state) (texts []string) {
	touched := map[uint64]bool{}
	for index, generation := range despawned {
		touched[index] = true
		if g := o.present[index].generation; g < generation || g == generation && tick > o.applied[index] {
			o.present[index], o.applied[index] = state{generation: generation}, tick
		}
	}
	for index, e := range updated {
		touched[index] = true
		if o.past[index] == nil {
			o.past[index] = map[int64]state{}
		}
		if _, had := o.past[index][tick]; had {
			continue
		}
		o.past[index][tick] = e
		if g := o.present[index].generation; e.generation > g || (e.generation == g && tick > o.applied[index]) {
			o.present[index], o.applied[index] = e, tick
		}
	}
	for _, index := range slices.Sorted(maps.Keys(touched)) {
		e := o.present[index]
		text := fmt.Sprintf("%dv%d", index, e.generation)
		if e.rows == nil {
			text += " gone"
		}
		for row := range o.components {
			if v, has := e.rows[row]; has {
				text += " " + o.components[row].text(v)
			}
		}
		texts = append(texts, text)
	}
	return texts
}
