package delta

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// MaxExpected is the maximum number of rows that are extrapolated together.
const MaxExpected = kernel.MaxExpected

// MaxGroupRows is the maximum number of rows of an entity in one group; one symbol tells which of them changed.
const MaxGroupRows = 4

// RowGroup has the components of up to MaxExpected entities with the same two baseline ticks: at most MaxGroupRows
// components, so that one symbol tells which changed. It computes the contexts and extrapolations of all entities
// before the first bit is read, so that latencies overlap. [RowReader.Entities] then reads the rows.
type RowGroup struct {
	kernel.ReadGroup               // of the rows with eager set
	which            *SymbolReader // reads which rows changed
	rows             [MaxGroupRows]expectedRow
	count            int
	first            int // first context of lanes at this age
	age, span        int64
	known            bool // there is a T'
	wide             bool // some rows have eager set
}

// expectedRow is one component of several entities.
type expectedRow struct {
	kernel.ReadRow                                 // arguments of ReadRows, for rows with eager set
	movement       [MaxExpected * groupLanes]int32 // rotations, by entity and lane: extrapolated movement since T
	which          *SymbolReader
	tokens         [groupLanes]*SymbolReader
	top            [groupLanes]int64 // largest value of each lane
	lanes          []deltaLane
	delta          *Delta
	wide           *turnBatch // rotations; nil: extrapolated one by one
	floats         *floatsExpected
	eager          bool // ReadRows reads these rows
	class          int  // 1 + the age class that is prepared; 0: none
}

// Begin makes g a group of at most MaxGroupRows components. Table which has the symbol that tells which of them
// changed. The lanes of component i start at at[i] in an entity's row.
func (g *RowGroup) Begin(which *Table, deltas []*Delta, at []int) {
	g.which, g.count = which.SymbolReader(), len(deltas)
	g.Which = &g.which.entries[0]
	for i, d := range deltas {
		row := &g.rows[i]
		floats := row.floats
		*row = expectedRow{delta: d, wide: row.wide}
		row.At = at[i]
		if !d.canExpect() {
			continue
		}
		row.which, row.lanes, row.Which = d.groups[0].read, d.lanes, &d.groups[0].read.entries[0]
		if d.class == classTurn {
			row.Odd, row.Turn = 1, d.m
		}
		if row.Turn != 0 && d.wideRead && row.wide == nil {
			row.wide = new(turnBatch)
		}
		if row.floats = nil; d.floats {
			if row.floats = floats; floats == nil {
				row.floats = new(floatsExpected)
			}
		}
		for k := range d.lanes {
			row.Most[k], row.top[k], row.tokens[k] = uint32(d.lanes[k].most), d.top(k), d.lanes[k].read
		}
	}
}

// canExpect reports whether rows of d can be extrapolated together, and prepares for it. Any number of goroutines may
// call it.
func (d *Delta) canExpect() bool {
	d.onceRead.Do(func() {
		lines := d.floats && len(d.groups) == 1 && len(d.lanes) > 1
		d.expects = (d.class != classOther || lines) && !d.plan.Extrapolates() && !d.plan.Debugging()
		for i := range d.lanes {
			of := d.plan.Lane(i)
			d.lanes[i].most = of.Largest
			d.expects = d.expects && (of.Free || d.floats || d.class == classTurn)
		}
		if !d.expects {
			return
		}
		d.wideRead = kernel.Wide() && !d.floats
		for i := range d.lanes {
			d.wideRead = d.wideRead && d.lanes[i].bits <= 31
			d.movement.Lanes[i], d.movement.Top[i] = 1<<31, uint32(d.top(i))
		}
		d.groups[0].read = d.groups[0].table.SymbolReader()
		for i := range d.lanes {
			if l := &d.lanes[i]; l.model != quantize.ModelLargest {
				l.read = l.table.tokenReader()
			}
		}
	})
	return d.expects
}

// Expect extrapolates the rows of n entities. Consecutive entities are stride lanes apart. base has the rows as of T,
// age ticks ago; before has those as of T', span ticks before T. before is nil if T' is not used.
func (g *RowGroup) Expect(n, stride int, base, before []uint32, age, span int64) {
	known := before != nil
	class := AgeClass(known, age, span)
	g.first, g.age, g.span, g.known = class*contextsPerAge, age, span, known
	if known {
		g.first += misses
	} else {
		before, g.span = base, 1 // no movement: the extrapolation equals the baseline
	}
	g.which.want(class)
	context := uint16(WhichContext(g.count, 0, known, age, span) << decoderBits)
	for k := range g.Context[:n] {
		g.Context[k] = context
	}
	g.wide = false
	for i := range g.rows[:g.count] {
		row := &g.rows[i]
		row.prepare(class)
		row.expect(g, n, stride, base[row.At:], before[row.At:])
		row.contexts(g.Context[:n], i, known)
		if g.Rows[i] = nil; row.eager {
			g.Rows[i], g.wide = &row.ReadRow, true
		}
	}
}

// prepare sets up the symbol readers for an age class.
func (e *expectedRow) prepare(class int) {
	if !e.delta.expects || e.class == class+1 {
		return
	}
	for i, of := range e.tokens {
		if of != nil {
			of.want(class)
			e.Tokens[i], e.More[i] = &of.entries[0], &of.more[class][0]
		}
	}
	e.which.want(class)
	e.class = class + 1
}

// expect finds the moved lanes of n rows. For rows with eager set, and for rotations, it also extrapolates.
func (e *expectedRow) expect(g *RowGroup, n, stride int, base, before []uint32) {
	d, age, span := e.delta, g.age, g.span
	e.eager = e.which != nil && d.wideRead && e.floats == nil && age <= widest && span <= widest
	switch {
	case e.eager && e.Turn != 0:
		e.expectTurnsWide(g, n, stride, base, before)
	case e.eager:
		_, _ = base[(n-1)*stride:][:len(d.lanes)], before[(n-1)*stride:][:len(d.lanes)] // SAFETY: the assembly accesses n rows, which are within these slices
		m := d.movement
		m.First, m.Age, m.Half, m.Part = uint32(g.first)<<decoderBits, float64(age), float64(span/2)+0.5, 1/float64(span)
		if span == 1 && age*int64(slices.Max(m.Top[:])) < 1<<31 {
			m.Whole = int32(age)
		}
		kernel.Expect(&e.Expected, &m, &base[0], &before[0], stride, n)
	default:
		e.moves(n, stride, base, before)
		if e.floats != nil {
			e.floats.expect(d, n, stride, base, before, g.first, g.age*int64(bitOf(g.known)), span)
		} else if e.Turn != 0 {
			e.expectTurns(n, stride, base, before, age, span)
		}
	}
}

// moves finds the moved lanes of n rows. For a component that Delta.Read decodes it only finds whether any moved.
func (e *expectedRow) moves(n, stride int, base, before []uint32) {
	width := len(e.delta.lanes)
	for k, at := 0, 0; k < n; k, at = k+1, at+stride {
		moved := uint32(0)
		switch r1, r2 := base[at:][:width], before[at:][:width]; {
		case e.which == nil:
			moved = bitOf(!slices.Equal(r1, r2))
		case width == 3:
			a, b := (*[3]uint32)(r1), (*[3]uint32)(r2)
			moved = bitOf(a[0] != b[0]) | bitOf(a[1] != b[1])<<1 | bitOf(a[2] != b[2])<<2
		default:
			for lane, v := range r1 {
				moved |= bitOf(v != r2[lane]) << lane
			}
		}
		e.Moved[k&(MaxExpected-1)] = uint8(moved)
	}
}

// contexts sets the contexts of the symbol that tells which lanes changed. In group it marks, per entity, that this row
// (the i-th) moved.
func (e *expectedRow) contexts(group []uint16, i int, known bool) {
	width := len(e.lanes)
	first := (e.class - 1) * (1<<width + 1)
	for k := range group {
		moved := int(e.Moved[k&(MaxExpected-1)])
		group[k] += uint16(bitOf(moved != 0)) << i << decoderBits
		if !known {
			moved = 1 << width
		}
		e.Context[k&(MaxExpected-1)] = uint16((first + moved) << decoderBits)
	}
}

// turnBatch is the working memory of the assembly for rotations.
type turnBatch struct {
	batch  kernel.Batch
	column kernel.Column
}

// expectTurnsWide is expect for rotations, in assembly.
func (e *expectedRow) expectTurnsWide(g *RowGroup, n, stride int, base, before []uint32) {
	s, c, d := &e.wide.batch, &e.wide.column, e.delta
	s.N = n
	for k, row := 0, 0; k < n; k, row = k+1, row+stride {
		r1, r2 := (*[4]uint32)(base[row:]), (*[4]uint32)(before[row:])
		at := k & (MaxExpected - 1) * groupLanes
		*(*[4]uint32)(c.Base[at:]), *(*[4]uint32)(c.Before[at:]) = *r1, *r2
		moved := bitOf(r1[0] != r2[0]) | bitOf(r1[1] != r2[1])<<1 | bitOf(r1[2] != r2[2])<<2 | bitOf(r1[3] != r2[3])<<3
		c.Differ[k&(MaxExpected-1)] = uint8(moved<<groupLanes | 0xE) // as if all lanes but the left-out one changed
	}
	t := d.quatNumbers(g.age, g.span)
	kernel.AimQuats(s, c, &t)
	kernel.QuatParts(s, c, &t)
	for k := range s.Usual[:n] {
		if s.Usual[k] == 0 {
			at, by := k*groupLanes, [4]int32{}
			e.expectOddTurn(&by, (*[4]uint32)(c.Base[at:]), (*[4]uint32)(c.Before[at:]), g.age, g.span)
			for i, movement := range by {
				s.Origin[at+i] = c.Base[at+i] - uint32(movement)
			}
		}
	}
	m := d.movement
	m.First, m.Whole = uint32(g.first)<<decoderBits, 1
	kernel.Expect(&e.Expected, &m, &c.Base[0], &s.Origin[0], groupLanes, n)
	for k := range e.Moved[:n] {
		e.Moved[k] = c.Moved(k)
	}
}

// movements computes the movement of the k-th row from the results of expectTurnsWide.
func (e *expectedRow) movements(k int) {
	if e.Turn != 0 {
		for at := k * groupLanes; at < (k+1)*groupLanes; at++ {
			e.movement[at] = int32(e.wide.column.Base[at] - e.wide.batch.Origin[at])
		}
	}
}

// expectTurns extrapolates rotations whose versions leave out the same component and keep its sign. Type rotation
// extrapolates the others.
func (e *expectedRow) expectTurns(n, stride int, base, before []uint32, age, span int64) {
	d := e.delta
	m, whole := d.m, d.length
	for k, row := 0, 0; k < n; k, row = k+1, row+stride {
		r1, r2 := (*[4]uint32)(base[row:]), (*[4]uint32)(before[row:])
		x, y, z := 2*int64(r1[1])-m, 2*int64(r1[2])-m, 2*int64(r1[3])-m
		a, b, c := 2*int64(r2[1])-m, 2*int64(r2[2])-m, 2*int64(r2[3])-m
		w := int64(math.Sqrt(float64(max(2*m*m-x*x-y*y-z*z, 0)))) // as in components
		v := int64(math.Sqrt(float64(max(2*m*m-a*a-b*b-c*c, 0))))
		dot := x*a + y*b + z*c + w*v
		a, b, c, v = x-a, y-b, z-c, w-v
		switch most := 4 * m; {
		case span != 1:
			a, b, c, v = d.far(a, age, span), d.far(b, age, span), d.far(c, age, span), d.far(v, age, span)
		case age != 1:
			a, b = min(max(a*age, -most), most), min(max(b*age, -most), most)
			c, v = min(max(c*age, -most), most), min(max(v*age, -most), most)
		}
		moved := a | b | c | v
		a, b, c, v = x+a, y+b, z+c, w+v
		length := whole
		if square := a*a + b*b + c*c + v*v; moved != 0 && square < 1<<36 { // the root is below 2^26: no rounding makes it an integer
			length = uint64(math.Sqrt(float64(square << 16)))
		} else if moved != 0 {
			length = root(uint64(square) << 16)
		}
		movement := (*[4]int32)(e.movement[k*groupLanes&(len(e.movement)-1):])
		if dot < 0 || v < 0 || length == 0 || r1[0] != r2[0] {
			e.expectOddTurn(movement, r1, r2, age, span)
			continue
		}
		for i, to := range [...]int64{a, b, c} {
			sign := to >> 63
			n := int64((uint64(to^sign-sign)*whole + length/2) / length)
			expected := min(max((n^sign-sign+m+1)>>1, 0), m)
			movement[i+1] = int32(expected - int64(r1[i+1]))
		}
	}
}

// expectOddTurn is expectTurns for one row of any rotation.
func (e *expectedRow) expectOddTurn(movement *[4]int32, base, before *[4]uint32, age, span int64) {
	q := rotation{lane: -1, m: e.delta.m, length: int64(e.delta.length)}
	q.aim(0, e.delta.m, &quantize.Baselines{Base: base[:], Before: before[:], Age: age, Span: span}, false)
	for lane := 1; lane < groupLanes; lane++ {
		_, by := q.part(int(base[0]&3), lane)
		movement[lane] = int32(by)
	}
}

// RowReader decodes rows that were extrapolated together. It takes over the bits of a [BitReader] and gives back the
// rest. It decodes the same as [Delta.Read], which it calls for rare rows.
type RowReader struct{ kernel.Bits }

// Begin takes over the remaining bits of a reader.
func (q *RowReader) Begin(r *wire.BitReader) {
	q.Buf, q.Acc, q.N = r.State()
	q.At = 0
}

// End gives the remaining bits back.
func (q *RowReader) End(r *wire.BitReader) {
	r.SetState(q.Buf[q.At:], q.Acc&(1<<q.N-1), q.N)
}

// refillLast loads the accumulator near the end of buf: 56 bits, or all that remain.
func refillLast(buf []byte, at int, acc uint64, n uint) (int, uint64, uint) {
	for acc &= 1<<n - 1; at < len(buf) && n < 56; at, n = at+1, n+8 {
		acc |= uint64(buf[at]) << n
	}
	return at, acc, n
}

// Entities decodes the rows of n entities from the k-th of Expect on. Consecutive entities are stride lanes apart. base
// has the rows as of T and before those as of T', if used; lanes starts as a copy of base. It returns false if the bits
// end or Delta.Read would fail for a row.
func (q *RowReader) Entities(groups []RowGroup, k, n, stride int, lanes, base, before []uint32) bool {
	_ = lanes[:n*stride] // SAFETY: ReadRows writes these lanes
	for first, end := k, k+n; k < end; k++ {
		q.Miss = 0
		for i := range groups {
			g, left := &groups[i], uint(kernel.Unread)
			if g.wide {
				until := k + 1
				if len(groups) == 1 {
					until = end
				}
				_ = g.Context[k:until] // SAFETY: ReadRows reads these contexts
				left, k = kernel.ReadRows(&q.Bits, &g.ReadGroup, left, k, until, &lanes[(k-first)*stride], stride)
			}
			at, was := (k-first)*stride, before
			if before != nil {
				was = before[at:]
			}
			if !q.entity(g, k, left, lanes[at:], base[at:], was) {
				return false
			}
		}
	}
	return true
}

// entity decodes the rows of the k-th entity that are in left.
func (q *RowReader) entity(g *RowGroup, k int, left uint, lanes, base, before []uint32) bool {
	k &= MaxExpected - 1
	if left == kernel.Unread {
		q.refill()
		entry := uint(g.which.entries[uint(g.Context[k])|uint(uint8(q.Acc))])
		if entry&sizeMask == 0 {
			entry = g.which.long(uint(g.Context[k]), q.Acc)
		}
		if entry&sizeMask > q.N {
			return false
		}
		q.Acc, q.N, left = q.Acc>>(entry&sizeMask), q.N-entry&sizeMask, entry>>symbolShift
	}
	for ; left != 0; left &= left - 1 {
		row := &g.rows[bits.TrailingZeros(left)&(MaxGroupRows-1)]
		if g.wide { // ReadRows may have stopped at this one
			copy(lanes[row.At:][:len(row.delta.lanes)], base[row.At:])
		}
		q.refill()
		if row.floats != nil {
			read, legal := q.floats(row, k, lanes[row.At:][:len(row.delta.lanes)])
			if !legal || !read && !q.rare(g, row, lanes, base, before) {
				return false
			}
		} else if row.which == nil {
			if !q.rare(g, row, lanes, base, before) {
				return false
			}
		} else if !q.row(g, row, k, lanes, base, before) {
			return false
		}
		if rest := left & (left - 1); g.wide && rest != 0 {
			rest, _ = kernel.ReadRows(&q.Bits, &g.ReadGroup, rest, k, k+1, &lanes[0], 0)
			left = left&-left | rest
		}
	}
	return true
}

// row decodes a row that differs.
func (q *RowReader) row(g *RowGroup, row *expectedRow, k int, lanes, base, before []uint32) bool {
	acc, n, miss := q.Acc, q.N, q.Miss
	entry := uint(row.which.entries[uint(row.Context[k])|uint(uint8(acc))])
	if entry&sizeMask == 0 {
		entry = row.which.long(uint(row.Context[k]), acc)
	}
	to, changed := lanes[row.At:], entry>>symbolShift
	if changed&row.Odd != 0 {
		return q.rare(g, row, lanes, base, before)
	}
	if entry&sizeMask > n || changed == 0 {
		return false
	}
	acc, n = acc>>(entry&sizeMask), n-entry&sizeMask
	was := to // no movement
	if before != nil {
		was = before[row.At:]
	}
	if row.eager {
		row.movements(k)
	}
	for changed != 0 {
		i := uint(bits.TrailingZeros(changed)) & (groupLanes - 1)
		from, movement := int64(to[i]), int64(row.movement[uint(k)<<2|i])
		if row.Turn == 0 {
			if movement = (from - int64(was[i])) * g.age; g.span != 1 {
				movement = divide(movement, g.span)
			}
		}
		side := movement >> 63
		place := (uint(g.first)+min(uint(bits.Len64(uint64(movement^side-side))), movementSteps)*misses)<<decoderBits + miss
		entry := uint(row.tokens[i].entries[place|uint(uint8(acc))])
		if entry&sizeMask == 0 {
			entry = row.tokens[i].long(place, acc)
		}
		size := entry & sizeMask
		if size > n { // then the code may be another one
			had := n
			if q.At, acc, n = refillLast(q.Buf, q.At, acc, n); n == had {
				return false
			}
			continue
		}
		length := entry >> lengthShift & lengthMask
		raw := (size - length) & 63
		magnitude := uint64(entry>>topShift&3)<<raw | acc>>length&(1<<raw-1)
		acc, n = acc>>size, n-size
		sign := -(uint64(entry>>signShift&1) ^ uint64(side)&1)
		now := uint64(min(max(from+movement, 0), row.top[i])) + (magnitude ^ sign - sign)
		if now > uint64(row.Most[i]) || now == uint64(from) {
			return false
		}
		to[i], miss = uint32(now), entry>>missShift<<decoderBits
		changed &= changed - 1
	}
	q.Acc, q.N, q.Miss = acc, n, miss
	return row.Turn == 0 || row.legalTurn((*[4]uint32)(to))
}

// refill loads 56 bits into the accumulator, or all that remain.
func (q *RowReader) refill() {
	if at := q.At; at+8 <= len(q.Buf) && q.N < 56 {
		q.Acc |= binary.LittleEndian.Uint64(q.Buf[at:]) << (q.N & 63)
		q.At, q.N = at+int((63-q.N)>>3), q.N|56
		return
	}
	q.At, q.Acc, q.N = refillLast(q.Buf, q.At, q.Acc, q.N)
}

// rare decodes a row with Delta.Read.
func (q *RowReader) rare(g *RowGroup, row *expectedRow, lanes, base, before []uint32) bool {
	n := len(row.delta.lanes)
	v := quantize.Baselines{Base: base[row.At:][:n], Age: g.age, Span: g.span, Miss: int(q.Miss >> decoderBits)}
	if before != nil {
		v.Before = before[row.At:][:n]
	}
	var r wire.BitReader
	q.End(&r)
	if !row.delta.Read(&r, lanes[row.At:][:n], &v) {
		return false
	}
	q.Begin(&r)
	q.Miss = uint(v.Miss) << decoderBits
	return true
}

// legalTurn reports whether lanes within their bounds are a legal rotation, as quantize does. Far from a tie integers
// decide; a step counts two.
func (e *expectedRow) legalTurn(lanes *[4]uint32) bool {
	m := e.Turn
	x, y, z := 2*int64(lanes[1])-m, 2*int64(lanes[2])-m, 2*int64(lanes[3])-m
	if near := max(abs(x), abs(y), abs(z)) + 3; near*near <= 2*m*m-x*x-y*y-z*z {
		return true
	}
	return e.delta.plan.LegalRow(lanes[:])
}

// SymbolReader decodes a symbol with one table look-up on the next bits, for readers of many rows. Table.Read and
// Table.ReadToken give the same result.
type SymbolReader struct {
	table   *Table
	tokens  bool
	entries []uint16                  // by context and the next decoderBits bits; size 0 for longer codes
	more    [AgeClasses][]uint16      // by age class: entries of longer codes, by the further bits; an entry names its part from symbolShift on
	made    [AgeClasses]atomic.Uint32 // by age class: the entries exist
	making  sync.Mutex
}

// An entry has the number of bits of its symbol, and above them the symbol. For a token it has instead the length of
// the code without raw bits, the leading bits of the magnitude, the sign, and the miss.
const (
	decoderBits = 8
	furtherBits = MaxCodeLength - decoderBits
	mostParts   = 1<<(16-symbolShift) - 1
	sizeMask    = 63
	symbolShift = 6
	lengthShift = 6
	lengthMask  = 15
	topShift    = 10
	signShift   = 12
	missShift   = 13
)

// SymbolReader returns the table's reader. The table has contexts for each age class and is not a table of tokens.
func (t *Table) SymbolReader() *SymbolReader {
	t.onceRead.Do(func() { t.read = newSymbolReader(t, false) })
	return t.read
}

// tokenReader returns the reader of a table of tokens.
func (t *Table) tokenReader() *SymbolReader {
	t.onceRead.Do(func() { t.read = newSymbolReader(t, true) })
	return t.read
}

func newSymbolReader(t *Table, tokens bool) *SymbolReader {
	r := &SymbolReader{table: t, tokens: tokens, entries: make([]uint16, len(t.codes)<<decoderBits)}
	for class := range r.more {
		r.more[class] = make([]uint16, (1+r.parts(class))<<furtherBits) // part 0 means none
	}
	return r
}

// parts returns the number of parts for the longer codes of an age class. It is 0 if only the assembly would use them
// and the assembly is off.
func (t *SymbolReader) parts(class int) (count int) {
	if !t.tokens || !kernel.Wide() {
		return 0
	}
	n := len(t.table.codes) / AgeClasses
	for context := class * n; context < (class+1)*n; context++ {
		var begun [1 << decoderBits]bool
		for _, e := range t.table.code(context).enc {
			if first := &begun[e&(1<<decoderBits-1)]; e>>16 > decoderBits && !*first {
				*first = true
				count++
			}
		}
	}
	return min(count, mostParts)
}

// want prepares the contexts of an age class. Call it before a symbol of the class is read. Any number of goroutines
// may call it.
func (t *SymbolReader) want(class int) {
	if t.made[class].Load() == 0 {
		t.make(class)
	}
}

// make computes the entries of an age class.
//
//go:noinline
func (t *SymbolReader) make(class int) {
	t.making.Lock()
	defer t.making.Unlock()
	if t.made[class].Load() != 0 {
		return
	}
	n, parts := len(t.table.codes)/AgeClasses, 0
	for context := class * n; context < (class+1)*n; context++ {
		entries := t.entries[context<<decoderBits:][:1<<decoderBits]
		for symbol, e := range t.table.code(context).enc {
			length := e >> 16
			for i := int(e & 0xFFFF); length <= decoderBits && i < len(entries); i += 1 << length {
				entries[i] = t.entry(length, symbol)
			}
			if length > decoderBits {
				first := &entries[e&(1<<decoderBits-1)]
				if *first == 0 && (parts+1)<<furtherBits < len(t.more[class]) {
					parts++
					*first = uint16(parts) << symbolShift
				}
				t.addLong(class, *first, length, e&0xFFFF, symbol)
			}
		}
	}
	t.made[class].Store(1)
}

// addLong adds a code of more than decoderBits bits. first is the entry of its first bits. If first names no part, long
// finds the code alone.
func (t *SymbolReader) addLong(class int, first uint16, length, code uint32, symbol int) {
	part := t.more[class][int(first>>symbolShift)<<furtherBits:][:1<<furtherBits]
	for i := int(code >> decoderBits); first != 0 && i < len(part); i += 1 << (length - decoderBits) {
		part[i] = t.entry(length, symbol)
	}
}

// entry returns the entry of a symbol.
func (t *SymbolReader) entry(length uint32, symbol int) uint16 {
	if !t.tokens {
		return uint16(length) | uint16(symbol)<<symbolShift
	}
	raw, top, sign := 0, uint16(symbol), uint16(0)
	switch {
	case symbol >= 3:
		raw, top, sign = (symbol-3)>>2, uint16(2|(symbol-3)>>1&1), uint16((symbol-3)&1)
	case symbol == 2:
		top, sign = 1, 1
	}
	miss := uint16(0)
	if symbol >= 3 { // as in missOf: more than 1 bit, more than 4
		miss = 1 + uint16(bitOf(raw+2 > 4))
	}
	return uint16(int(length)+raw) | uint16(length)<<lengthShift | top<<topShift | sign<<signShift | miss<<missShift
}

// long returns the entry of a code longer than decoderBits. Its context's entries start at place.
//
//go:noinline
func (t *SymbolReader) long(place uint, acc uint64) uint {
	c := t.table.code(int(place >> decoderBits))
	e := uint(c.fast[acc&uint64(len(c.fast)-1)])
	if e == longCode {
		e = c.long(acc)
	}
	return uint(t.entry(uint32(e>>12), int(e&0xFFF)))
}
