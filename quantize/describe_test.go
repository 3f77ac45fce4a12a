package quantize

import (
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// everyKind has a field of each kind there is.
type everyKind struct {
	Everything everything
	Sticks     sticks
}

func mustDebug[T any](t testing.TB, name string) *Plan {
	t.Helper()
	p := mustCompile[T](t, name)
	p.Debug()
	return p
}

// TestDebugLaw: rows survive the debug encoding at any offset. Its bytes equal AppendFields, and the
// cell functions agree with those on memory.
func TestDebugLaw(t *testing.T) {
	p, plain := mustDebug[everyKind](t, "EveryKind"), mustCompile[everyKind](t, "EveryKind")
	rapid.Check(t, func(t *rapid.T) {
		var a, b everyKind
		lanes, again := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
		randomise(t, p, unsafe.Pointer(&a))
		p.Quantise(unsafe.Pointer(&a), lanes)
		p.Dequantise(lanes, unsafe.Pointer(&b))

		buf := make([]byte, 1200)
		before := uint(rapid.IntRange(0, 64).Draw(t, "before"))
		w := wire.NewBitWriter(buf)
		w.Write(0, before)
		p.WriteRow(&w, lanes)
		start := int(before+7) / 8
		require.Equal(t, start*8+p.Bits(), w.Bits())
		w.Write(5, 3)
		p.WriteRow(&w, lanes)
		n := w.Finish()
		require.Equal(t, p.AppendFields(nil, unsafe.Pointer(&b)), buf[start:start+p.Bits()/8])
		require.Equal(t, buf[start:start+p.Bits()/8], buf[n-p.Bits()/8:n])

		r := wire.NewBitReader(buf[:n])
		r.Read(before)
		require.True(t, p.ReadRow(&r, again))
		require.Equal(t, lanes, again)
		require.Equal(t, uint64(5), r.Read(3))
		clear(again)
		require.True(t, p.ReadRow(&r, again))
		require.Equal(t, lanes, again)
		require.True(t, r.Done())
		w = wire.NewBitWriter(buf)
		plain.WriteRow(&w, again)
		r = wire.NewBitReader(buf[:w.Finish()])
		require.True(t, plain.ReadRow(&r, again), "and is one that travels packed")
	})
}

// FuzzReadRowDebug: WriteRow writes every row that ReadRow accepts unchanged, and memory has the same value.
func FuzzReadRowDebug(f *testing.F) {
	p, err := Compile(reflect.TypeFor[everyKind](), "EveryKind")
	require.NoError(f, err)
	p.Debug()
	lanes, buf := make([]uint32, p.Lanes()), make([]byte, p.Bits()/8)
	for _, v := range []everyKind{
		{Everything: everything{Rot: [4]float32{0, 0, 0, 1}, Turns: [2]vec4{{W: 1}, {X: 0.5, Y: 0.5, Z: 0.5, W: 0.5}}}},
		{Everything: everything{F64: -1e300, I64: math.MinInt64, Angle: 3}, Sticks: sticks{H: 3, H6: -7, A: [2]float32{1, -1}}},
	} {
		p.Quantise(unsafe.Pointer(&v), lanes)
		w := wire.NewBitWriter(buf)
		p.WriteRow(&w, lanes)
		require.Equal(f, len(buf), w.Finish())
		f.Add(append([]byte(nil), buf...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := wire.NewBitReader(b)
		lanes := make([]uint32, p.Lanes())
		if !p.ReadRow(&r, lanes) {
			require.True(t, r.Failed())
			return
		}
		out := make([]byte, len(b))
		w := wire.NewBitWriter(out)
		p.WriteRow(&w, lanes)
		w.Finish()
		require.Equal(t, b[:p.Bits()/8], out[:p.Bits()/8])
		var v everyKind
		p.Dequantise(lanes, unsafe.Pointer(&v))
		require.Equal(t, out[:p.Bits()/8], p.AppendFields(nil, unsafe.Pointer(&v)))
	})
}

// shown is a message with one field of each kind of value.
type shown struct {
	On    bool
	Small int8 `net:"min=-5,max=5"`
	Large uint64
	Deep  struct{ X, Y float32 }
	Half  float64    `net:"half"`
	Rot   [4]float32 `net:"quat,bits=9"`
}

// dumped builds a packet of three messages.
func dumped(t testing.TB, p *Plan, check wire.Checksum) []byte {
	t.Helper()
	v := shown{On: true, Small: -3, Large: math.MaxUint64, Half: -0.5, Rot: [4]float32{0, 0, 0, 1}}
	v.Deep.X, v.Deep.Y = 1.25, -1e-7
	lanes, payload := make([]uint32, p.Lanes()), make([]byte, 80)
	require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&v), lanes))
	w := wire.NewBitWriter(payload)
	p.WriteRow(&w, lanes)
	payload = payload[:w.Finish()]

	b := wire.AppendPacketHeader(nil, wire.PacketHeader{Sequence: 12, HasAck: true, Ack: 1, AckBits: 0b1011})
	at := len(b)
	b = append(b, 0, 0)
	for _, m := range []struct {
		t       wire.MessageType
		s       tick.Stage
		payload []byte
	}{{wire.MessageKeepAlive, tick.Initialization, nil}, {16, tick.Update, payload}, {200, tick.FixedUpdate, []byte("seventeen bytes..")}} {
		b = append(b, 0, 0, 0, 0)
		wire.MessageHeader{Type: m.t, Stage: m.s, Size: uint16(len(m.payload))}.Put(b[len(b)-wire.MessageHeaderSize:])
		b = append(b, m.payload...)
	}
	wire.BatchHeader{Size: uint16(len(b) - at)}.Put(b[at:])
	return binary.LittleEndian.AppendUint32(b, check.Sum(b))
}

func TestDumpPrintsNames(t *testing.T) {
	for _, off := range []bool{false, true} {
		p, check := mustCompile[shown](t, "Shown"), wire.NewChecksum(1, 2)
		if off {
			p.Debug()
		}
		d := wire.Dump{
			Check: &check,
			Name: func(t wire.MessageType) string {
				if t == 16 {
					return p.Name()
				}
				return ""
			},
			Payload: func(dst []byte, h wire.MessageHeader, payload []byte) ([]byte, bool) {
				if h.Type == 16 {
					return p.AppendPayload(dst, payload), true
				}
				return append(dst, "   nothing\n"...), h.Type == wire.MessageKeepAlive
			},
		}
		packet := dumped(t, p, check)
		size := (p.Bits() + 7) / 8
		rot := "Rot=(0.0013837706 0.0013837706 0.0013837706 0.99999714)"
		want := strings.Join([]string{
			"packet of NN bytes, sequence 12, ack 1, before it 0 65535 65533",
			" batch of MM bytes",
			"  message 2 keep-alive, stage Initialization, 0 bytes",
			"   nothing",
			"  message 16 Shown, stage Update, SS bytes",
			"   On=true Small=-3 Large=18446744073709551615 Deep.X=1.25 Deep.Y=-1e-07 Half=-0.5 " + rot,
			"  message 200 unknown, stage FixedUpdate, 17 bytes",
			"   0000 73 65 76 65 6e 74 65 65 6e 20 62 79 74 65 73 2e",
			"   0010 2e",
			" checksum CC, right",
			"",
		}, "\n")
		got := string(d.Append(nil, packet))
		for mark, n := range map[string]int{"NN": len(packet), "MM": 2 + 4 + 4 + size + 4 + 17, "SS": size} {
			want = strings.Replace(want, mark, strconv.Itoa(n), 1)
		}
		at := strings.Index(got, "checksum ") + 9
		want = strings.Replace(want, "CC", got[at:at+8], 1)
		require.Equal(t, want, got)

		packet[len(packet)-1] ^= 1
		require.Contains(t, string(d.Append(nil, packet)), "WRONG")
	}
}

func TestDumpOfHeaders(t *testing.T) {
	var d wire.Dump
	for want, b := range map[string][]byte{
		"packet of 0 bytes, which is no packet\n":                                       {},
		"packet of 3 bytes, which is no packet\n 0000 00 01 00\n":                       {0, 1, 0},
		"handshake datagram of kind 3, Accept, 2 bytes\n 0000 83 01\n":                  {0x83, 1},
		"handshake datagram of kind 9, unknown, 2 bytes\n 0000 89 01\n":                 {0x89, 1},
		"  message 11 packet section, stage Initialization, 0 bytes\n":                  {0, 1, 0, 6, 0, 11, 0, 0, 0, 1, 2, 3, 4},
		"sequence 1, nothing acknowledged\n no batch, in 0 bytes\n checksum 00000000\n": {0, 1, 0, 0, 0, 0, 0},
		"ack 7 and all 32 before it\n batch of 2 bytes\n checksum 04030201\n":           {1, 1, 0, 7, 0, 2, 0, 1, 2, 3, 4},
		"ack 7, before it none\n batch of 2 bytes\n":                                    {31, 1, 0, 7, 0, 0, 0, 0, 0, 2, 0, 1, 2, 3, 4},
		"batch of 3 bytes\n  no message, wire: truncated\n   0000 09\n":                 {0, 1, 0, 3, 0, 9, 1, 2, 3, 4},
		"no batch, in 3 bytes\n  0000 04 00 09\n":                                       {0, 1, 0, 4, 0, 9, 1, 2, 3, 4},
		"message 3 close, stage Initialization, 0 bytes\n":                              {0, 1, 0, 6, 0, 3, 0, 0, 0, 1, 2, 3, 4},
		" batch of 2 bytes\n batch of 16 bytes, channel ReliableOrdered 1\n  message 16 unknown, stage Update, 9 bytes, number 258, " +
			"not before the tick that ends in 3, about 9v1, call 7\n   0000 55\n checksum": {
			0, 1, 0, 2, 0, 16, 0, 0xC1, 16, 0x3C, 9, 0, 2, 1, 3, 0, 9, 1, 7, 0, 0x55, 1, 2, 3, 4},
		"message 6 fragment, stage Initialization, 7 bytes, number 1, piece 1 of 2 of a message 16, stage byte 0x4\n   0000 55\n": {
			0, 1, 0, 2, 0, 14, 0, 0x80, 6, 0, 7, 0, 1, 0, 16, 4, 1, 2, 0x55, 1, 2, 3, 4},
		"message 7 refusal, stage Initialization, 1 bytes, call 0\n   not legal\n   0000 09\n": {
			0, 1, 0, 7, 0, 7, 0x20, 1, 0, 9, 1, 2, 3, 4},
		" batch of 2 bytes\n no batch, in 2 bytes\n  0000 02 00\n": {0, 1, 0, 2, 0, 2, 0, 1, 2, 3, 4},
	} {
		require.Contains(t, string(d.Append(nil, b)), want)
	}
}

// FuzzDump: any bytes give a text without a panic.
func FuzzDump(f *testing.F) {
	check := wire.NewChecksum(1, 2)
	packed, debug := mustCompile[shown](f, "Shown"), mustDebug[shown](f, "Shown")
	f.Add(dumped(f, packed, check))
	f.Add(dumped(f, debug, check))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, p := range []*Plan{packed, debug} {
			d := wire.Dump{Check: &check, Payload: func(dst []byte, h wire.MessageHeader, payload []byte) ([]byte, bool) {
				if h.Type&1 == 0 {
					return p.AppendPayload(dst, payload), true
				}
				return dst, false
			}}
			text := d.Append(nil, b)
			require.NotEmpty(t, text)
			require.LessOrEqual(t, len(text), 400+64*len(b)+100*len(b))
		}
	})
}

// limited has a bounded field of each kind.
type limited struct {
	Fixed  float32 `net:"min=-512,max=512,step=0.25"`
	Wide   float64 `net:"min=0,max=1,step=0.001"`
	Signed int16   `net:"min=-3,max=300"`
	Plain  uint8   `net:"min=1,max=10"`
	In     struct {
		A [2]int32 `net:"min=-5,max=-1"`
	}
	Whole int32
}

func TestOutsideSaysTheValueAndTheBounds(t *testing.T) {
	plan, err := Compile(reflect.TypeFor[limited](), "limited")
	require.NoError(t, err)
	good := limited{Plain: 1}
	good.In.A = [2]int32{-1, -1}
	for want, set := range map[string]func(v *limited){
		"Fixed: 600.5, and its tag allows -512 to 512": func(v *limited) { v.Fixed = 600.5 },
		"Wide: -0.5, and its tag allows 0 to 1":        func(v *limited) { v.Wide = -0.5 },
		"Signed: -4, and its tag allows -3 to 300":     func(v *limited) { v.Signed = -4 },
		"Plain: 11, and its tag allows 1 to 10":        func(v *limited) { v.Plain = 11 },
		"In.A[1]: 0, and its tag allows -5 to -1":      func(v *limited) { v.In.A[1] = 0 },
	} {
		v := good
		set(&v)
		lanes := make([]uint32, plan.Lanes())
		fault := plan.Quantise(reflect.ValueOf(&v).UnsafePointer(), lanes)
		require.Equal(t, wire.OutOfRange, fault.Reason)
		require.Equal(t, want, fault.Field()+": "+plan.Outside(reflect.ValueOf(v), fault))
	}
	require.Empty(t, plan.Outside(reflect.ValueOf(good), Fault{}))
}
