package protocolpage_test

// The third part of the reader written from PROTOCOL.md: rows as what differs. (11)

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// lane is one number of a row, as section 11 looks at it.
type lane struct {
	bits  int
	model string
	first int    // of a rotation: its first lane
	still bool   // it is expected to stay
	table *table // of those that have one
}

// models returns the lanes of a field. Each has the model that it is coded by when it differs.
func (f *field) models() (lanes []lane) {
	for i, width := range f.widths {
		l := lane{bits: width, model: "number", first: f.lane}
		switch {
		case f.base == "entity":
			l.model = ""
		case width == 1:
			l.model = "implied"
		case f.base == "quat" && i == 0:
			l.model = "largest"
		case f.base == "quat":
			l.model = "rotation"
		case len(f.widths) == 2 && i == 0:
			l.model = "raw"
		case f.kind == "f32":
			l.model = "float"
		case f.base == "f32" && f.bounded, f.base == "f64" && f.bounded, f.base == "axis":
			l.model = "linear"
		case f.base == "f32angle", f.base == "f64angle":
			l.model = "turn"
		}
		lanes = append(lanes, l.expect(f.expected))
	}
	return lanes
}

// expect is the lane as a tag says that it is to be extrapolated.
func (l lane) expect(how string) lane {
	switch {
	case l.model == "implied" || l.model == "raw":
	case how == "none":
		l.model = "raw"
	case how == "linear":
		l.model = "linear"
	case how == "previous" && (l.model == "linear" || l.model == "turn"):
		l.model = "number"
	case how == "previous":
		l.still = true
	}
	return l
}

// findSpins finds four f32 in a row that are a rotation, by their paths.
func (s *shape) findSpins() {
	for first := range len(s.fields) - 3 {
		for _, names := range [][]string{{"[0]", "[1]", "[2]", "[3]", "[4]"}, {"X", "Y", "Z", "W", "[4]"}} {
			in, is := strings.CutSuffix(s.fields[first].path, names[0])
			is = is && (names[0] == "[0]" || in == "" || strings.HasSuffix(in, "."))
			for i := range 4 {
				f := &s.fields[first+i]
				is = is && f.kind == "f32" && f.expected == "" && f.path == in+names[i]
			}
			if is && (first+4 == len(s.fields) || s.fields[first+4].path != in+names[4]) {
				for i := range 4 {
					l := &s.lanes[s.fields[first+i].lane]
					l.model, l.first = "spin", s.fields[first].lane
				}
			}
		}
	}
}

// differ reads rows of a shape as what differs.
type differ struct {
	lanes []lane
	which []*table
	shape *shape
}

func newDiffer(s *shape, set tables) *differ {
	d := &differ{shape: s, lanes: s.lanes}
	s.findSpins()
	prefix := tableName(s.name)
	for i := range d.lanes {
		switch l := &d.lanes[i]; l.model {
		case "implied", "raw", "":
		case "largest":
			l.table = set.find(fmt.Sprintf("%s.%d", prefix, i), "class.largest", 4, 4)
		default:
			l.table = set.find(fmt.Sprintf("%s.%d", prefix, i), "class."+l.model, 131, 252)
		}
	}
	for first := 0; first < len(d.lanes) && len(d.lanes)+len(s.tail) > 1; first += 4 {
		n := min(4, len(d.lanes)-first)
		d.which = append(d.which, set.find(fmt.Sprintf("%s.which%d", prefix, first/4), fmt.Sprintf("class.which%d", n), 1<<n, whichContexts(n)))
	}
	return d
}

// tableName returns the beginning of the names of a component's tables.
func tableName(name string) string {
	clean := []byte(name)
	for i, c := range clean {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			clean[i] = '-'
		}
	}
	if string(clean) == name && len(name) <= 40 {
		return name
	}
	return fmt.Sprintf("%s-%08x", clean[:min(len(clean), 40)], fnv32(name))
}

func whichContexts(n int) int { return 6 * (1<<n + 1) }

func ageClass(known bool, age, span int64) int {
	switch {
	case known && span == 4 && age <= 1:
		return 4
	case known && span == 4:
		return 5
	case age <= 1:
		return 0
	case age <= 4:
		return 1
	case age <= 12:
		return 2
	}
	return 3
}

// which is the context of which of n things differ.
func which(n, moved int, known bool, age, span int64) int {
	if !known {
		moved = 1 << n
	}
	return ageClass(known, age, span)*(1<<n+1) + moved
}

// leant has the baselines that a row is read against.
type leant struct {
	base, before []uint32 // before is nil without T'
	age, span    int64
	miss         *int // how far off the token before was
}

// row reads a row that differs from the one at T.
func (d *differ) row(s *stream, v leant) []uint32 {
	row := append([]uint32{}, v.base[:len(d.lanes)]...)
	any := false
	for first := 0; first < len(row); first += 4 {
		n, changed := min(4, len(row)-first), 1
		if len(row)+len(d.shape.tail) > 1 {
			moved := 0
			for i := range n {
				if v.before != nil && v.base[first+i] != v.before[first+i] {
					moved |= 1 << i
				}
			}
			context := which(n, moved, v.before != nil, v.age, v.span)
			changed = d.which[first/4].read(s, context)
			s.part("%s.which%d, context %d: symbol %d", d.shape.name, first/4, context, changed)
		}
		any = any || changed != 0
		for i := range n {
			if changed>>i&1 != 0 {
				row[first+i] = d.lane(s, first+i, row, v)
				must(row[first+i] != v.base[first+i], "lane %d does not differ", first+i)
			}
		}
	}
	row, tail := d.shape.changedTail(s, v.base, row)
	must(any || tail, "nothing differs")
	d.shape.legal(row)
	return row
}

// lane reads a lane that differs; those before it in the row are read.
func (d *differ) lane(s *stream, i int, row []uint32, v leant) uint32 {
	l := &d.lanes[i]
	line := v // what the extrapolation goes by; the context goes by v
	if l.still {
		line.before = nil
	}
	most, wrap, base := int64(1)<<l.bits-1, false, int64(v.base[i])
	extrapolated, movement := base, int64(0)
	switch l.model {
	case "implied":
		return v.base[i] ^ 1
	case "raw":
		defer s.part("lane %d, raw", i)
		return uint32(s.bits(l.bits))
	case "largest":
		defer s.part("lane %d, largest", i)
		return uint32(l.table.read(s, turning(line, i, int64(1)<<d.lanes[i+1].bits-1).largest()))
	case "rotation":
		extrapolated, movement = turning(line, l.first, most).part(int(row[l.first]), i-l.first)
	case "linear":
		if v.before != nil {
			movement = nearest((base-int64(v.before[i]))*v.age, v.span)
		}
		extrapolated = min(max(base+movement, 0), most)
	case "turn":
		wrap = true
		if v.before != nil {
			movement = nearest(around(base-int64(v.before[i]), l.bits)*v.age, v.span)
		}
		extrapolated = base + movement
	case "float":
		extrapolated, movement = floating(line, i)
	case "spin":
		extrapolated, movement = spinning(line, l.first, i)
	case "number":
		wrap = true
	}
	context := l.context(movement, v, *v.miss)
	distance := l.table.token(s, context)
	switch far := size(distance); {
	case far < 2:
		*v.miss = 0
	case far < 16:
		*v.miss = 1
	default:
		*v.miss = 2
	}
	if movement < 0 {
		distance = -distance
	}
	defer s.part("lane %d, %s, context %d: token %+d", i, l.model, context, distance)
	if l.model == "float" || l.model == "spin" {
		return fromPlace(extrapolated, distance)
	}
	now := extrapolated + distance
	if wrap {
		must(distance == around(distance, l.bits), "distance goes around")
		now &= most
	}
	must(now >= 0 && now <= most, "lane %d is %d", i, now)
	return uint32(now)
}

// context is that of a token.
func (l *lane) context(movement int64, v leant, miss int) int {
	at := 42 * ageClass(v.before != nil, v.age, v.span)
	if v.before == nil {
		return at + miss
	}
	n := bits.Len64(size(movement))
	if l.model == "float" || l.model == "spin" {
		n /= 2
	}
	return at + 3*(1+min(n, 12)) + miss
}

func size(n int64) uint64 { return uint64(max(n, -n)) }

// nearest is n/by, halves away from zero.
func nearest(n, by int64) int64 {
	q := (int64(size(n)) + by/2) / by
	if n < 0 {
		return -q
	}
	return q
}

// around is the number of that many bits, with a sign, that n is on a circle.
func around(n int64, width int) int64 {
	n &= 1<<width - 1
	if n >= 1<<(width-1) {
		n -= 1 << width
	}
	return n
}

// place is a float's place among all floats.
func place(lane uint32) int64 {
	if lane >= 1<<31 {
		return -int64(lane - 1<<31)
	}
	return int64(lane)
}

// floating extrapolates the bits of an f32.
func floating(v leant, i int) (extrapolated, movement int64) {
	if v.before == nil {
		return place(v.base[i]), 0
	}
	at, was := float64(math.Float32frombits(v.base[i])), float64(math.Float32frombits(v.before[i]))
	step := float64(at-was) * float64(v.age)
	to := float32(at + float64(step/float64(v.span)))
	if special(float64(to)) {
		return place(v.base[i]), 0
	}
	extrapolated = place(math.Float32bits(to))
	return extrapolated, extrapolated - place(v.base[i])
}

// spinning extrapolates one of the four f32 of a rotation, which goes on turning.
func spinning(v leant, first, i int) (extrapolated, movement int64) {
	if v.before == nil || v.age%v.span != 0 || v.age/v.span > 16 {
		return floating(v, i)
	}
	sum := func(a, b []uint32) float64 {
		var p [4]float64
		for k := range p {
			p[k] = float64(math.Float32frombits(a[first+k])) * float64(math.Float32frombits(b[first+k]))
		}
		return float64(p[0]+p[1]) + float64(p[2]+p[3])
	}
	squares := float64(sum(v.base, v.base) * sum(v.before, v.before))
	twice := 2 * float64(sum(v.base, v.before)/math.Sqrt(squares))
	of := []float64{1, twice}
	for len(of) <= int(v.age/v.span) {
		of = append(of, float64(twice*of[len(of)-1])-of[len(of)-2])
	}
	at, was := float64(math.Float32frombits(v.base[i])), float64(math.Float32frombits(v.before[i]))
	to := float32(float64(of[len(of)-1]*at) - float64(of[len(of)-2]*was))
	if special(float64(to)) {
		return place(v.base[i]), 0
	}
	extrapolated = place(math.Float32bits(to))
	return extrapolated, extrapolated - place(v.base[i])
}

func fromPlace(extrapolated, distance int64) uint32 {
	if distance == 1<<33-1 {
		return 1 << 31 // -0
	}
	n := extrapolated + distance
	must(size(n) < 1<<31, "no float")
	if n < 0 {
		return uint32(-n) | 1<<31
	}
	return uint32(n)
}

// rotation is a quaternion at T and where it is expected, in parts of 1/(m √2).
type rotation struct {
	m            int64
	at, expected [4]int64
}

func turning(v leant, first int, m int64) *rotation {
	q := &rotation{m: m, at: parts(v.base[first:], m)}
	q.expected = q.at
	if v.before == nil {
		return q
	}
	was, dot, moved := parts(v.before[first:], m), int64(0), false
	for i := range was {
		dot += was[i] * q.at[i]
	}
	for i := range was {
		if dot < 0 {
			was[i] = -was[i]
		}
		step := min(max(nearest((q.at[i]-was[i])*v.age, v.span), -4*m), 4*m)
		q.expected[i] += step
		moved = moved || step != 0
	}
	if !moved {
		return q
	}
	square := int64(0)
	for _, c := range q.expected {
		square += c * c
	}
	length, want := root(square<<16), root(2*m*m<<16)
	if length == 0 {
		q.expected = q.at
		return q
	}
	for i, c := range q.expected {
		q.expected[i] = nearest(c*want, length)
	}
	return q
}

func parts(lanes []uint32, m int64) (c [4]int64) {
	rest, at := 2*m*m, 1
	for i := range c {
		if i != int(lanes[0]) {
			c[i] = 2*int64(lanes[at]) - m
			rest -= c[i] * c[i]
			at++
		}
	}
	c[lanes[0]] = root(max(rest, 0))
	return c
}

func (q *rotation) largest() (k int) {
	for i, c := range q.expected {
		if size(c) > size(q.expected[k]) {
			k = i
		}
	}
	return k
}

// part extrapolates the lane that is number lane of the rotation when it leaves out component k.
func (q *rotation) part(k, lane int) (extrapolated, movement int64) {
	i := lane - 1
	if i >= k {
		i++
	}
	number := func(c [4]int64) int64 {
		n := c[i]
		if c[k] < 0 {
			n = -n
		}
		return min(max((n+q.m+1)>>1, 0), q.m)
	}
	return number(q.expected), number(q.expected) - number(q.at)
}

// root is the whole part of a square root, by halving.
func root(n int64) int64 {
	low, high := int64(0), int64(1)<<31
	for high-low > 1 {
		if middle := (low + high) / 2; middle*middle <= n {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
