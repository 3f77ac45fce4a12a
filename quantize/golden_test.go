package quantize

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/rowtest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// golden is the component of the golden rows.
type golden struct {
	On    bool
	I8    int8
	I16   int16
	I64   int64
	U32   uint32
	F32   float32
	F64   float64
	Fixed float32    `net:"min=-512,max=512,step=0.002"`
	Angle float32    `net:"angle,bits=10"`
	Small int16      `net:"min=-5,max=500"`
	Half  uint64     `net:"min=10,max=4294967306"`
	Rot   [4]float32 `net:"quat,bits=9"`
}

// meaning is a golden value in the notation of the vectors.
func (g *golden) meaning() string {
	bit, f32 := map[bool]int{true: 1}[g.On], math.Float32bits
	text := fmt.Sprintf("On=%d;I8=%d;I16=%d;I64=%d;U32=%d;F32=%08x;F64=%016x;", bit, g.I8, g.I16, g.I64, g.U32, f32(g.F32), math.Float64bits(g.F64))
	text += fmt.Sprintf("Fixed=%08x;Angle=%08x;Small=%d;Half=%d;", f32(g.Fixed), f32(g.Angle), g.Small, g.Half)
	return text + fmt.Sprintf("Rot=%08x,%08x,%08x,%08x", f32(g.Rot[0]), f32(g.Rot[1]), f32(g.Rot[2]), f32(g.Rot[3]))
}

// TestGolden compares encoders and decoders with vectors that another program wrote from the description of the format:
// bytes and their meaning.
func TestGolden(t *testing.T) {
	seen := map[string]int{}
	for _, line := range rowtest.Vectors(os.ReadFile("testdata/golden.txt")) {
		word := strings.Fields(line)
		seen[word[0]]++
		t.Run(line, func(t *testing.T) {
			checkers := map[string]func(*testing.T, []string, []byte){
				"varint": goldenVarint, "zigzag": goldenZigzag, "var": goldenVar, "bits": goldenBits, "packet": goldenPacket,
				"batch": goldenBatch, "message": goldenMessage, "row": goldenRow, "refuse": goldenRefuse,
				"checksum": goldenChecksum, "describe": goldenDescribe,
			}
			last := word[len(word)-1]
			if word[0] == "checksum" || word[0] == "describe" {
				last = "-"
			}
			checkers[word[0]](t, word[1:], rowtest.Number(t, rowtest.Bytes, last))
		})
	}
	require.Len(t, seen, 11)
}

func goldenVarint(t *testing.T, word []string, b []byte) {
	want := rowtest.Number(t, rowtest.Uint, word[0])
	require.Equal(t, b, wire.AppendVarint(nil, want))
	got, n, err := wire.ReadVarint(b)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, len(b), n)
}

func goldenZigzag(t *testing.T, word []string, b []byte) {
	want := rowtest.Number(t, rowtest.Int, word[0])
	w := wire.NewWriter(make([]byte, 16))
	w.Zigzag(want)
	require.Equal(t, b, w.Written())
	r := wire.NewReader(b)
	require.Equal(t, want, r.Zigzag())
	require.True(t, r.Done())
}

func goldenVar(t *testing.T, word []string, b []byte) {
	want := rowtest.Number(t, rowtest.Uint, word[0])
	buf := make([]byte, 32)
	w := wire.NewBitWriter(buf)
	w.Var(want)
	require.Equal(t, word[1], strconv.Itoa(w.Bits()))
	require.Equal(t, b, buf[:w.Finish()])
	r := wire.NewBitReader(b)
	require.Equal(t, want, r.Var())
	require.True(t, r.Done())
}

func goldenBits(t *testing.T, word []string, b []byte) {
	buf := make([]byte, 32)
	w, r := wire.NewBitWriter(buf), wire.NewBitReader(b)
	for _, pair := range strings.Split(word[0], ",") {
		v, width, _ := strings.Cut(pair, ":")
		bits := uint(rowtest.Number(t, rowtest.Uint, width))
		w.Write(rowtest.Number(t, rowtest.Uint, v), bits)
		require.Equal(t, rowtest.Number(t, rowtest.Uint, v), r.Read(bits))
	}
	require.Equal(t, b, buf[:w.Finish()])
	require.True(t, r.Done())
}

func goldenChecksum(t *testing.T, word []string, _ []byte) {
	c := wire.NewChecksum(uint32(rowtest.Number(t, rowtest.Uint, word[0])), rowtest.Number(t, rowtest.Uint, word[1]))
	require.Equal(t, rowtest.Number(t, rowtest.Uint, word[3]), uint64(c.Sum(rowtest.Number(t, rowtest.Bytes, word[2]))))
}

func goldenPacket(t *testing.T, word []string, b []byte) {
	h, n, err := wire.ParsePacketHeader(b)
	require.NoError(t, err)
	require.Equal(t, len(b), n)
	require.Equal(t, b, wire.AppendPacketHeader(nil, h))
	require.Equal(t, word[0], strconv.Itoa(int(h.Sequence)))
	require.Equal(t, word[1] != "-", h.HasAck)
	if !h.HasAck {
		return
	}
	require.Equal(t, word[1], strconv.Itoa(int(h.Ack)))
	arrived := map[string]bool{}
	for _, s := range strings.Split(strings.TrimSuffix(word[2], "-"), ",") {
		arrived[s] = true
	}
	for i := range wire.Sequence(32) { // the meaning of the bits, not only the round trip
		require.Equal(t, arrived[strconv.Itoa(int(h.Ack-1-i))], h.AckBits>>i&1 == 1, "bit %d", i)
	}
}

func goldenBatch(t *testing.T, word []string, b []byte) {
	whole := make([]byte, 65535)
	copy(whole, b)
	h, err := wire.ParseBatchHeader(whole)
	require.NoError(t, err)
	require.Equal(t, word[0], strconv.Itoa(int(h.Size)))
	h.Put(whole[100:])
	require.Equal(t, b, whole[100:102])
}

func goldenMessage(t *testing.T, word []string, b []byte) {
	whole := make([]byte, 4+65535)
	copy(whole, b)
	h, err := wire.ParseMessageHeader(whole)
	require.NoError(t, err)
	require.Equal(t, wire.MessageHeader{
		Type:  wire.MessageType(rowtest.Number(t, rowtest.Uint, word[0])),
		Stage: tick.Stage(rowtest.Number(t, rowtest.Uint, word[1])),
		Size:  uint16(rowtest.Number(t, rowtest.Uint, word[2])),
	}, h)
	h.Put(whole[100:])
	require.Equal(t, b, whole[100:104])
}

func goldenRow(t *testing.T, word []string, b []byte) {
	p := mustCompile[golden](t, word[0])
	var value golden
	var lanes []uint32
	for _, n := range strings.Split(word[2], ",") {
		lanes = append(lanes, uint32(rowtest.Number(t, rowtest.Uint, n)))
	}
	got, again := make([]uint32, p.Lanes()), make([]uint32, p.Lanes())
	r := wire.NewBitReader(b)
	require.True(t, p.ReadRow(&r, got))
	require.True(t, r.Done())
	require.Equal(t, lanes, got)
	p.Dequantise(got, unsafe.Pointer(&value))
	require.Equal(t, word[1], value.meaning())
	require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&value), again))
	require.Equal(t, lanes, again)
	buf := make([]byte, 100)
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, again)
	require.Equal(t, word[3], strconv.Itoa(w.Bits()))
	require.Equal(t, b, buf[:w.Finish()])
}

func goldenDescribe(t *testing.T, word []string, _ []byte) {
	require.Equal(t, word[0], string(mustCompile[golden](t, "Golden").Describe(nil)))
}

func goldenRefuse(t *testing.T, word []string, b []byte) {
	var err error
	switch word[0] {
	case "varint":
		_, _, err = wire.ReadVarint(b)
	case "packet":
		_, _, err = wire.ParsePacketHeader(b)
	case "batch":
		_, err = wire.ParseBatchHeader(b)
	case "message":
		_, err = wire.ParseMessageHeader(b)
	case "var":
		r := wire.NewBitReader(b)
		r.Var()
		if r.Failed() {
			err = wire.ErrMalformed
		}
	}
	require.Error(t, err)
}

func goldenHex(text string) (uint64, error) { return strconv.ParseUint(text, 16, 64) }

// TestGoldenHalves compares halves, axes and the debug encoding with vectors of another program.
func TestGoldenHalves(t *testing.T) {
	seen := map[string]int{}
	for _, line := range rowtest.Vectors(os.ReadFile("testdata/golden_half.txt")) {
		word := strings.Fields(line)
		seen[word[0]]++
		b := rowtest.Number(t, rowtest.Bytes, word[len(word)-1])
		buf := make([]byte, 200)
		w, bw := wire.NewWriter(buf), wire.NewBitWriter(buf)
		switch word[0] {
		case "half":
			h, reason := wire.Float16Of(math.Float64frombits(rowtest.Number(t, goldenHex, word[1])))
			require.Equal(t, wire.NoFault, reason, line)
			w.Uint16(uint16(h))
			require.Equal(t, b, w.Written(), line)
		case "axis":
			a, reason := wire.Snorm8Of(math.Float64frombits(rowtest.Number(t, goldenHex, word[1])))
			require.Equal(t, wire.NoFault, reason, line)
			w.Int8(int8(a))
			require.Equal(t, b, w.Written(), line)
		case "halfvalue", "axisvalue":
			bytes := rowtest.Number(t, rowtest.Bytes, word[1])
			r := wire.NewReader(bytes)
			v := map[string]func() float32{"halfvalue": r.Half, "axisvalue": r.Axis}[word[0]]()
			require.True(t, r.Done(), line)
			require.Equal(t, rowtest.Number(t, goldenHex, word[2]), uint64(math.Float32bits(v)), line)
			map[string]func(float32) wire.FaultReason{"halfvalue": w.Half, "axisvalue": w.Axis}[word[0]](v)
			require.Equal(t, bytes, w.Written(), line)
		case "sticks", "unpacked":
			p := mustCompile[sticks](t, "Sticks")
			if word[0] == "unpacked" {
				p = mustDebug[golden](t, "Golden")
			} else {
				require.Equal(t, word[2], strconv.Itoa(p.Bits()))
			}
			var want []uint32
			for _, n := range strings.Split(word[1], ",") {
				want = append(want, uint32(rowtest.Number(t, rowtest.Uint, n)))
			}
			lanes, r := make([]uint32, p.Lanes()), wire.NewBitReader(b)
			require.True(t, p.ReadRow(&r, lanes) && r.Done(), line)
			require.Equal(t, want, lanes, line)
			p.WriteRow(&bw, lanes)
			require.Equal(t, b, buf[:bw.Finish()], line)
			if word[0] == "unpacked" {
				var v golden
				p.Dequantise(lanes, unsafe.Pointer(&v))
				require.Equal(t, b, p.AppendFields(nil, unsafe.Pointer(&v)), line)
			}
		case "refuse":
			r, br, p := wire.NewReader(b), wire.NewBitReader(b), mustCompile[sticks](t, "Sticks")
			switch word[1] {
			case "half":
				r.Half()
			case "axis":
				r.Axis()
			case "sticks":
				if !p.ReadRow(&br, make([]uint32, p.Lanes())) {
					r.Fail(wire.ErrMalformed)
				}
			}
			require.Error(t, r.Err(), line)
		}
	}
	require.Equal(t, map[string]int{"half": 42, "halfvalue": 16, "axis": 20, "axisvalue": 8, "sticks": 4, "unpacked": 4, "refuse": 10}, seen)
}
