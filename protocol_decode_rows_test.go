package netcode_test

// The second half of the reader written from PROTOCOL.md: bits, rows and snapshots.

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// stream is a bit stream. (9)
type stream struct {
	b  []byte
	at int
}

func (s *stream) bits(n int) (v uint64) {
	must(n <= 8*len(s.b)-s.at, "the bits end")
	for i := range n {
		v |= uint64(s.b[s.at/8]>>(s.at%8)&1) << i
		s.at++
	}
	return v
}

func (s *stream) bit() bool { return s.bits(1) == 1 }

func (s *stream) number() uint64 { // Var
	b := 0
	for !s.bit() {
		b++
		must(b <= 62, "Var")
	}
	v := s.bits(b + 2)
	must(b < 62 || v < 4, "Var")
	return v + 4*(1<<b-1)
}

func (s *stream) end() {
	left := 8*len(s.b) - s.at
	must(left < 8 && s.bits(left) == 0, "padding")
}

// field is one field of a description. (8)
type field struct {
	path, kind string
	base       string // the kind without bounds and bits
	width      int    // of the type, in bits
	k          int    // bits of an angle or a quaternion
	min, max   float64
	step       float64
	low        uint64 // an integer's least value, as 64 bits in two's complement
	most       uint64 // N
	bounded    bool
}

// shape is one description.
type shape struct {
	name   string
	fields []field
}

func parseShape(text string) shape {
	name, list, _ := strings.Cut(text, "{")
	if end := strings.LastIndex(list, "}"); end >= 0 { // what follows a message's fields says how it travels
		list = list[:end]
	}
	s := shape{name: name}
	if list != "" {
		for _, part := range strings.Split(list, ";") {
			path, kind, _ := strings.Cut(part, ":")
			s.fields = append(s.fields, parseField(path, kind))
		}
	}
	return s
}

func parseField(path, kind string) field {
	base, bounds, bounded := strings.Cut(strings.TrimSuffix(kind, "]"), "[")
	f := field{path: path, kind: kind, base: base, bounded: bounded}
	for _, turn := range []string{"f32angle", "f64angle", "quat"} {
		if digits, ok := strings.CutPrefix(base, turn); ok {
			f.base = turn
			f.k, _ = strconv.Atoi(digits)
			f.most = 1<<f.k - 1
			f.width, _ = strconv.Atoi(strings.TrimPrefix(turn[:3], "f"))
			return f
		}
	}
	f.width, _ = strconv.Atoi(strings.TrimLeft(base, "uif"))
	part := strings.Split(bounds, ",")
	switch {
	case bounded && base[0] == 'f':
		f.min, _ = strconv.ParseFloat(part[0], f.width)
		f.max, _ = strconv.ParseFloat(part[1], f.width)
		f.step, _ = strconv.ParseFloat(part[2], 64)
		steps := math.Ceil((f.max-f.min)/f.step - 1e-6)
		f.most, f.step = uint64(steps), (f.max-f.min)/steps
	case bounded && base[0] == 'i':
		low, _ := strconv.ParseInt(part[0], 10, 64)
		high, _ := strconv.ParseInt(part[1], 10, 64)
		f.low, f.most = uint64(low), uint64(high)-uint64(low)
	case bounded:
		f.low, _ = strconv.ParseUint(part[0], 10, 64)
		high, _ := strconv.ParseUint(part[1], 10, 64)
		f.most = high - f.low
	case base == "bool":
		f.most = 1
	default:
		f.most = 1<<f.width - 1
		if base[0] == 'i' {
			f.low = -(uint64(1) << (f.width - 1))
		}
	}
	return f
}

// read reads a field's numbers, those of 64 bits in one.
func (f *field) read(s *stream) []uint64 {
	if f.base == "quat" {
		row := []uint64{s.bits(2), s.bits(f.k), s.bits(f.k), s.bits(f.k)}
		must(f.leftOut(f.quat(row)) == int(row[0]), "no rotation")
		return row
	}
	low := min(bits.Len64(f.most), 32)
	v := s.bits(low)
	v |= s.bits(bits.Len64(f.most)-low) << 32
	must(v <= f.most, "%s is %d", f.path, v)
	must(f.kind != "f32" || !special(float64(math.Float32frombits(uint32(v)))), "f32")
	must(f.kind != "f64" || !special(math.Float64frombits(v)), "f64")
	return []uint64{v}
}

func special(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// quat is the value of a quaternion.
func (f *field) quat(row []uint64) (q [4]float32) {
	step := math.Sqrt2 / float64(f.most)
	var g [3]float64
	for i := range g {
		g[i] = float64(float64(row[1+i])*step) - math.Sqrt2/2
	}
	sum := float64(float64(g[0]*g[0])+float64(g[1]*g[1])) + float64(g[2]*g[2])
	at := 0
	for i := range q {
		if i == int(row[0]) {
			q[i] = float32(math.Sqrt(max(0, 1-sum)))
			continue
		}
		q[i] = float32(g[at])
		at++
	}
	return q
}

// leftOut is which component a value leaves out.
func (f *field) leftOut(q [4]float32) int {
	largest := 0.0
	for _, c := range q {
		largest = max(largest, math.Abs(float64(c)))
	}
	limit := largest - math.Sqrt2/float64(f.most)/2
	return slices.IndexFunc(q[:], func(c float32) bool { return math.Abs(float64(c)) >= limit })
}

func (f *field) text(v []uint64) string {
	float := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	if f.width == 32 || f.base == "quat" {
		float = func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 32) }
	}
	n := v[0]
	switch f.base {
	case "bool":
		return strconv.FormatBool(n == 1)
	case "quat":
		q := f.quat(v)
		return fmt.Sprintf("%s,%s,%s,%s", float(float64(q[0])), float(float64(q[1])), float(float64(q[2])), float(float64(q[3])))
	case "f32angle", "f64angle":
		s := int64(n)
		if n >= 1<<(f.k-1) {
			s -= 1 << f.k
		}
		return float(float64(s) * (2 * math.Pi / float64(uint64(1)<<f.k)))
	case "f32", "f64":
		switch {
		case f.bounded:
			return float(f.min + float64(float64(n)*f.step))
		case f.width == 32:
			return float(float64(math.Float32frombits(uint32(n))))
		}
		return float(math.Float64frombits(n))
	}
	if f.base[0] == 'i' {
		return strconv.FormatInt(int64(n+f.low), 10)
	}
	return strconv.FormatUint(n+f.low, 10)
}

func (s *shape) row(from *stream) (row [][]uint64) {
	for i := range s.fields {
		row = append(row, s.fields[i].read(from))
	}
	return row
}

func (s *shape) text(row [][]uint64) string {
	var parts []string
	for i := range s.fields {
		parts = append(parts, s.fields[i].path+":"+s.fields[i].text(row[i]))
	}
	return s.name + "{" + strings.Join(parts, ";") + "}"
}

// state is an entity as one record left it.
type state struct {
	generation uint64
	rows       map[int][][]uint64
}

// observed is the client side of section 7 for a client that gets every packet; it never forgets.
type observed struct {
	components []shape
	newest     int64
	window     int64
	asked      uint16
	past       map[uint64]map[int64]state // index, tick of the record
	present    map[uint64]state
	applied    map[uint64]int64
}

func newObserved(components []shape, tick, window int64) *observed {
	return &observed{components: components, newest: tick, window: window,
		past: map[uint64]map[int64]state{}, present: map[uint64]state{}, applied: map[uint64]int64{}}
}

// counts is what the records of one snapshot are.
type counts struct{ despawns, absolute, baseline, rows, same int }

// snapshot decodes a payload and says what the entities in it are afterwards.
func (o *observed) snapshot(payload []byte) string {
	s := &stream{b: payload}
	tick := o.newest + int64(uint16(s.bits(16))-uint16(o.newest))
	if tick-o.newest > 1<<15 {
		tick -= 1 << 16
	}
	must(tick >= 1 && tick > o.newest-o.window, "tick %d", tick)
	resynced := uint64(0)
	if s.bit() {
		resynced = s.bits(16)
		must(resynced != 0 && int16(uint16(resynced)-o.asked) <= 0, "resync %d", resynced)
	}
	var n counts
	var age int64
	despawned, updated := map[uint64]uint64{}, map[uint64]state{}
	for at := uint64(0); s.bit(); {
		index := gap(s, &at)
		despawned[index] = generation(s)
		n.despawns++
	}
	for at := uint64(0); s.bit(); {
		index := gap(s, &at)
		_, twice := updated[index]
		must(!twice, "two records of one entity")
		if s.bit() {
			updated[index] = o.against(s, index, tick, &age, &n)
		} else {
			updated[index] = o.absolute(s, &n)
		}
	}
	s.end()
	must(len(despawned)+len(updated) > 0, "no record")
	o.newest = max(o.newest, tick)
	return fmt.Sprintf("Snapshot tick=%d resynced=%d despawns=%d absolute=%d baseline=%d rows=%d same=%d: %s", tick, resynced,
		n.despawns, n.absolute, n.baseline, n.rows, n.same, strings.Join(o.apply(tick, despawned, updated), "; "))
}

func gap(s *stream, at *uint64) (index uint64) {
	skipped := s.number()
	must(skipped < 1<<32, "gap")
	index = (*at + skipped) % (1 << 32)
	must(index < 1<<20, "index %d", index)
	*at = index + 1
	return index
}

func generation(s *stream) uint64 {
	g := s.number()
	must(g >= 1 && g < 1<<32, "generation %d", g)
	return g
}

func (o *observed) present1(s *stream) (rows []int) {
	for row := range o.components {
		if s.bit() {
			rows = append(rows, row)
		}
	}
	return rows
}

func (o *observed) absolute(s *stream, n *counts) state {
	e := state{generation: generation(s), rows: map[int][][]uint64{}}
	n.absolute++
	for _, row := range o.present1(s) {
		e.rows[row] = o.components[row].row(s)
		n.rows++
	}
	return e
}

func (o *observed) against(s *stream, index uint64, tick int64, age *int64, n *counts) state {
	if s.bit() {
		must(*age != 0, "same age as none")
	} else {
		v := s.number()
		must(v < uint64(tick) && int64(v)+1 != *age, "age %d", v+1)
		*age = int64(v) + 1
	}
	must(tick-*age >= 1, "age %d", *age)
	base, held := o.past[index][tick-*age]
	must(held, "no record of %d at %d", index, tick-*age)
	e := state{generation: base.generation, rows: map[int][][]uint64{}}
	n.baseline++
	var rows []int
	if s.bit() {
		for row := range o.components {
			if _, has := base.rows[row]; has {
				rows = append(rows, row)
			}
		}
	} else {
		rows = o.present1(s)
	}
	for _, row := range rows {
		if s.bit() {
			e.rows[row] = o.components[row].row(s)
			n.rows++
			continue
		}
		was, had := base.rows[row]
		must(had, "row %d is not at the baseline", row)
		e.rows[row] = was
		n.same++
	}
	return e
}

// apply lets a decoded snapshot take effect.
func (o *observed) apply(tick int64, despawned map[uint64]uint64, updated map[uint64]state) (texts []string) {
	touched := map[uint64]bool{}
	for index, generation := range despawned {
		touched[index] = true
		if o.present[index].generation <= generation {
			o.present[index], o.applied[index] = state{generation: generation}, tick
		}
	}
	for index, e := range updated {
		touched[index] = true
		if o.past[index] == nil {
			o.past[index] = map[int64]state{}
		}
		o.past[index][tick] = e
		if g := o.present[index].generation; e.generation > g || (e.generation == g && tick > o.applied[index]) {
			o.present[index], o.applied[index] = e, tick
		}
	}
	for index := range touched {
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
	slices.Sort(texts) // indexes below 10
	return texts
}
