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

// MaxExpected is the number of rows that are extrapolated together.
const MaxExpected = kernel.MaxExpected

// MaxGroupRows is the number of rows of an entity whose changes are one symbol.
const MaxGroupRows = 4

// RowGroup has the components of up to MaxExpected entities, which are coded against versions of the same two ticks: at most MaxGroupRows components, so that one
// symbol tells which changed. Their contexts are found, and rotations extrapolated, for all entities before the first bit is read: a step that waits for its
// operands then overlaps with those of the other rows. [RowReader.Entities] reads the rows.
type RowGroup struct {
	kernel.ReadGroup               // of rows that are eager
	which            *SymbolReader // which rows changed
	rows             [MaxGroupRows]expectedRow
	count            int
	first            int // the first context of lanes at this age
	age, span        int64
	wide             bool // there are rows that are eager
}

// expectedRow is one component of several entities.
type expectedRow struct {
	kernel.ReadRow                                 // what ReadRows goes by, of rows that are eager
	movement       [MaxExpected * groupLanes]int32 // of rotations, by entity and lane: from T to where the lane is expected
	which          *SymbolReader
	tokens         [groupLanes]*SymbolReader
	top            [groupLanes]int64 // the largest of a lane's bits
	lanes          []deltaLane
	delta          *Delta
	wide           *turnBatch // of rotations, nil: they are extrapolated one by one
	eager          bool       // ReadRows reads the rows
	class          int        // 1 + the class of age that all is ready for; 0: none
}

// Begin makes a group that of some components, at most MaxGroupRows: of which rows change a symbol of a table tells, and the lanes of an entity's row begin at the
// place of the same number.
func (g *RowGroup) Begin(which *Table, deltas []*Delta, at []int) {
	g.which, g.count = which.SymbolReader(), len(deltas)
	g.Which = &g.which.entries[0]
	for i, d := range deltas {
		row := &g.rows[i]
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
		for k := range d.lanes {
			row.Most[k], row.top[k], row.tokens[k] = uint32(d.lanes[k].most), d.top(k), d.lanes[k].read
		}
	}
}

// canExpect reports whether rows of the plan are extrapolated together, and prepares for that. Any number of goroutines may call it.
func (d *Delta) canExpect() bool {
	d.onceRead.Do(func() {
		d.expects = d.class != classOther && !d.plan.Extrapolates() && !d.plan.Debugging()
		for i := range d.lanes {
			of := d.plan.Lane(i)
			d.lanes[i].most = of.Largest
			d.expects = d.expects && (of.Free || d.class == classTurn)
		}
		if !d.expects {
			return
		}
		d.wideRead = kernel.Wide()
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

// Expect prepares the rows of n entities, the lanes of each stride behind those of the one before: those of base are as of T, age ticks ago, those of before as
// of T', span ticks before T. Before is nil if T' is not used.
func (g *RowGroup) Expect(n, stride int, base, before []uint32, age, span int64) {
	class, known := AgeClass(age), before != nil
	g.first, g.age, g.span = class*contextsPerAge, age, span
	if known {
		g.first += misses
	} else {
		before, g.span = base, 1 // nothing moved: the extrapolation is the baseline
	}
	g.which.want(class)
	context := uint16(WhichContext(g.count, 0, known, age) << decoderBits)
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

// prepare makes ready what reads the lanes at a class of age.
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

// expect finds out which lanes of n rows moved, and where they are expected if that is done for all at once.
func (e *expectedRow) expect(g *RowGroup, n, stride int, base, before []uint32) {
	d, age, span := e.delta, g.age, g.span
	e.eager = e.which != nil && d.wideRead && age <= widest && span <= widest
	switch {
	case e.eager && e.Turn != 0:
		e.expectTurnsWide(g, n, stride, base, before)
	case e.eager:
		_, _ = base[(n-1)*stride:][:len(d.lanes)], before[(n-1)*stride:][:len(d.lanes)] // SAFETY: the assembly reads and writes so many rows
		m := d.movement
		m.First, m.Age, m.Half, m.Part = uint32(g.first)<<decoderBits, float64(age), float64(span/2)+0.5, 1/float64(span)
		if span == 1 && age*int64(slices.Max(m.Top[:])) < 1<<31 {
			m.Whole = int32(age)
		}
		kernel.Expect(&e.Expected, &m, &base[0], &before[0], stride, n)
	default:
		e.moves(n, stride, base, before)
		if e.Turn != 0 {
			e.expectTurns(n, stride, base, before, age, span)
		}
	}
}

// moves finds out which lanes of n rows moved. Of a component whose rows Delta.Read reads it tells only if any did.
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

// contexts fills in the contexts of the symbol that tells which lanes changed, and adds to those of the group, by entity, that this row, the i-th, moved.
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

// turnBatch is the memory that the assembly for columns of rotations works on.
type turnBatch struct {
	batch  kernel.Batch
	column kernel.Column
}

// expectTurnsWide is expect for rotations, several rows at a time.
func (e *expectedRow) expectTurnsWide(g *RowGroup, n, stride int, base, before []uint32) {
	s, c, d := &e.wide.batch, &e.wide.column, e.delta
	s.N = n
	for k, row := 0, 0; k < n; k, row = k+1, row+stride {
		r1, r2 := (*[4]uint32)(base[row:]), (*[4]uint32)(before[row:])
		at := k & (MaxExpected - 1) * groupLanes
		*(*[4]uint32)(c.Base[at:]), *(*[4]uint32)(c.Before[at:]) = *r1, *r2
		moved := bitOf(r1[0] != r2[0]) | bitOf(r1[1] != r2[1])<<1 | bitOf(r1[2] != r2[2])<<2 | bitOf(r1[3] != r2[3])<<3
		c.Differ[k&(MaxExpected-1)] = uint8(moved<<groupLanes | 0xE) // as if all but the one that is left out changed
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

// movements fills in the movement of the k-th row that expectTurnsWide went over.
func (e *expectedRow) movements(k int) {
	if e.Turn != 0 {
		for at := k * groupLanes; at < (k+1)*groupLanes; at++ {
			e.movement[at] = int32(e.wide.column.Base[at] - e.wide.batch.Origin[at])
		}
	}
}

// expectTurns fills in how rotations are expected to move. It does what rotation does where both rows leave out the same component and none is turned over; the others are
// extrapolated by that.
func (e *expectedRow) expectTurns(n, stride int, base, before []uint32, age, span int64) {
	d := e.delta
	m, whole := d.m, d.length
	for k, row := 0, 0; k < n; k, row = k+1, row+stride {
		r1, r2 := (*[4]uint32)(base[row:]), (*[4]uint32)(before[row:])
		x, y, z := 2*int64(r1[1])-m, 2*int64(r1[2])-m, 2*int64(r1[3])-m
		a, b, c := 2*int64(r2[1])-m, 2*int64(r2[2])-m, 2*int64(r2[3])-m
		w := int64(math.Sqrt(float64(max(2*m*m-x*x-y*y-z*z, 0)))) // as components does
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
		if square := a*a + b*b + c*c + v*v; moved != 0 && square < 1<<36 { // the root is below 2^26: no rounding makes it a whole number
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

// expectOddTurn is expectTurns for one row, whatever its rotations.
func (e *expectedRow) expectOddTurn(movement *[4]int32, base, before *[4]uint32, age, span int64) {
	q := rotation{lane: -1, m: e.delta.m, length: int64(e.delta.length)}
	q.aim(0, e.delta.m, &quantize.Baselines{Base: base[:], Before: before[:], Age: age, Span: span}, false)
	for lane := 1; lane < groupLanes; lane++ {
		_, by := q.part(int(base[0]&3), lane)
		movement[lane] = int32(by)
	}
}

// RowReader reads rows that were extrapolated together. It takes the bits of a [BitReader] and gives back the rest. It reads the same as [Delta.Read],
// which it calls for rare rows.
type RowReader struct{ kernel.Bits }

// Begin begins with the bits that are left of a reader.
func (q *RowReader) Begin(r *wire.BitReader) {
	q.Buf, q.Acc, q.N = r.State()
	q.At = 0
}

// End gives back the bits that are left.
func (q *RowReader) End(r *wire.BitReader) {
	r.SetState(q.Buf[q.At:], q.Acc&(1<<q.N-1), q.N)
}

// refillLast brings the bits that are left near the end into the accumulator, 56 of them or all.
func refillLast(buf []byte, at int, acc uint64, n uint) (int, uint64, uint) {
	for acc &= 1<<n - 1; at < len(buf) && n < 56; at, n = at+1, n+8 {
		acc |= uint64(buf[at]) << n
	}
	return at, acc, n
}

// Entities reads the rows of n entities of those that Expect has prepared, from the k-th on, all that their records say. Their lanes, each entity's stride
// behind those of the one before it, were base at T and, if T' is used, before at T'; lanes begins as a copy of base. It returns false where Delta.Read would
// for one of the rows, or the bits end.
func (q *RowReader) Entities(groups []RowGroup, k, n, stride int, lanes, base, before []uint32) bool {
	_ = lanes[:n*stride] // SAFETY: ReadRows writes so many lanes
	for first, end := k, k+n; k < end; k++ {
		q.Miss = 0
		for i := range groups {
			g, left := &groups[i], uint(kernel.Unread)
			if g.wide {
				until := k + 1
				if len(groups) == 1 {
					until = end
				}
				_ = g.Context[k:until] // SAFETY: and reads so many contexts
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

// entity reads those rows of the k-th entity that are left.
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
		if g.wide { // ReadRows may have stopped in it
			copy(lanes[row.At:][:len(row.delta.lanes)], base[row.At:])
		}
		q.refill()
		if row.which == nil {
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

// row reads a row that differs.
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
	was := to // nothing moved
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
		if size > n { // then it may be another code
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

// refill brings 56 bits into the accumulator, or all that are left.
func (q *RowReader) refill() {
	if at := q.At; at+8 <= len(q.Buf) && q.N < 56 {
		q.Acc |= binary.LittleEndian.Uint64(q.Buf[at:]) << (q.N & 63)
		q.At, q.N = at+int((63-q.N)>>3), q.N|56
		return
	}
	q.At, q.Acc, q.N = refillLast(q.Buf, q.At, q.Acc, q.N)
}

// rare reads a row by Delta.Read.
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

// legalTurn is op.legalQuat for lanes that are no larger than they may be. Far from a tie whole numbers tell: a step is two of them.
func (e *expectedRow) legalTurn(lanes *[4]uint32) bool {
	m := e.Turn
	x, y, z := 2*int64(lanes[1])-m, 2*int64(lanes[2])-m, 2*int64(lanes[3])-m
	if near := max(abs(x), abs(y), abs(z)) + 3; near*near <= 2*m*m-x*x-y*y-z*z {
		return true
	}
	return e.delta.plan.LegalRow(lanes[:])
}

// SymbolReader finds a symbol of a table in one look at the next bits. It is made for readers of many rows; Table.Read and Table.ReadToken read the same.
type SymbolReader struct {
	table   *Table
	tokens  bool
	entries []uint16                  // by context and the next decoderBits bits; without a size where the code is longer
	more    [AgeClasses][]uint16      // by class of age: entries of longer codes, by the further bits, of parts that entries name from symbolShift on
	made    [AgeClasses]atomic.Uint32 // by class of age: the entries of its contexts are there
	making  sync.Mutex
}

// An entry has how many bits its symbol takes. Above these is the symbol, or of a token the length of its code, without raw bits, what is above these in its
// magnitude, its sign, and how far off it says the lane to be.
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

// SymbolReader returns the table's reader of symbols. The table has contexts for each class of age, and is not one of tokens.
func (t *Table) SymbolReader() *SymbolReader {
	t.onceRead.Do(func() { t.read = newSymbolReader(t, false) })
	return t.read
}

// tokenReader is SymbolReader for a table of tokens.
func (t *Table) tokenReader() *SymbolReader {
	t.onceRead.Do(func() { t.read = newSymbolReader(t, true) })
	return t.read
}

func newSymbolReader(t *Table, tokens bool) *SymbolReader {
	r := &SymbolReader{table: t, tokens: tokens, entries: make([]uint16, len(t.codes)<<decoderBits)}
	for class := range r.more {
		r.more[class] = make([]uint16, (1+r.parts(class))<<furtherBits) // no entry names the first part
	}
	return r
}

// parts returns how many parts there are of the longer codes of a class of age: none where only assembly would read them, and it does not run.
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

// want makes ready for the contexts of a class of age. It has to be called before a symbol is read in one of them. Any number of goroutines may call it.
func (t *SymbolReader) want(class int) {
	if t.made[class].Load() == 0 {
		t.make(class)
	}
}

// make makes the entries of a class of age.
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

// addLong adds a code of more than decoderBits bits. first is the entry of its first bits, which names the part of the others, or none: then long alone finds it.
func (t *SymbolReader) addLong(class int, first uint16, length, code uint32, symbol int) {
	part := t.more[class][first>>symbolShift<<furtherBits:][:1<<furtherBits]
	for i := int(code >> decoderBits); first != 0 && i < len(part); i += 1 << (length - decoderBits) {
		part[i] = t.entry(length, symbol)
	}
}

// entry is that of a symbol.
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
	if symbol >= 3 { // as missOf has it: more than 1 bit, more than 4
		miss = 1 + uint16(bitOf(raw+2 > 4))
	}
	return uint16(int(length)+raw) | uint16(length)<<lengthShift | top<<topShift | sign<<signShift | miss<<missShift
}

// long is the entry of a code that is longer than decoderBits, of the context whose entries begin at a place.
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
