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

// A Delta codes rows of one plan as what differs from an earlier version that both ends hold, T, and, where both hold it
// too, the one that T itself was coded against, T'. The bits depend on these three versions and their ticks and on
// nothing else: the bits are the same for every client with the same two baselines, and each row can be read alone.
//
//	row    for each group of up to four lanes: one symbol, which of them changed;
//	       in the context of which of them changed between T' and T
//	       then each changed lane in order
//	       then texts and lists, see tail.go
//	lane   token of its distance from the extrapolation, in the context of the movement that was extrapolated and of how many
//	       ticks ago T was; raw, where there is nothing to extrapolate; nothing, where it has two values
//
// A row of a single lane has no symbol. Which lanes are extrapolated from what is by kind of field, see LaneModel. The codes
// come from Tables, by name: "Position.which0", "Position.0" and so on for a component's own, else those of the class.
type Delta struct {
	plan        *quantize.Plan
	groups      []deltaGroup
	lanes       []deltaLane
	fixed       int // lanes before those of texts and lists, which come behind: see tail
	predictions predictedPool
	tails       tailPool
	own         bool // rows are extrapolated by a function of the component
	floats      bool // all lanes are such
	once        sync.Once
	ready       bool // for Code
	wide        bool // rows side by side are gone through several at a time: see wide
	tables      kernel.TokenTables
	class       rowClass
	m           int64       // of rowTurn: the largest number of a lane,
	length      uint64      // and the length that quaternions have, times 256: as in rotation
	tops        kernel.Tops // of rows that goWide, else zeros

	onceRead sync.Once
	expects  bool            // see canExpect
	wideRead bool            // rows are expected in assembly,
	movement kernel.Movement // by these numbers
}

// deltaGroup is lanes whose changes are one symbol.
type deltaGroup struct {
	first, count int
	table        *Table // nil when the row has but one lane
	flat         []atomic.Uint32
	read         *SymbolReader // of rows that are read together
}

// deltaLane tells how one lane is sent when it changed.
type deltaLane struct {
	bits  uint8
	model quantize.LaneModel
	first int16  // of a rotation: its first lane
	still bool   // it is expected to stay
	table *Table // nil for raw and implied lanes
	flat  []atomic.Uint32
	short []atomic.Uint32 // of rows that are coded side by side
	read  *SymbolReader   // of rows that are read together
	most  uint64          // of those: the largest legal number
}

// class is the name under which tables for any component's lanes of this kind are found.
func class(m quantize.LaneModel) string {
	switch {
	case m == quantize.ModelFloat:
		return "class.float"
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

// laneSymbols is the alphabet of the tables of such lanes.
func laneSymbols(m quantize.LaneModel) int {
	if m == quantize.ModelLargest {
		return 4
	}
	return deltaSymbols
}

// laneContexts returns the number of contexts of those tables.
func laneContexts(m quantize.LaneModel) int {
	if m == quantize.ModelLargest {
		return 4
	}
	return deltaContexts
}

// groupLanes is the number of lanes whose changes are one symbol.
const groupLanes = 4

// deltaSymbols is the alphabet of a lane's table: a lane may be 33 bits away from its extrapolation.
const deltaSymbols = 3 + 4*32

// deltaFlat is flatSize of it.
const deltaFlat = 144

// Contexts of a lane's table: the extrapolated movement, and how long ago T was.
const (
	// AgeClasses is the number of classes of the age of a baseline.
	AgeClasses     = 4
	misses         = 3
	contextsPerAge = (2 + movementSteps) * misses
	deltaContexts  = contextsPerAge * AgeClasses
)

// WhichContexts returns the number of contexts of the symbol that tells which of n things changed: one for each set that moved before, and one for
// unknown, for each class of age.
func WhichContexts(n int) int { return (1<<n + 1) * AgeClasses }

// WhichContext is the context for which of n things changed since T, age ticks ago, when those of moved had moved between
// T' and T, or when that is not known.
func WhichContext(n int, moved uint, known bool, age int64) int {
	if !known {
		moved = 1 << n
	}
	return AgeClass(age)*(1<<n+1) + int(moved)
}

// AgeClass tells apart how old a baseline is, in ticks from 1.
func AgeClass(age int64) int {
	switch {
	case age <= 1:
		return 0
	case age <= 4:
		return 1
	case age <= 12:
		return 2
	}
	return 3
}

// TableSource gives tables by name: a set of tables, or a trainer that has yet to make them.
type TableSource interface {
	// Table returns the table of the first of two names that is known, with so many symbols and contexts.
	Table(name, class string, symbols, contexts int) (*Table, error)
}

// Table implements TableSource. The error wraps ErrAlphabet: neither name is known, or the table is of another size.
func (s *Tables) Table(name, class string, symbols, contexts int) (*Table, error) {
	for _, t := range s.list {
		if t.name == name {
			return s.Find(name, symbols, contexts)
		}
	}
	return s.Find(class, symbols, contexts)
}

// Over returns a source that gives the tables of s, and those of another source for what s does not know.
func (s *Tables) Over(below TableSource) TableSource { return overlaid{s, below} }

type overlaid struct {
	above *Tables
	below TableSource
}

// Table implements TableSource. A table that is known but of another size is an error: it was trained for something else.
func (o overlaid) Table(name, class string, symbols, contexts int) (*Table, error) {
	for _, t := range o.above.list {
		if t.name == name || t.name == class {
			return o.above.Table(name, class, symbols, contexts)
		}
	}
	return o.below.Table(name, class, symbols, contexts)
}

// Ready returns a source of the same tables with all their codes made, so that none is made, and nothing allocated, when a
// rare context first comes up in a game. A set of tables for a component of three fields takes a few milliseconds.
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

// NewDelta returns the delta code of a plan. The error tells which table is missing.
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
	if d.class == classTurn {
		d.m = d.top(1)
		d.length = root(uint64(2*d.m*d.m) << 16)
	}
	return d, nil
}

// tableName makes a table's name of a wire name, which may hold what table names may not. One that was changed or cut, or
// is what tables of no component begin with, has its hash in it, so that no two come to be the same by chance.
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

// extrapolation extrapolates a lane that is no part of a rotation, and returns the movement that leads there from T too.
func (d *Delta) extrapolation(i int, v *quantize.Baselines, own *predicted) (extrapolated, movement int64) {
	l := &d.lanes[i]
	base := int64(v.Base[i])
	switch {
	case own != nil && !l.still:
		return l.ownExtrapolation(v.Base[i], own.lanes[i])
	case l.model == quantize.ModelFloat && (v.Before == nil || l.still):
		return orderedFloat(v.Base[i]), 0
	case v.Before == nil || l.model == quantize.ModelSame:
		return base, 0
	}
	switch l.model {
	case quantize.ModelLinear:
		movement = divide((base-int64(v.Before[i]))*v.Age, v.Span)
	case quantize.ModelTurn:
		movement = divide(wrapped(base-int64(v.Before[i]), l.bits)*v.Age, v.Span)
	case quantize.ModelFloat:
		return floatExtrapolation(v.Base[i], v.Before[i], v.Age, v.Span)
	}
	extrapolated = base + movement
	if l.model == quantize.ModelLinear {
		extrapolated = min(max(extrapolated, 0), 1<<l.bits-1)
	}
	return extrapolated, movement
}

// ownExtrapolation is extrapolation by the component's own function.
func (l *deltaLane) ownExtrapolation(base, extrapolated uint32) (at, movement int64) {
	switch l.model {
	case quantize.ModelFloat:
		at = orderedFloat(extrapolated)
		return at, at - orderedFloat(base)
	case quantize.ModelTurn, quantize.ModelSame:
		return int64(extrapolated), wrapped(int64(extrapolated)-int64(base), l.bits)
	}
	return int64(extrapolated), int64(extrapolated) - int64(base)
}

// divide rounds to the nearest, halves away from zero.
func divide(n, by int64) int64 {
	if by == 1 { // most often: a packet a tick, none lost
		return n
	}
	sign := n >> 63 // no branch on it, which nobody could foresee
	n = int64((uint64(n^sign-sign) + uint64(by)/2) / uint64(by))
	return n ^ sign - sign
}

// wrapped is a difference on a circle of 2^width, from -2^(width-1) to 2^(width-1)-1.
func wrapped(n int64, width uint8) int64 {
	return n << (64 - width) >> (64 - width)
}

// orderedFloat maps the bits of a float32 to a number that is larger for a larger float.
func orderedFloat(lane uint32) int64 {
	if lane>>31 != 0 {
		return -int64(lane & 0x7FFF_FFFF)
	}
	return int64(lane)
}

// floatLane is the inverse of orderedFloat; of the two zeros it knows the positive one.
func floatLane(n int64) (lane uint32, ok bool) {
	if n < 0 {
		return uint32(-n) | 1<<31, -n <= math.MaxInt32
	}
	return uint32(n), n <= math.MaxInt32
}

// floatExtrapolation goes on in a straight line, in float64 and rounded once each step on every machine.
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

// context is the context of a lane's token: how far it was expected to move, in the bits of that number, and how far off the lane before
// was. Movements of floats are small: every other length is enough.
func (l *deltaLane) context(movement int64, v *quantize.Baselines, miss int) int {
	at := AgeClass(v.Age) * contextsPerAge
	if v.Before == nil {
		return at + miss
	}
	steps := bits.Len64(uint64(max(movement, -movement)))
	if l.model == quantize.ModelFloat {
		steps /= 2
	}
	return at + (1+min(steps, movementSteps))*misses + miss
}

// missOf tells apart how far off a lane was: one more from 2 and from 16 on.
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

// straight reports whether the extrapolation is as far from T as T is from T', one tick: most often, a packet a tick and none lost. Then a movement is continued
// as it is.
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

// ErrExtrapolation means that a plan that was parsed is extrapolated by a function that this program does not have.
var ErrExtrapolation = errors.New("wire: the component's extrapolation function is not here")

// predicted is the row that the plan's function extrapolates. The rows are the Delta's, to be used again: give them back.
type predicted struct {
	lanes []uint32
	v     quantize.Baselines
}

// predictedPool keeps rows for extrapolations. Any number of goroutines may ask.
type predictedPool struct{ pool sync.Pool }

// extrapolated asks the plan's function, nil where it has none.
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

// release gives the row back.
func (d *Delta) release(o *predicted) {
	if o != nil {
		o.v = quantize.Baselines{}
		d.predictions.pool.Put(o)
	}
}

// EachField tells how many bits each field takes of a row that is sent as what differs; field -1 is which of them do.
func (d *Delta) EachField(now []uint32, v *quantize.Baselines, each func(field, bits int)) {
	q := rotation{lane: -1, own: d.extrapolated(v), miss: v.Miss}
	defer d.release(q.own)
	for _, g := range d.groups {
		changed, moved := g.differing(now, v)
		if g.table != nil {
			each(-1, g.table.Length(WhichContext(g.count, moved, v.Before != nil, v.Age), int(changed)))
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
