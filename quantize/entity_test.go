package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"encoding/hex"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// handle is a game's own type with the layout of Arche's.
type handle struct{ ID, Gen uint32 }

type seeker struct {
	Speed  uint8
	Target ecs.Entity     `net:"entity"`
	Seen   [2]handle      `net:"entity"`
	Home   wire.NetworkID `net:"entity"`
	Fear   float32        `net:"min=0,max=1,step=0.01"`
	Here   ecs.Entity     `net:"-"`
	plain  wire.NetworkID // without the tag: two plain numbers
	Rot    [4]float32     `net:"quat,bits=9"`
	Inner  struct{ On bool }
}

type onBoard struct {
	ecs.Relation
	Seat   uint8
	Driver ecs.Entity `net:"entity"`
}

type bond struct{ ecs.Relation }

func TestEntityFieldsCompile(t *testing.T) {
	p := mustCompile[seeker](t, "Seeker")
	require.Equal(t, "Seeker{Speed:u8;Target:entity;Seen[0]:entity;Seen[1]:entity;Home:entity;Fear:f32[0,1,0.01];"+
		"plain.Index:u32;plain.Generation:u32;Rot:quat9;Inner.On:bool}", string(p.Describe(nil)))
	require.Equal(t, []int{1, 3, 5, 7}, p.Refs())
	require.Equal(t, []int{1, 3, 5}, p.Handles(), "a NetworkID is no handle")
	require.Equal(t, 17, p.Lanes())
	require.Equal(t, 8+4*maxRefBits+7+64+29+1, p.Bits())
	_, ok := p.Target()
	require.False(t, ok)

	p = mustCompile[onBoard](t, "OnBoard")
	require.Equal(t, "OnBoard{Seat:u8;Driver:entity;target:entity}", string(p.Describe(nil)))
	require.Equal(t, []int{1, 3}, p.Refs())
	require.Equal(t, []int{1}, p.Handles())
	lane, ok := p.Target()
	require.True(t, ok)
	require.Equal(t, 3, lane)

	p = mustCompile[bond](t, "Bond")
	require.Equal(t, "Bond{target:entity}", string(p.Describe(nil)))
	require.Equal(t, []int{0}, p.Refs())
	require.Empty(t, p.Handles())
	lane, ok = p.Target()
	require.True(t, ok)
	require.Zero(t, lane)
	require.Empty(t, mustCompile[body](t, "Body").Refs())
}

// A field that resembles an entity or a relation, but is none, is not compiled as one.
func TestEntityFieldsRefused(t *testing.T) {
	type three struct{ A, B, C uint32 }
	type wide struct{ A, B uint64 }
	type half struct{ A, B uint16 }
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct {
			F three `net:"entity"`
		}](),
		reflect.TypeFor[struct {
			F wide `net:"entity"`
		}](),
		reflect.TypeFor[struct {
			F half `net:"entity"`
		}](),
		reflect.TypeFor[struct {
			F uint64 `net:"entity"`
		}](),
		reflect.TypeFor[struct {
			F struct{ E ecs.Entity } `net:"entity"`
		}](),
	} {
		_, err := Compile(typ, "Odd")
		require.ErrorContains(t, err, "does not go with", "%s", typ)
	}
	type second struct {
		N uint8
		ecs.Relation
	}
	_, ok := mustCompile[second](t, "Second").Target()
	require.False(t, ok, "Arche wants it first")
}

func textOf(b []byte, bits int) (s string) {
	for i := range bits {
		s += string('0' + b[i/8]>>(i%8)&1)
	}
	return s
}

func drawRef(t *rapid.T) wire.NetworkID {
	if rapid.IntRange(0, 3).Draw(t, "nil") == 0 {
		return wire.NetworkID{}
	}
	shift := rapid.IntRange(0, 31).Draw(t, "shift")
	return wire.NetworkID{Index: rapid.Uint32().Draw(t, "index") >> shift, Generation: max(rapid.Uint32().Draw(t, "generation")>>rapid.IntRange(0, 31).Draw(t, "less"), 1)}
}

// ids sets the lanes of a row's entity fields to network ids, as the caller of Quantise does.
func putIDs(p *Plan, lanes []uint32, id func() wire.NetworkID) {
	for _, at := range p.Refs() {
		v := id()
		lanes[at], lanes[at+1] = v.Index, v.Generation
	}
}

func TestEntityGolden(t *testing.T) {
	for _, c := range []struct {
		id   wire.NetworkID
		bits int
		text string
	}{
		{wire.NetworkID{}, 1, "00"},
		{wire.NetworkID{Index: 0, Generation: 1}, 10, "8100"},
		{wire.NetworkID{Index: 1, Generation: 1}, 10, "c100"},
		{wire.NetworkID{Index: 2, Generation: 1}, 10, "8300"}, // n = 1 has one bit too
		{wire.NetworkID{Index: 3, Generation: 4}, 10, "c303"},
		{wire.NetworkID{Index: 4, Generation: 5}, 13, "0502"},
		{wire.NetworkID{Index: 1000, Generation: 2}, 18, "13fa01"},
		{wire.NetworkID{Index: 4999, Generation: 1}, 21, "d9e104"},
		{wire.NetworkID{Index: math.MaxUint32, Generation: math.MaxUint32}, maxRefBits, "ffffffff1f" + "0000002800000000"},
	} {
		buf := make([]byte, 24)
		w := wire.NewBitWriter(buf)
		writeRef(&w, c.id.Index, c.id.Generation)
		bits, n := w.Bits(), w.Finish()
		require.Equal(t, c.bits, bits, "%s", c.id)
		require.Equal(t, c.text, hex.EncodeToString(buf[:n]), "%s", c.id)
	}
	// A whole row of each kind, with its debug encoding.
	p := mustCompile[onBoard](t, "OnBoard")
	lanes := []uint32{7, 3, 4, 1000, 2}
	buf := make([]byte, 64)
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, lanes)
	require.Equal(t, "07c34fe807", hex.EncodeToString(buf[:w.Finish()]))
	require.Equal(t, "Seat=7 Driver=3v4 target=1000v2", string(p.AppendValues(nil, lanes)))
	require.Equal(t, "Seat=7 Driver=nil target=nil", string(p.AppendValues(nil, []uint32{7, 0, 0, 0, 0})))
	p.Debug()
	require.Equal(t, 8+64+64, p.Bits())
	w = wire.NewBitWriter(buf)
	p.WriteRow(&w, lanes)
	require.Equal(t, "07"+"0300000004000000"+"e803000002000000", hex.EncodeToString(buf[:w.Finish()]))
}

// Illegal values are refused: a generation above 32 bits, an index without a generation.
func TestEntityIllegal(t *testing.T) {
	for _, generation := range []uint64{math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64} {
		buf := make([]byte, 32)
		w := wire.NewBitWriter(buf)
		w.Write(1, 6)
		w.Write(0, 1)
		w.Var(generation)
		r := wire.NewBitReader(buf[:w.Finish()])
		readRef(&r)
		require.True(t, r.Failed(), "%d", generation)
	}
	p := mustCompile[bond](t, "Bond")
	p.Debug()
	r, lanes := wire.NewBitReader([]byte{5, 0, 0, 0, 0, 0, 0, 0}), make([]uint32, 2)
	require.False(t, p.ReadRow(&r, lanes))

	p = mustCompile[bond](t, "Bond")
	buf := make([]byte, 32)
	w := wire.NewBitWriter(buf)
	p.WriteNext(&w, []uint32{5, 2}, []uint32{5, 0})
	r = wire.NewBitReader(buf[:w.Finish()])
	require.False(t, p.ReadNext(&r, []uint32{5, 2}, lanes))
	w = wire.NewBitWriter(buf)
	p.WriteRow(&w, []uint32{5, 0})
	r = wire.NewBitReader(buf[:w.Finish()])
	require.True(t, p.ReadRow(&r, lanes))
	require.Equal(t, []uint32{0, 0}, lanes, "written as nil")
}

// Every encoding of a row is decoded unchanged, and refused if cut anywhere.
func TestEntityRows(t *testing.T) {
	for _, debug := range []bool{false, true} {
		for _, p := range []*Plan{mustCompile[seeker](t, "S"), mustCompile[onBoard](t, "O"), mustCompile[bond](t, "B")} {
			if debug {
				p.Debug()
			}
			rapid.Check(t, func(t *rapid.T) { checkEntityRow(t, p) })
		}
	}
}

func checkEntityRow(t *rapid.T, p *Plan) {
	memory := reflect.New(p.Type())
	blank := make([]uint32, p.Lanes())
	p.Quantise(memory.UnsafePointer(), blank)
	row := func() []uint32 {
		lanes := append([]uint32{}, blank...)
		if lanes[0] == 0 && p.Refs()[0] != 0 {
			lanes[0] = uint32(rapid.IntRange(0, 255).Draw(t, "byte"))
		}
		putIDs(p, lanes, func() wire.NetworkID { return drawRef(t) })
		return lanes
	}
	before, lanes, got := row(), row(), make([]uint32, p.Lanes())
	start := uint(rapid.IntRange(0, 9).Draw(t, "start"))
	buf := make([]byte, 256)
	w := wire.NewBitWriter(buf)
	w.Write(0, start)
	p.WriteRow(&w, lanes)
	require.LessOrEqual(t, w.Bits()-int(start), p.Bits()+7)
	n := w.Finish()
	for cut := range n + 1 {
		r := wire.NewBitReader(buf[:cut])
		r.Read(start)
		require.Equal(t, cut == n, p.ReadRow(&r, got), "%d of %d", cut, n)
	}
	require.Equal(t, lanes, got)

	w = wire.NewBitWriter(buf)
	p.WriteNext(&w, before, lanes)
	n = w.Finish()
	for cut := range n + 1 {
		r := wire.NewBitReader(buf[:cut])
		require.Equal(t, cut == n, p.ReadNext(&r, before, got))
	}
	require.Equal(t, lanes, got)
	w = wire.NewBitWriter(buf)
	p.WriteRun(&w, append(append([]uint32{}, before...), lanes...), 2)
	require.LessOrEqual(t, w.Bits(), maxRunBits(p, 2))
}

// Handles are copied unchanged, network ids and zero memory too; the target's lanes are not touched.
func TestEntityMemory(t *testing.T) {
	p := mustCompile[seeker](t, "Seeker")
	v := seeker{Speed: 3, Seen: [2]handle{{7, 0}, {9, 4}}, Home: wire.NetworkID{Index: 5, Generation: 6}, Rot: [4]float32{0, 0, 0, 1}}
	*(*handle)(unsafe.Pointer(&v.Target)) = handle{11, 12}
	lanes := make([]uint32, p.Lanes())
	require.Equal(t, wire.NoFault, p.Quantise(unsafe.Pointer(&v), lanes).Reason)
	require.Equal(t, []uint32{3, 11, 12, 7, 0, 9, 4, 5, 6}, lanes[:9])
	var back seeker
	p.Dequantise(lanes, unsafe.Pointer(&back))
	v.Rot = back.Rot // rounded
	require.Equal(t, v, back)
	require.Equal(t, p.AppendFields(nil, unsafe.Pointer(&v)), p.appendEachField(nil, unsafe.Pointer(&back)))
	back.Seen[1].Gen++
	field, equal := p.Compare(unsafe.Pointer(&v), unsafe.Pointer(&back))
	require.False(t, equal)
	require.Equal(t, "Seen[1]", field)
	var seen []wire.NetworkID
	p.MapHandles(unsafe.Pointer(&back), func(h wire.NetworkID) wire.NetworkID {
		seen = append(seen, h)
		return wire.NetworkID{Index: h.Index + 100, Generation: 1}
	})
	require.Equal(t, []wire.NetworkID{{Index: 11, Generation: 12}, {Index: 7}, {Index: 9, Generation: 5}}, seen)
	require.Equal(t, [2]handle{{107, 1}, {109, 1}}, back.Seen)
	require.Equal(t, wire.NetworkID{Index: 5, Generation: 6}, back.Home)

	v.Home = wire.NetworkID{Index: 5}
	fault := p.Quantise(unsafe.Pointer(&v), lanes)
	require.Equal(t, wire.OutOfRange, fault.Reason)
	require.Equal(t, "Home", fault.Field())
	require.Equal(t, []uint32{0, 0}, lanes[7:9])

	q, b := mustCompile[onBoard](t, "OnBoard"), onBoard{Seat: 2}
	lanes = []uint32{0, 0, 0, 77, 78}
	q.Quantise(unsafe.Pointer(&b), lanes)
	require.Equal(t, []uint32{2, 0, 0, 77, 78}, lanes)
	q.Dequantise(lanes, unsafe.Pointer(&b))
	require.Equal(t, onBoard{Seat: 2}, b)
	require.Len(t, q.AppendFields(nil, unsafe.Pointer(&b)), 9)
}

func TestEntityRowsAllocateNothing(t *testing.T) {
	p := mustCompile[seeker](t, "Seeker")
	lanes, buf := make([]uint32, p.Lanes()), make([]byte, 128)
	v := seeker{Rot: [4]float32{0, 0, 0, 1}, Home: wire.NetworkID{Index: 1, Generation: 1}}
	alloctest.Zero(t, 100, func() {
		p.Quantise(unsafe.Pointer(&v), lanes)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, lanes)
		p.WriteRow(&w, lanes)
		r := wire.NewBitReader(buf[:w.Finish()])
		if !p.ReadRow(&r, lanes) || !p.ReadRow(&r, lanes) {
			t.Fatal("does not travel")
		}
	})
}

// FuzzEntityRow: an accepted row is written again with the same bits.
func FuzzEntityRow(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{7, 0xC3, 0x4F, 0xE8, 0x07})
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0, 0, 0, 0x28, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, debug := range []bool{false, true} {
			p := mustCompile[onBoard](t, "OnBoard")
			if debug {
				p.Debug()
			}
			lanes, next := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
			r := wire.NewBitReader(b)
			if !p.ReadRow(&r, lanes) {
				continue
			}
			used := len(b)*8 - r.Remaining()
			buf := make([]byte, len(b)+8)
			w := wire.NewBitWriter(buf)
			p.WriteRow(&w, lanes)
			require.Equal(t, used, w.Bits())
			w.Finish()
			require.Equal(t, textOf(b, used), textOf(buf, used))
			if before := used; p.ReadNext(&r, lanes, next) {
				require.LessOrEqual(t, before, len(b)*8)
				p.WriteRow(&w, next) // panics for an illegal row
			}
		}
	})
}
