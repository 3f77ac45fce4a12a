package quantize

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/wire"
)

// slot is an element of a list.
type slot struct {
	Item  uint16
	Count uint8      `net:"min=0,max=99"`
	Local int32      `net:"-"`
	Rot   [4]float32 `net:"quat,bits=9"`
	Label wire.Text[[4]byte]
	Owner wire.NetworkID `net:"entity"`
}

// sheet has texts and lists among other fields.
type sheet struct {
	Name   wire.Text[[20]byte]
	Health uint16
	Slots  wire.List[slot, [5]slot]
	At     float32                        `net:"min=-8,max=8,step=0.5"`
	Points wire.List[float32, [3]float32] `net:"min=-1,max=1,step=0.5"`
	Notes  [2]wire.Text[[8]byte]
}

const sheetText = "sheet{Health:u16;At:f32[-8,8,0.5];Name:text20;" +
	"Slots:list5(Item:u16 Count:u8[0,99] Rot:quat9 Owner:entity Label:text4);" +
	"Points:list3(value:f32[-1,1,0.5]);Notes[0]:text8;Notes[1]:text8}"

// drawSheet draws a value and its expected value at the receiver.
func drawSheet(t *rapid.T) (v, want sheet) {
	text := rapid.StringN(0, 5, 8)
	v.Name.Set(rapid.StringN(0, 12, 20).Draw(t, "name"))
	v.Health = rapid.Uint16().Draw(t, "health")
	for range rapid.IntRange(0, 5).Draw(t, "slots") {
		s := slot{Item: rapid.Uint16Range(0, 3).Draw(t, "item"), Count: uint8(rapid.IntRange(0, 99).Draw(t, "count")), Rot: [4]float32{0, 0, 0, 1}}
		s.Label.Set(text.Draw(t, "label"))
		if rapid.Bool().Draw(t, "owned") {
			s.Owner = wire.NetworkID{Index: rapid.Uint32().Draw(t, "index"), Generation: rapid.Uint32Min(1).Draw(t, "generation")}
		}
		v.Slots.Append(s)
	}
	for range rapid.IntRange(0, 3).Draw(t, "points") {
		v.Points.Append(float32(rapid.IntRange(-2, 2).Draw(t, "point")) / 2)
	}
	v.Notes[0].Set(text.Draw(t, "note"))
	v.Notes[1].Set(text.Draw(t, "note"))
	return v, v
}

func lanesOfSheet(p *Plan, v *sheet) []uint32 {
	lanes := make([]uint32, p.Lanes())
	p.Quantise(unsafe.Pointer(v), lanes)
	return lanes
}

// settled returns a sheet as decoded: rotations are rounded.
func settled(p *Plan, lanes []uint32) (v sheet) {
	p.Dequantise(lanes, unsafe.Pointer(&v))
	return v
}

func TestTailDescribed(t *testing.T) {
	p := mustCompile[sheet](t, "sheet")
	require.Equal(t, sheetText, string(p.Describe(nil)))
	parsed, err := ParsePlan(sheetText)
	require.NoError(t, err)
	require.Equal(t, []int{p.Lanes(), p.Bits(), p.Fixed(), p.MaxTailBits()}, []int{parsed.Lanes(), parsed.Bits(), parsed.Fixed(), parsed.MaxTailBits()})
	require.Equal(t, p.Refs(), parsed.Refs())
	for _, bad := range []string{
		"a{N:text0}", "a{N:text257}", "a{N:text}", "a{N:list0(value:u8)}", "a{N:list2(value:u8}", "a{N:list2()}", "a{N:list256(a:u64 b:u64 c:u64 d:u64 e:u64)}",
		"a{N:text8;B:u8}", "a{N:list2(value:x)}", "a{N:list2(L:text4 A:u8)}", "a{N:list2}", "a{N:text8~none}",
	} {
		_, err := ParsePlan(bad)
		require.ErrorIs(t, err, ErrDescription, bad)
	}
}

func TestTailRefused(t *testing.T) {
	type tagged struct {
		Name wire.Text32 `net:"half"`
	}
	type nested struct {
		Rows wire.List[wire.List[uint8, [2]uint8], [2]wire.List[uint8, [2]uint8]]
	}
	type empty struct {
		Rows wire.List[struct{}, [2]struct{}]
	}
	type event struct {
		Rows wire.List[bool, [2]bool] `net:"event"`
	}
	type text struct{ Name string }
	type slice struct{ Items []uint16 }
	for want, compile := range map[string]func() (*Plan, error){
		`tagged.Name: the tag net:"half" does not go with a text`:              func() (*Plan, error) { return compileOf[tagged]() },
		`nested.Rows: a list in a list does not travel`:                        func() (*Plan, error) { return compileOf[nested]() },
		`empty.Rows: nothing of an element travels`:                            func() (*Plan, error) { return compileOf[empty]() },
		`event.Rows: an element of a list is no event`:                         func() (*Plan, error) { return compileOf[event]() },
		`a wire.Text can, such as wire.Text32 for 32 bytes`:                    func() (*Plan, error) { return compileOf[text]() },
		`a wire.List can, such as wire.List[uint16, [16]uint16], and an array`: func() (*Plan, error) { return compileOf[slice]() },
	} {
		_, err := compile()
		require.ErrorContains(t, err, want)
	}
}

// TestTailRoundTrip sends random rows through each encoding of rows.
func TestTailRoundTrip(t *testing.T) {
	plans := map[string]*Plan{"packed": mustCompile[sheet](t, "sheet"), "debug": mustCompile[sheet](t, "sheet")}
	plans["debug"].Debug()
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v, _ := drawSheet(t)
				before, _ := drawSheet(t)
				a, b := lanesOfSheet(p, &before), lanesOfSheet(p, &v)
				require.True(t, p.Legal(a) && p.Legal(b))

				one := settled(p, b)
				require.Equal(t, v.Name, one.Name)
				require.Equal(t, v.Points, one.Points)
				require.Equal(t, v.Notes, one.Notes)
				require.Equal(t, v.Slots.Len(), one.Slots.Len())
				for i, s := range v.Slots.All() {
					s.Rot = one.Slots.At(i).Rot // rounded
					require.Equal(t, *s, *one.Slots.At(i))
				}
				require.Equal(t, b, lanesOfSheet(p, &one))

				buf := make([]byte, (maxRunBits(p, 2)+7)/8+8)
				w := wire.NewBitWriter(buf)
				p.WriteRow(&w, b)
				require.LessOrEqual(t, w.Bits(), p.Bits())
				got, r := make([]uint32, len(b)), wire.NewBitReader(buf[:w.Finish()])
				got[3] = 77
				require.True(t, p.ReadRow(&r, got) && r.Done())
				require.Equal(t, b, got)

				w = wire.NewBitWriter(buf)
				p.WriteRun(&w, append(slices.Clone(a), b...), 2)
				require.LessOrEqual(t, w.Bits(), maxRunBits(p, 2))
				rows := make([]uint32, 2*len(b))
				r = wire.NewBitReader(buf[:w.Finish()])
				n, ok := p.ReadRun(&r, rows, 2, false)
				require.True(t, ok && n == 2 && r.Done())
				require.Equal(t, append(slices.Clone(a), b...), rows)
			})
		})
	}
}

// TestTailIgnoresJunk: memory beyond a length, and a length that is too large, have no effect. Only unsafe code can
// write either.
func TestTailIgnoresJunk(t *testing.T) {
	p := mustCompile[sheet](t, "sheet")
	var v sheet
	v.Name.Set("Ann")
	v.Slots.Append(slot{Item: 5, Rot: [4]float32{0, 0, 0, 1}})
	want := lanesOfSheet(p, &v)
	junk := v
	name := (*[22]byte)(unsafe.Pointer(&junk.Name)) // SAFETY: a Text is its length and its bytes.
	name[2+3], name[2+19] = 'x', 0xFF
	second := (*slot)(unsafe.Add(unsafe.Pointer(junk.Slots.At(0)), unsafe.Sizeof(slot{}))) // SAFETY: there is room for five.
	second.Item, second.Count = 9, 200
	lanes := slices.Repeat([]uint32{0xFFFF_FFFF}, p.Lanes())
	require.Zero(t, p.Quantise(unsafe.Pointer(&junk), lanes))
	require.Equal(t, want, lanes)
	p.Dequantise(want, unsafe.Pointer(&junk))
	require.Equal(t, settled(p, want), junk, "what is behind a length is cleared")

	for i := range name {
		name[i] = 'a' // a length of 0x6161
	}
	p.Quantise(unsafe.Pointer(&junk), lanes)
	require.True(t, p.Legal(lanes))
	back := settled(p, lanes)
	require.Equal(t, strings.Repeat("a", 20), back.Name.String())
	name[5] = 0xC3 // invalid UTF-8 with the next byte
	p.Quantise(unsafe.Pointer(&junk), lanes)
	require.True(t, p.Legal(lanes))
	back = settled(p, lanes)
	require.Equal(t, "aaa", back.Name.String())
}

// TestTailFaultNamesElement: a fault names the element; elements beyond the length have none.
func TestTailFaultNamesElement(t *testing.T) {
	p := mustCompile[sheet](t, "sheet")
	var v sheet
	good := slot{Item: 1, Rot: [4]float32{0, 0, 0, 1}}
	v.Slots.Set(good, good, good)
	v.Slots.At(2).Count = 120
	lanes := make([]uint32, p.Lanes())
	fault := p.Quantise(unsafe.Pointer(&v), lanes)
	require.Equal(t, wire.OutOfRange, fault.Reason)
	require.Equal(t, "Slots[2].Count", fault.Field())
	require.Equal(t, "120, and its tag allows 0 to 99", p.Outside(reflectOf(&v), fault))
	got := settled(p, lanes)
	require.EqualValues(t, 99, got.Slots.At(2).Count)
	bad := p.QuantiseRows((*byte)(unsafe.Pointer(&v)), int(p.Size()), []int32{0}, lanes, nil) // SAFETY: one row.
	require.Equal(t, []int32{0}, bad)
}

func TestTailValues(t *testing.T) {
	p := mustCompile[sheet](t, "sheet")
	var v sheet
	v.Name.Set("Ann \"A\"")
	v.Points.Set(0.5, -1)
	v.Slots.Append(slot{Item: 7, Rot: [4]float32{0, 0, 0, 1}})
	require.Equal(t, `Health=0 At=0 Name="Ann \"A\"" Slots=[{Item=7 Count=0 Rot=(0 0 0 1) Owner=nil Label=""}] Points=[{0.5} {-1}] Notes[0]="" Notes[1]=""`,
		strings.ReplaceAll(string(p.AppendValues(nil, lanesOfSheet(p, &v))), "0.0013837706 0.0013837706 0.0013837706 0.99999714", "0 0 0 1"))
	total := 0
	p.EachField(lanesOfSheet(p, &v), func(_, bits int) { total += bits })
	w := wire.NewBitWriter(make([]byte, 200))
	p.WriteRow(&w, lanesOfSheet(p, &v))
	require.Equal(t, w.Bits(), total)
}

// TestTailBits checks the costs given in the guide, in bits.
func TestTailBits(t *testing.T) {
	type named struct {
		Health uint16
		Name   wire.Text32
	}
	p := mustCompile[named](t, "named")
	bits := func(before, now string) (whole, change int) {
		var a, b named
		a.Name.Set(before)
		b.Name.Set(now)
		rows := [2][]uint32{make([]uint32, p.Lanes()), make([]uint32, p.Lanes())}
		p.Quantise(unsafe.Pointer(&a), rows[0])
		p.Quantise(unsafe.Pointer(&b), rows[1])
		buf := make([]byte, 100)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, rows[1])
		whole = w.Bits() - 16
		w = wire.NewBitWriter(buf)
		p.WriteTail(&w, rows[0], rows[1])
		return whole, w.Bits()
	}
	for _, c := range []struct {
		before, now   string
		whole, change int
	}{
		{"", "", 3, 1},                      // empty: 1 bit beside another change
		{"Ann", "Ann", 3 + 24, 1},           //
		{"", "Ann", 3 + 24, 1 + 3 + 3 + 24}, // first sent
		{"", strings.Repeat("x", 32), 9 + 256, 1 + 3 + 9 + 256},
		{"Anna of the hills", "Anna of the hills!", 7 + 144, 1 + 7 + 3 + 8}, // an unchanged prefix
		{"Anna of the hills", "Anna", 5 + 32, 1 + 5 + 3},
	} {
		whole, change := bits(c.before, c.now)
		require.Equal(t, []int{c.whole, c.change}, []int{whole, change}, fmt.Sprintf("%q to %q", c.before, c.now))
	}
}

// TestTailCut cuts rows at every byte, and inverts every bit.
func TestTailCut(t *testing.T) {
	p := mustCompile[sheet](t, "sheet")
	var v sheet
	v.Name.Set("Ännchen")
	v.Slots.Set(slot{Item: 5, Rot: [4]float32{0, 0, 0, 1}}, slot{Item: 6, Rot: [4]float32{0, 0, 1, 0}})
	buf, lanes := make([]byte, 500), lanesOfSheet(p, &v)
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, lanes)
	b, got := buf[:w.Finish()], make([]uint32, p.Lanes())
	for n := range b {
		r := wire.NewBitReader(b[:n])
		require.False(t, p.ReadRow(&r, got), n)
	}
	for at := range 8 * len(b) {
		c := slices.Clone(b)
		c[at/8] ^= 1 << (at % 8)
		readsTheSame(t, p, nil, c)
	}
}

// readsTheSame checks that an accepted row is written with the same bits.
func readsTheSame(t require.TestingT, p *Plan, before []uint32, b []byte) {
	r, got := wire.NewBitReader(b), make([]uint32, p.Lanes())
	if before == nil && !p.ReadRow(&r, got) || before != nil && !p.ReadNext(&r, before, got) {
		return
	}
	require.True(t, p.Legal(got))
	bits := 8*len(b) - r.Remaining()
	buf := make([]byte, maxRunBits(p, 2)/8+8)
	w := wire.NewBitWriter(buf)
	if before == nil {
		p.WriteRow(&w, got)
	} else {
		p.WriteNext(&w, before, got)
	}
	require.Equal(t, bits, w.Bits())
	w.Finish()
	want, have := wire.NewBitReader(b), wire.NewBitReader(buf)
	for ; bits > 0; bits -= 32 {
		n := uint(min(bits, 32))
		require.Equal(t, want.Read(n), have.Read(n))
	}
}

// FuzzTail reads hostile rows with texts and lists.
func FuzzTail(f *testing.F) {
	p, err := ParsePlan(sheetText)
	require.NoError(f, err)
	full := mustCompile[sheet](f, "sheet")
	var v, was sheet
	v.Name.Set("Ann")
	v.Points.Set(0.5, 1)
	v.Slots.Set(slot{Item: 5, Rot: [4]float32{0, 0, 0, 1}})
	was.Name.Set("Anton")
	was.Slots.Set(slot{Item: 5, Rot: [4]float32{0, 0, 0, 1}}, slot{Item: 9, Rot: [4]float32{0, 0, 0, 1}})
	before := lanesOfSheet(full, &was)
	buf := make([]byte, 500)
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, lanesOfSheet(full, &v))
	f.Add(slices.Clone(buf[:w.Finish()]))
	w = wire.NewBitWriter(buf)
	p.WriteNext(&w, before, lanesOfSheet(full, &v))
	f.Add(slices.Clone(buf[:w.Finish()]))
	f.Fuzz(func(t *testing.T, b []byte) {
		readsTheSame(t, p, nil, b)
		readsTheSame(t, p, before, b)
	})
}

func compileOf[T any]() (*Plan, error) {
	t := reflect.TypeFor[T]()
	return Compile(t, t.Name())
}

func reflectOf[T any](v *T) reflect.Value { return reflect.ValueOf(v).Elem() }

// TestTailGolden compares rows with vectors that another program wrote from the description of the format.
func TestTailGolden(t *testing.T) {
	seen := map[string]int{}
	for _, line := range rowtest.Vectors(os.ReadFile("testdata/golden_tail.txt")) {
		word := strings.Fields(line)
		seen[word[0]]++
		p, err := ParsePlan(strings.ReplaceAll(word[1], "_", " "))
		require.NoError(t, err)
		whole := func(text string) (lanes []uint32, ok bool) {
			r := wire.NewBitReader(rowtest.Number(t, rowtest.Bytes, text))
			lanes = make([]uint32, p.Lanes())
			return lanes, p.ReadRow(&r, lanes) && r.Done()
		}
		lanes, ok := whole(word[2])
		require.Equal(t, word[0] != "refuse", ok, line)
		buf := make([]byte, 500)
		w := wire.NewBitWriter(buf)
		switch word[0] {
		case "whole":
			p.WriteRow(&w, lanes)
			require.Equal(t, word[2], fmt.Sprintf("%x", buf[:w.Finish()]), line)
		case "change", "refuse-change":
			r, now := wire.NewBitReader(rowtest.Number(t, rowtest.Bytes, word[3])), make([]uint32, p.Lanes())
			require.Equal(t, word[0] == "change", p.ReadNext(&r, lanes, now) && r.Done(), line)
			if word[0] == "change" {
				p.WriteNext(&w, lanes, now)
				require.Equal(t, word[3], fmt.Sprintf("%x", buf[:w.Finish()]), line)
			}
		}
	}
	require.Equal(t, map[string]int{"whole": 6, "change": 7, "refuse": 6, "refuse-change": 9}, seen)
}
