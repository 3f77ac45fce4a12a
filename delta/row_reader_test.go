package delta

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// readerCase is one entity of a group: its rows at T', at T and now.
type readerCase struct{ before, base, now []uint32 }

// drawRow draws the lanes of a row.
func drawRow(random *rand.Rand, p *quantize.Plan, near []uint32) []uint32 {
	largest := make([]uint64, p.Lanes())
	for i := range largest {
		largest[i] = p.Lane(i).Largest
	}
	return rowtest.Draw(random, largest, near, p.LegalRow)
}

// RowReader decodes the same lanes as Delta.Read, from as many bits. Both refuse the same changed or truncated bits.
func TestRowReaderEqualsDelta(t *testing.T) {
	turn, random, refused, read := readerTurns(t), rand.New(rand.NewPCG(7, 13)), 0, 0
	for i := range 600 {
		n, ok := turn(t, random, damage(i%3), random.Uint32())
		if read += n; !ok {
			refused++
		}
	}
	require.Greater(t, refused, 50)
	require.Greater(t, read, 2000)
}

// FuzzRowReader is TestRowReaderEqualsDelta for a fuzzer: rows from a seed, with a changed bit or a cut end.
func FuzzRowReader(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed, uint8(seed), uint32(seed*seed*seed))
	}
	turn := readerTurns(f)
	f.Fuzz(func(t *testing.T, seed uint64, how uint8, where uint32) {
		turn(t, rand.New(rand.NewPCG(seed, 13)), damage(how%3), where)
	})
}

// damage is a kind of fault in a payload of rows.
type damage int

const (
	undamaged damage = iota
	oneBitChanged
	cutOff
)

// readerTurns returns a function that draws the rows of some entities and decodes them in both ways. It returns how
// many were decoded, and whether all were.
func readerTurns(t testing.TB) func(t *testing.T, random *rand.Rand, how damage, where uint32) (read int, ok bool) {
	usual := readerTurnsOf(t, deltaPlan[rowtest.Place](t), deltaPlan[rowtest.Turn](t), deltaPlan[rowtest.Health](t), deltaPlan[rowtest.Pair](t))
	wide := readerTurnsOf(t, deltaPlan[rowtest.Place](t), deltaPlan[readerSlots](t), deltaPlan[rowtest.Turn](t), deltaPlan[rowtest.Health](t))
	many := readerTurnsOf(t, deltaPlan[rowtest.Place](t), deltaPlan[rowtest.Turn](t), deltaPlan[rowtest.Health](t), deltaPlan[rowtest.Pair](t),
		deltaPlan[rowtest.Turn](t), deltaPlan[rowtest.Place](t))
	floats := readerTurnsOf(t, deltaPlan[float3](t), deltaPlan[readerSpin](t), deltaPlan[float1](t), deltaPlan[rowtest.Place](t), deltaPlan[float2](t), deltaPlan[readerSpin](t))
	return func(t *testing.T, random *rand.Rand, how damage, where uint32) (read int, ok bool) {
		switch random.IntN(6) {
		case 2, 3:
			return floats(t, random, how, where)
		case 0:
			return wide(t, random, how, where)
		case 1:
			return many(t, random, how, where)
		}
		return usual(t, random, how, where)
	}
}

// readerSpin is a rotation of exact floats.
type readerSpin struct{ X, Y, Z, W float32 }

// readerSlots is a component with more lanes than a word has bits.
type readerSlots struct{ Of [40]uint8 }

// readerTurnsOf is readerTurns for some components: each four of them are a group.
func readerTurnsOf(t testing.TB, plans ...*quantize.Plan) func(t *testing.T, random *rand.Rand, how damage, where uint32) (read int, ok bool) {
	var deltas []*Delta
	var at []int
	width := 0
	for _, p := range plans {
		d, err := NewDelta(p, Shipped())
		require.NoError(t, err)
		deltas, at, width = append(deltas, d), append(at, width), width+p.Lanes()
	}
	var which [MaxGroupRows + 1]*Table // by the number of rows
	for n := 1; n < len(which); n++ {
		var err error
		which[n], err = Shipped().Table("rows."+strconv.Itoa(n), "rows."+strconv.Itoa(n), 1<<n, WhichContexts(n))
		require.NoError(t, err)
	}
	return func(t *testing.T, random *rand.Rand, how damage, where uint32) (read int, ok bool) {
		age, span := 1+random.Int64N(3)*random.Int64N(12), 1+random.Int64N(2)*random.Int64N(9)
		far := random.IntN(8) == 0 // movement times age exceeds 32 bits
		if far {
			age, span = age<<random.IntN(18), span<<(random.IntN(2)*random.IntN(18))
		}
		wide := random.IntN(3) > 0 && kernel.Wide()
		for _, d := range deltas {
			d.wideRead = d.canExpect() && wide
		}
		known := random.IntN(6) > 0
		cases := make([]readerCase, 1+random.IntN(MaxExpected))
		var base, before []uint32
		buf := make([]byte, 1<<15)
		w := wire.NewBitWriter(buf)
		for k := range cases {
			c := &cases[k]
			for _, p := range plans {
				was := drawRow(random, p, nil)
				is := drawRow(random, p, was)
				if far {
					is = drawRow(random, p, nil)
				}
				c.before, c.base, c.now = append(c.before, was...), append(c.base, is...), append(c.now, drawRow(random, p, is)...)
			}
			base, before = append(base, c.base...), append(before, c.before...)
			writeReaderCase(&w, &which, deltas, at, c, known, age, span)
		}
		payload := buf[:w.Finish()]
		if !known {
			before = nil
		}
		switch bit := where % uint32(8*len(payload)); how {
		case oneBitChanged:
			payload[bit/8] ^= 1 << (bit % 8)
		case cutOff:
			payload = payload[:bit/8]
		}
		g := make([]RowGroup, (len(deltas)+MaxGroupRows-1)/MaxGroupRows)
		for i := range g {
			from := i * MaxGroupRows
			n := min(MaxGroupRows, len(deltas)-from)
			g[i].Begin(which[n], deltas[from:from+n], at[from:from+n])
			g[i].Expect(len(cases), width, base, before, age, span)
		}
		fast, slow := wire.NewBitReader(payload), wire.NewBitReader(payload)
		for k := 0; k < len(cases); {
			n, of := 1+random.IntN(len(cases)-k), before
			if known {
				of = before[k*width:]
			}
			got := slices.Clone(base[k*width:][:n*width])
			var q RowReader
			q.Begin(&fast)
			ok := q.Entities(g, k, n, width, got, base[k*width:], of)
			q.End(&fast)
			for ; n > 0; k, n, got = k+1, n-1, got[width:] {
				want := make([]uint32, width)
				if !readReaderCase(&slow, &which, deltas, at, want, &cases[k], known, age, span) {
					require.False(t, ok, "entity %d", k)
					return read, false
				}
				read++
				require.Equal(t, want, got[:width])
				if how == undamaged {
					require.Equal(t, cases[k].now, want)
				}
			}
			require.True(t, ok)
			require.Equal(t, slow.Remaining(), fast.Remaining())
		}
		return read, true
	}
}

// A row with more lanes than a word has bits counts as moved, even if only one of its last lanes did.
func TestRowGroupSeesTheLastLaneMove(t *testing.T) {
	p := deltaPlan[readerSlots](t)
	d, err := NewDelta(p, Shipped())
	require.NoError(t, err)
	which, err := Shipped().Table("rows.1", "rows.1", 2, WhichContexts(1))
	require.NoError(t, err)
	base, before := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
	base[p.Lanes()-1] = 1
	var g RowGroup
	g.Begin(which, []*Delta{d}, []int{0})
	g.Expect(1, len(base), base, before, 1, 1)
	require.Equal(t, WhichContext(1, 1, true, 1, 1)<<decoderBits, int(g.Context[0]))
}

// rowsMoved returns the mask of rows that differ.
func rowsMoved(deltas []*Delta, at []int, a, b []uint32) (rows uint) {
	for i, d := range deltas {
		for lane := range d.lanes {
			if a[at[i]+lane] != b[at[i]+lane] {
				rows |= 1 << i
			}
		}
	}
	return rows
}

func (c *readerCase) versions(at, n int, known bool, age, span int64, miss int) quantize.Baselines {
	v := quantize.Baselines{Base: c.base[at : at+n], Age: age, Span: span, Miss: miss}
	if known {
		v.Before = c.before[at : at+n]
	}
	return v
}

func writeReaderCase(w *wire.BitWriter, which *[MaxGroupRows + 1]*Table, deltas []*Delta, at []int, c *readerCase, known bool, age, span int64) {
	for miss := 0; len(deltas) > 0; {
		n := min(len(deltas), MaxGroupRows)
		changed := rowsMoved(deltas[:n], at, c.now, c.base)
		which[n].Write(w, WhichContext(n, rowsMoved(deltas[:n], at, c.base, c.before), known, age, span), int(changed))
		for i, d := range deltas[:n] {
			if changed>>i&1 == 0 {
				continue
			}
			v := c.versions(at[i], len(d.lanes), known, age, span, miss)
			WriteSymbols(w, d.Append(nil, c.now[at[i]:at[i]+len(d.lanes)], &v))
			miss = v.Miss
		}
		deltas, at = deltas[n:], at[n:]
	}
}

func readReaderCase(r *wire.BitReader, which *[MaxGroupRows + 1]*Table, deltas []*Delta, at []int, lanes []uint32, c *readerCase, known bool, age, span int64) bool {
	copy(lanes, c.base)
	for miss := 0; len(deltas) > 0; {
		n := min(len(deltas), MaxGroupRows)
		changed := which[n].Read(r, WhichContext(n, rowsMoved(deltas[:n], at, c.base, c.before), known, age, span))
		for i, d := range deltas[:n] {
			if changed>>i&1 == 0 {
				continue
			}
			v := c.versions(at[i], len(d.lanes), known, age, span, miss)
			if !d.Read(r, lanes[at[i]:at[i]+len(d.lanes)], &v) {
				return false
			}
			miss = v.Miss
		}
		deltas, at = deltas[n:], at[n:]
	}
	return !r.Failed()
}

// Trained tables have more long codes than those that ship: the entries of each must be those that long finds.
func TestEntriesOfManyLongCodes(t *testing.T) {
	if !kernel.Wide() {
		t.Skip("only assembly uses them")
	}
	const contexts = 84 // of an age class
	random := rand.New(rand.NewPCG(1, 2))
	lengths := make([][]uint8, AgeClasses*contexts)
	for context := range lengths {
		weights := make([]uint64, 131)
		for i := range weights {
			weights[i] = 1 + random.Uint64N(1<<random.IntN(14))
		}
		lengths[context] = codeLengths(weights, MaxCodeLength)
	}
	table, err := NewTable("test", lengths)
	require.NoError(t, err)
	r, most := table.tokenReader(), 0
	for class := range AgeClasses {
		r.want(class)
		for context := class * contexts; context < (class+1)*contexts; context++ {
			for code := range 1 << MaxCodeLength {
				first := int(r.entries[context<<decoderBits|code&(1<<decoderBits-1)])
				if part := first >> symbolShift; first&sizeMask == 0 && part != 0 {
					most = max(most, part)
					want := r.long(uint(context<<decoderBits), uint64(code))
					if got := uint(r.more[class][part<<furtherBits|code>>decoderBits]); got != want {
						t.Fatalf("class %d, context %d, bits %x: entry %x, want %x", class, context, code, got, want)
					}
				}
			}
		}
	}
	require.Greater(t, most, 512)
}
