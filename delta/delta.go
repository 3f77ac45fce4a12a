package delta

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/quantize"
)

// A Delta encodes rows of one plan as differences from an earlier version T that both ends have. A second version T' is
// used if both ends have it: the one that T itself was encoded against. The bits depend only on these three versions
// and their ticks. They are the same for every client with the same two baselines, and each row can be decoded alone.
//
//	row    for each group of up to four lanes: one symbol that tells which of them changed,
//	         with the lanes that changed between T' and T as its context
//	       then each changed lane in order
//	       then texts and lists, see tail.go
//	lane   token of its distance from the extrapolation, with the extrapolated movement and the age of T as its context;
//	       raw bits, if there is no extrapolation; nothing, if the lane has two values
//
// A row of a single lane has no symbol. The kind of field determines the extrapolation, see LaneModel. The codes come
// from Tables by name: "Position.which0", "Position.0" and so on for a component's own tables, else those of the class.
type Delta struct {
	plan        *quantize.Plan
	groups      []deltaGroup
	lanes       []deltaLane
	fixed       int // number of lanes before those of texts and lists, see tail
	predictions predictedPool
	tails       tailPool
	own         bool // a function of the component extrapolates rows
	floats      bool // all lanes are floats
	spins       bool // they are the four of one rotation
	once        sync.Once
	ready       bool // Prepare has run
	wide        bool // the assembly is available and supports these rows
	class       rowClass
	m           int64       // rotations: the largest value of a lane
	length      uint64      // rotations: the length of quaternions times 256, see rotation
	tops        kernel.Tops // set by goWide, else zeros

	onceRead sync.Once
	expects  bool            // see canExpect
	wideRead bool            // rows are extrapolated in assembly
	movement kernel.Movement // constants for that assembly
}

// deltaGroup is up to four lanes; one symbol tells which of them changed.
type deltaGroup struct {
	first, count int
	table        *Table // nil if the row has one lane
	flat         []atomic.Uint32
	read         *SymbolReader // for RowReader
}

// deltaLane describes how one changed lane is encoded.
type deltaLane struct {
	bits  uint8
	model quantize.LaneModel
	first int16  // first lane of its rotation
	still bool   // extrapolated as unchanged
	table *Table // nil for raw lanes and lanes with two values
	flat  []atomic.Uint32
	short []atomic.Uint32 // cache of short tokens, for Batch
	read  *SymbolReader   // for RowReader
	most  uint64          // for RowReader: the largest legal value
}

// class returns the name of the tables for lanes of this model in any component.
func class(m quantize.LaneModel) string {
	switch {
	case m == quantize.ModelFloat:
		return "class.float"
	case m == quantize.ModelSpin:
		return "class.spin"
	case m == quantize.ModelTurn:
		return "class.turn"
	case m == quantize.ModelPart:
		return "class.rotation"
	case m == quantize.ModelLargest:
		return "class.largest"
	case m == quantize.ModelLinear:
		return "class.linear"
	}
	return "class.number"
}

// laneSymbols returns the alphabet size of a lane's table.
func laneSymbols(m quantize.LaneModel) int {
	if m == quantize.ModelLargest {
		return FarClass
	}
	return deltaSymbols
}

// laneContexts returns the number of contexts of a lane's table.
func laneContexts(m quantize.LaneModel) int {
	if m == quantize.ModelLargest {
		return FarClass
	}
	return deltaContexts
}

// groupLanes is the number of lanes in a group.
const groupLanes = 4

// deltaSymbols is the alphabet size of a lane's table: a distance has up to 33 bits.
const deltaSymbols = 3 + 4*32

// deltaFlat is flatSize(deltaSymbols).
const deltaFlat = 144

// Contexts of a lane's table: the extrapolated movement, and the age of T.
const (
	// AgeClasses is the number of classes of a baseline's age and span.
	AgeClasses = 6
	// FarClass is the first of the classes of a T' that lies far before T.
	FarClass       = 4
	misses         = 3
	contextsPerAge = (2 + movementSteps) * misses
	deltaContexts  = contextsPerAge * AgeClasses
)

// WhichContexts returns the number of contexts of the symbol that tells which of n things changed. Each age class has
// one context per set of things that moved before, and one for unknown.
func WhichContexts(n int) int { return (1<<n + 1) * AgeClasses }

// WhichContext returns the context of the symbol that tells which of n things changed since T. age is the age of T in
// ticks. moved is the set that changed between T' and T, if known, span ticks before T.
func WhichContext(n int, moved uint, known bool, age, span int64) int {
	class := AgeClass(known, age, span)
	if !known {
		moved = 1 << n
	}
	return class*(1<<n+1) + int(moved)
}

// farSpan is the span of a T' that lies far before T: what flies on is then extrapolated with a small error.
const farSpan = 4

// AgeClass returns the class of a baseline's age, in ticks from 1, and of the span from T' to T, if T' is known.
func AgeClass(known bool, age, span int64) int {
	switch {
	case known && span == farSpan && age <= 1:
		return FarClass
	case known && span == farSpan:
		return FarClass + 1
	case age <= 1:
		return 0
	case age <= 4:
		return 1
	case age <= 12:
		return 2
	}
	return 3
}

// TableSource provides tables by name: a set of tables, or a trainer that builds them.
type TableSource interface {
	// Table returns the table called name, else the one called class. It must have these numbers of symbols and
	// contexts.
	Table(name, class string, symbols, contexts int) (*Table, error)
}

// Table implements TableSource. The error wraps ErrAlphabet: neither name exists, or the table has another size.
func (s *Tables) Table(name, class string, symbols, contexts int) (*Table, error) {
	for _, t := range s.list {
		if t.name == name {
			return s.Find(name, symbols, contexts)
		}
	}
	return s.Find(class, symbols, contexts)
}

// Over returns a source that uses the tables of s, and those of below for names that s lacks.
func (s *Tables) Over(below TableSource) TableSource { return overlaid{s, below} }

type overlaid struct {
	above *Tables
	below TableSource
}

// Table implements TableSource. A table with another size is an error: it was trained for something else.
func (o overlaid) Table(name, class string, symbols, contexts int) (*Table, error) {
	for _, t := range o.above.list {
		if t.name == name || t.name == class {
			return o.above.Table(name, class, symbols, contexts)
		}
	}
	return o.below.Table(name, class, symbols, contexts)
}

// Ready returns a source of the same tables that builds all codes in advance, so that a rare context allocates nothing
// during a game. The tables of a component of three fields take a few milliseconds.
func Ready(source TableSource) TableSource { return prepared{source} }

type prepared struct{ of TableSource }

// Table implements TableSource.
func (r prepared) Table(name, class string, symbols, contexts int) (*Table, error) {
	t, err := r.of.Table(name, class, symbols, contexts)
	if t != nil {
		t.ready()
	}
	return t, err
}

// NewDelta returns the Delta of a plan. The error names a missing table.
func NewDelta(p *quantize.Plan, source TableSource) (*Delta, error) {
	if p.ExtrapolatedBy() != "" && !p.Extrapolates() {
		return nil, fmt.Errorf("%w: %s is extrapolated by %s", ErrExtrapolation, p.Name(), p.ExtrapolatedBy())
	}
	d := &Delta{plan: p, lanes: make([]deltaLane, p.Lanes()), fixed: p.Fixed(), own: p.Extrapolates()}
	prefix := tableName(p.Name())
	for i := range d.lanes {
		l := &d.lanes[i]
		of := p.Lane(i)
		*l = deltaLane{bits: of.Bits, model: of.Model, first: of.First, still: of.Still}
		if l.model <= quantize.ModelRaw {
			continue
		}
		var err error
		if l.table, err = source.Table(prefix+"."+strconv.Itoa(i), class(l.model), laneSymbols(l.model), laneContexts(l.model)); err != nil {
			return nil, err
		}
	}
	for first := 0; first < d.fixed; first += groupLanes {
		g := deltaGroup{first: first, count: min(groupLanes, d.fixed-first)}
		if len(d.lanes) > 1 {
			var err error
			name := prefix + ".which" + strconv.Itoa(len(d.groups))
			if g.table, err = source.Table(name, "class.which"+strconv.Itoa(g.count), 1<<g.count, WhichContexts(g.count)); err != nil {
				return nil, err
			}
		}
		d.groups = append(d.groups, g)
	}
	d.floats, d.class = d.onlyFloats(), d.rowClass()
	d.spins = d.floats && len(d.lanes) == groupLanes && d.lanes[0].model == quantize.ModelSpin
	if d.class == classTurn {
		d.m = d.top(1)
		d.length = root(uint64(2*d.m*d.m) << 16)
	}
	return d, nil
}

// tableName returns the table name of a wire name, which may contain characters that table names may not. A changed,
// cut or reserved name gets a hash suffix, so that names do not collide by chance.
func tableName(name string) string {
	clean := []byte(name)
	hash := uint32(2166136261)
	for i, b := range clean {
		hash = (hash ^ uint32(b)) * 16777619
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_', b == '.':
		default:
			clean[i] = '-'
		}
	}
	if string(clean) == name && len(name) <= 40 && name != "class" && name != "rows" && name != "list" {
		return name
	}
	return fmt.Sprintf("%s-%08x", clean[:min(len(clean), 40)], hash)
}

// extrapolation returns the extrapolation of a lane outside a rotation, and its movement since T.
func (d *Delta) extrapolation(i int, v *quantize.Baselines, own *predicted) (extrapolated, movement int64) {
	l := &d.lanes[i]
	base := int64(v.Base[i])
	switch {
	case own != nil && !l.still:
		return l.ownExtrapolation(v.Base[i], own.lanes[i])
	case isFloat(l.model) && (v.Before == nil || l.still):
		return orderedFloat(v.Base[i]), 0
	case v.Before == nil || l.model == quantize.ModelSame:
		return base, 0
	}
	switch l.model {
	case quantize.ModelLinear:
		movement = divide((base-int64(v.Before[i]))*v.Age, v.Span)
	case quantize.ModelTurn:
		movement = divide(wrapped(base-int64(v.Before[i]), l.bits)*v.Age, v.Span)
	case quantize.ModelFloat, quantize.ModelSpin:
		s := spin{of: -1}
		return s.extrapolate(l, i, v)
	}
	extrapolated = base + movement
	if l.model == quantize.ModelLinear {
		extrapolated = min(max(extrapolated, 0), 1<<l.bits-1)
	}
	return extrapolated, movement
}

// ownExtrapolation is extrapolation for lanes that the component's own function extrapolates.
func (l *deltaLane) ownExtrapolation(base, extrapolated uint32) (at, movement int64) {
	switch l.model {
	case quantize.ModelFloat, quantize.ModelSpin:
		at = orderedFloat(extrapolated)
		return at, at - orderedFloat(base)
	case quantize.ModelTurn, quantize.ModelSame:
		return int64(extrapolated), wrapped(int64(extrapolated)-int64(base), l.bits)
	}
	return int64(extrapolated), int64(extrapolated) - int64(base)
}

// divide returns n/by rounded to the nearest, halves away from zero.
func divide(n, by int64) int64 {
	if by == 1 { // usual: a packet per tick, none lost
		return n
	}
	sign := n >> 63 // no branch: the sign is unpredictable
	n = int64((uint64(n^sign-sign) + uint64(by)/2) / uint64(by))
	return n ^ sign - sign
}

// wrapped reduces a difference on a circle of 2^width to -2^(width-1)..2^(width-1)-1.
func wrapped(n int64, width uint8) int64 {
	return n << (64 - width) >> (64 - width)
}

// orderedFloat maps the bits of a float32 to an integer with the same order.
func orderedFloat(lane uint32) int64 {
	if lane>>31 != 0 {
		return -int64(lane & 0x7FFF_FFFF)
	}
	return int64(lane)
}

// floatLane is the inverse of orderedFloat; it returns the positive zero.
func floatLane(n int64) (lane uint32, ok bool) {
	if n < 0 {
		return uint32(-n) | 1<<31, -n <= math.MaxInt32
	}
	return uint32(n), n <= math.MaxInt32
}

// floatExtrapolation extrapolates linearly, in float64, with one rounding per step on every machine.
func floatExtrapolation(base, before uint32, age, span int64) (extrapolated, movement int64) {
	from := orderedFloat(base)
	at, was := float64(math.Float32frombits(base)), float64(math.Float32frombits(before))
	step := float64(at - was)
	if age != 1 {
		step = float64(step * float64(age))
	}
	if span != 1 {
		step = float64(step / float64(span))
	}
	to := float32(at + step)
	if to-to != 0 {
		return from, 0
	}
	extrapolated = orderedFloat(math.Float32bits(to))
	return extrapolated, extrapolated - from
}

// context returns the context of a lane's token: the bit length of its extrapolated movement, and the miss of the
// previous lane. For floats, whose steps are small, two bit lengths share a context.
func (l *deltaLane) context(movement int64, v *quantize.Baselines, miss int) int {
	at := AgeClass(v.Before != nil, v.Age, v.Span) * contextsPerAge
	if v.Before == nil {
		return at + miss
	}
	steps := bits.Len64(uint64(max(movement, -movement)))
	if isFloat(l.model) {
		steps /= 2
	}
	return at + (1+min(steps, movementSteps))*misses + miss
}

// missOf returns the class of a distance: 0, 1 from 2 on, 2 from 16 on.
func missOf(distance int64) (miss int) {
	far := uint64(max(distance, -distance))
	if far >= 2 {
		miss++
	}
	if far >= 16 {
		miss++
	}
	return miss
}

// straight reports whether age and span are 1: a packet per tick, none lost. The movement is then used as it is.
func straight(v *quantize.Baselines) bool { return v.Age == 1 && v.Span == 1 }

// bitOf returns 1 for true.
func bitOf(b bool) (v uint32) {
	if b {
		v = 1
	}
	return v
}

// finiteLane reports whether the bits of a float32 are neither infinite nor NaN.
func finiteLane(bits uint32) bool { return bits&0x7F80_0000 != 0x7F80_0000 }

// ErrExtrapolation means that this program lacks the extrapolation function of a parsed plan.
var ErrExtrapolation = errors.New("wire: the component's extrapolation function is not here")

// predicted is a row that the component's function extrapolated. It belongs to the Delta's pool: call release.
type predicted struct {
	lanes []uint32
	v     quantize.Baselines
}

// predictedPool is a pool of rows for extrapolation, for any number of goroutines.
type predictedPool struct{ pool sync.Pool }

// extrapolated calls the component's function. It returns nil if there is none.
func (d *Delta) extrapolated(v *quantize.Baselines) *predicted {
	if !d.plan.Extrapolates() {
		return nil
	}
	o, _ := d.predictions.pool.Get().(*predicted)
	if o == nil {
		o = &predicted{lanes: make([]uint32, len(d.lanes))}
	}
	copy(o.lanes, v.Base)
	o.v = *v
	d.plan.Extrapolate(o.lanes, &o.v)
	for i := range o.lanes {
		o.lanes[i] = min(o.lanes[i], uint32(d.top(i)))
	}
	return o
}

// release returns the row to the pool.
func (d *Delta) release(o *predicted) {
	if o != nil {
		o.v = quantize.Baselines{}
		d.predictions.pool.Put(o)
	}
}

// EachField calls each with the number of bits that each field takes in the encoded row. Field -1 is the symbols that
// tell which lanes changed.
func (d *Delta) EachField(now []uint32, v *quantize.Baselines, each func(field, bits int)) {
	q := rotation{lane: -1, own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for i := range d.groups {
		g := &d.groups[i]
		changed, moved := g.differing(now, v)
		if g.table != nil {
			each(-1, g.table.Length(WhichContext(g.count, moved, v.Before != nil, v.Age, v.Span), int(changed)))
		}
		for i := range g.count {
			if changed>>i&1 == 0 {
				continue
			}
			s := d.codeLane(g.first+i, now, v, &q)
			_, n := s.Code()
			each(int(d.plan.Lane(g.first+i).Field), int(n+s.RawBits))
		}
	}
	if d.hasTail() {
		d.plan.EachTail(v.Base, now, each)
	}
}
