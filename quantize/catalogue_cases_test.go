package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"bytes"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
)

// manyElements has every type with a count, each with a limit that accepts any count.
func manyElements() map[string]func(r *wire.Reader) int {
	const limit = math.MaxInt
	serializer := new(wire.Serializer) // reused, as intended
	s := func(f func(s *wire.Serializer) int) func(r *wire.Reader) int {
		return func(r *wire.Reader) int {
			s := serializer
			*s = wire.NewReadingSerializer(r.Rest())
			n := f(s)
			r.Fail(s.Err())
			return n
		}
	}
	return map[string]func(r *wire.Reader) int{
		"bytes":        func(r *wire.Reader) int { return len(r.Bytes(limit)) },
		"string":       func(r *wire.Reader) int { return len(r.String(limit)) },
		"slice of 1":   func(r *wire.Reader) int { return len(wire.ReadSlice[uint8](r, nil, limit)) },
		"slice of 8":   func(r *wire.Reader) int { return len(wire.ReadSlice[uint64](r, nil, limit)) },
		"ints":         func(r *wire.Reader) int { return len(wire.ReadSlice[int](r, nil, limit)) },
		"bools":        func(r *wire.Reader) int { return len(wire.ReadSlice[bool](r, nil, limit)) },
		"packed":       func(r *wire.Reader) int { return len(wire.ReadPackedSlice[uint64](r, nil, limit)) },
		"runes":        func(r *wire.Reader) int { return len(r.Runes(nil, limit)) },
		"strings":      func(r *wire.Reader) int { return len(r.Strings(nil, limit, limit)) },
		"nothing each": s(func(s *wire.Serializer) int { var v []emptyElement; wire.SerializeEach(s, &v, limit); return len(v) }),
		"avatars":      s(func(s *wire.Serializer) int { var v []avatar; wire.SerializeEach(s, &v, limit); return len(v) }),
	}
}

// emptyElement has no bytes, which no element may.
type emptyElement struct{}

func (*emptyElement) Serialize(*wire.Serializer) {}

func TestCase02HostileCount(t *testing.T) {
	counts := []uint64{math.MaxUint64, math.MaxInt32, 0x4000_0001, 1 << 31, 1 << 63, 1<<63 - 1, 1<<32 + 1, 9, 8}
	for name, read := range manyElements() {
		injected := 0
		for _, n := range counts {
			packet := wire.AppendVarint(nil, n)
			packet = append(packet, make([]byte, max(8-len(packet), 0))...)
			claimed, _, err := wire.ReadVarint(packet)
			require.NoError(t, err)
			require.Equal(t, n, claimed)
			injected++
			var got int
			var failed error
			bytes := alloctest.Bytes(t, func() {
				r := wire.NewReader(packet)
				got, failed = read(&r), r.Err()
			})
			require.Error(t, failed, "%s: %#x", name, n)
			require.Zero(t, got)
			require.LessOrEqual(t, bytes, uint64(1024), "%s: %#x", name, n)
			alloctest.AtMost(t, 10, 10, func() {
				r := wire.NewReader(packet)
				read(&r)
			}, "%s: %#x", name, n)
		}
		require.Equal(t, len(counts), injected)
		casebook.Injected(t, injected, "counts that no packet can hold")
	}
	t.Run("rows of a run", func(t *testing.T) {
		p, rows, buf := mustCompile[struct{}](t, "Nothing"), []uint32{}, make([]byte, 64)
		for _, n := range counts {
			w := wire.NewBitWriter(buf)
			w.Var(n)
			r := wire.NewBitReader(buf[:w.Finish()])
			count, ok := p.ReadRun(&r, rows, 7, false)
			require.False(t, ok)
			require.Zero(t, count)
		}
	})
	t.Run("messages without payload", func(t *testing.T) {
		b, seen := batchOf(16000), 0
		h, err := wire.ParseBatchHeader(b)
		require.NoError(t, err)
		for rest := b[wire.BatchHeaderSize:h.Size]; len(rest) > 0; rest = rest[wire.MessageHeaderSize:] {
			_, err := wire.ParseMessageHeader(rest)
			require.NoError(t, err)
			seen++
		}
		require.Equal(t, 16000, seen, "each costs its header: a packet bounds them")
	})
}

func TestCase03VarintEdges(t *testing.T) {
	legal, refused := 0, 0
	check := func(b []byte) {
		r := wire.NewReader(b)
		v := r.Varint()
		if !r.Done() {
			refused++
			require.True(t, r.Err() != nil && v == 0 || r.Err() == nil)
			return
		}
		legal++
		require.Equal(t, b, wire.AppendVarint(nil, v), "two encodings of %d", v)
		require.Equal(t, len(b), wire.VarintSize(v))
	}
	for a := range 256 {
		check([]byte{byte(a)})
		for b := range 256 {
			check([]byte{byte(a), byte(b)})
			check([]byte{byte(a), byte(b), 0})
			check([]byte{byte(a), byte(b), 255})
		}
	}
	for length := 4; length <= 10; length++ { // over-long, non-minimal, truncated, too long
		for first := 240; first < 256; first++ {
			for _, second := range []byte{0, 1, 0x7F, 0x80, 0xFF} {
				for _, fill := range []byte{0, 0xFF} {
					b := bytes.Repeat([]byte{fill}, length)
					b[0], b[1] = byte(first), second
					check(b)
				}
			}
		}
	}
	require.Greater(t, legal, 2000)
	require.Greater(t, refused, 10000)
	casebook.Injected(t, refused, "varints that are not legal")
	for _, n := range []uint64{65536, 1 << 32, math.MaxUint64} { // beyond the type's range
		b := wire.AppendVarint(nil, n)
		r := wire.NewReader(b)
		require.Zero(t, wire.ReadPacked[uint16](&r))
		require.ErrorIs(t, r.Err(), wire.ErrMalformed)
		r = wire.NewReader(b)
		require.Zero(t, wire.ReadPacked[int16](&r))
		require.ErrorIs(t, r.Err(), wire.ErrMalformed)
	}
}

func TestCase04OffsetAndLength(t *testing.T) {
	near := []uint64{}
	for _, edge := range []uint64{1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 63, 0} {
		near = append(near, edge-2, edge-1, edge, edge+1)
	}
	injected := 0
	for _, n := range near {
		if n <= 8 {
			continue
		}
		packet := append(wire.AppendVarint(nil, n), 1, 2, 3, 4, 5, 6, 7, 8)
		for name, read := range manyElements() {
			r := wire.NewReader(packet)
			require.Zero(t, read(&r), name)
			require.Error(t, r.Err(), "%s: %d", name, n)
			injected++
		}
		_, err := wire.AppendDecompressed(nil, append([]byte{1}, packet...), math.MaxInt, &wire.Deflate{})
		require.Error(t, err, "%d", n)
		if at := int(n); at >= 0 && at <= len(packet) {
			continue // with a 32-bit int the number wraps to an existing offset
		}
		r := wire.NewReader(packet)
		r.Uint8()
		r.Seek(int(n)) // also negative
		require.ErrorIs(t, r.Err(), wire.ErrTruncated)
		require.Zero(t, r.Remaining())
		w := wire.NewWriter(make([]byte, 4))
		require.Panics(t, func() { w.Seek(int(n)) }, "the programmer's mistake, not the network's")
	}
	for size := 0; size < 1<<16; size++ { // every size that a header can claim, with 100 bytes available
		b := make([]byte, 100)
		b[0], b[1] = byte(size), byte(size>>8)
		h, err := wire.ParseBatchHeader(b)
		require.Equal(t, size >= wire.BatchHeaderSize && size <= len(b), err == nil)
		require.True(t, err != nil || int(h.Size) == size)
		b[0], b[1], b[2], b[3] = 16, 4, byte(size), byte(size>>8)
		m, err := wire.ParseMessageHeader(b)
		require.Equal(t, size <= len(b)-wire.MessageHeaderSize, err == nil)
		require.True(t, err != nil || int(m.Size) == size)
		injected += 2
	}
	require.Greater(t, injected, 1<<17)
	casebook.Injected(t, injected, "lengths and offsets at the edges of words")
}

func TestCase05IndexSweep(t *testing.T) {
	legal := 0
	for kind := range 256 {
		for stage := range 256 {
			h, err := wire.ParseMessageHeader([]byte{byte(kind), byte(stage), 0, 0})
			want := stage&7 < int(tick.NumStages) && stage < 0x80 && kind >= 1 && kind <= int(wire.MaxMessageType)
			if kind == int(wire.MessageRefusal) {
				want = want && stage&^7 == int(wire.FlagCall)
			} else if kind < int(wire.FirstUserMessage) {
				want = want && stage < 8
			}
			require.Equal(t, want, err == nil, "type %d stage %d", kind, stage)
			if err == nil {
				legal++
				require.True(t, h.Type.Valid() && h.Stage.Valid())
			}
		}
		flags := []byte{byte(kind), 0, 0, 0, 0, 1, 1, 1, 1}
		_, n, err := wire.ParsePacketHeader(flags)
		require.True(t, err != nil || n <= len(flags))
		_, err = wire.AppendDecompressed(nil, []byte{byte(kind), 1}, 10, &wire.Deflate{})
		require.Equal(t, kind == 0, err == nil)

		value, s := uint8(kind), wire.NewReadingSerializer([]byte{byte(kind)})
		wire.SerializeEnumWithin(&s, &value, 3, 5)
		require.Equal(t, kind >= 3 && kind <= 5, s.Done(), "enum %d", kind)
	}
	require.Equal(t, (15+239*16)*int(tick.NumStages), legal, "netcode's own types have one set of flags, the others each")
	casebook.Injected(t, 256*256-legal, "types, stages and flags that do not exist")
	p := mustCompile[struct { // every number within the bits of a ranged field
		V uint8 `net:"min=3,max=12"`
	}](t, "Ranged")
	for n := range 16 {
		r, lanes := wire.NewBitReader([]byte{byte(n)}), []uint32{0}
		require.Equal(t, n < 10, p.ReadRow(&r, lanes) && r.Done())
	}
}

func TestCase06ExactFit(t *testing.T) {
	const canary = 0xA7
	writers := map[string]func(w *wire.Writer){
		"bool": func(w *wire.Writer) { w.Bool(true) }, "u8": func(w *wire.Writer) { w.Uint8(1) }, "u16": func(w *wire.Writer) { w.Uint16(1) },
		"u32": func(w *wire.Writer) { w.Uint32(1) }, "u64": func(w *wire.Writer) { w.Uint64(1) }, "f32": func(w *wire.Writer) { w.Float32(1) }, "f64": func(w *wire.Writer) { w.Float64(1) },
		"half": func(w *wire.Writer) { w.Half(1) }, "axis": func(w *wire.Writer) { w.Axis(1) }, "rune": func(w *wire.Writer) { w.Rune('x') },
		"varint": func(w *wire.Writer) { w.Varint(1 << 50) }, "zigzag": func(w *wire.Writer) { w.Zigzag(-300) }, "packed": func(w *wire.Writer) { wire.WritePacked(w, int32(-70000)) },
		"bytes": func(w *wire.Writer) { w.Bytes([]byte{1, 2, 3}, 9) }, "string": func(w *wire.Writer) { w.String("abc", 9) }, "array": func(w *wire.Writer) { wire.WriteArray(w, []uint16{1, 2}) },
		"slice": func(w *wire.Writer) { wire.WriteSlice(w, []int{1, 2}, 9) }, "strings": func(w *wire.Writer) { w.Strings([]string{"a", "bc"}, 9, 9) }, "reserve": func(w *wire.Writer) { w.Reserve(5) },
	}
	injected := 0
	for name, write := range writers {
		whole := wire.NewWriter(make([]byte, 100))
		write(&whole)
		size := len(whole.Written())
		require.NoError(t, whole.Err())
		for room := range size + 2 {
			memory := bytes.Repeat([]byte{canary}, 100)
			w := wire.NewWriter(memory[:room])
			write(&w)
			if room >= size {
				require.NoError(t, w.Err(), "%s fits %d bytes", name, room)
				require.Equal(t, whole.Written(), w.Written())
			} else {
				require.ErrorIs(t, w.Err(), wire.ErrOverflow, "%s in %d bytes", name, room)
				injected++
			}
			require.Equal(t, bytes.Repeat([]byte{canary}, 100-room), memory[room:], "%s wrote past its end", name)
			r := wire.NewReader(whole.Written()[:size])
			require.Equal(t, size, r.Remaining())
		}
	}
	p := mustCompile[everyKind](t, "EveryKind")
	for _, off := range []bool{false, true} {
		if off {
			p.Debug()
		}
		rows, _ := rowsOf(t, p)
		size := (p.Bits() + 7) / 8
		for _, room := range []int{size - 1, size, size + 1} {
			memory := bytes.Repeat([]byte{canary}, size+20)
			w := wire.NewBitWriter(memory[:room])
			p.WriteRow(&w, rows)
			require.Equal(t, room < size, w.Overflowed())
			w.Finish()
			require.Equal(t, bytes.Repeat([]byte{canary}, size+20-room), memory[room:])
			injected++
		}
	}
	require.Greater(t, injected, 60)
	casebook.Injected(t, injected, "values with exactly and with nearly enough room")
}

// liar reports a size and writes more.
type liar struct{ says, writes int }

func (l *liar) Serialize(s *wire.Serializer) {
	n := l.says
	if s.IsWriting() {
		n = l.writes
	}
	var b byte
	for range n {
		s.Uint8(&b)
	}
}

func TestCase07LyingUpperBound(t *testing.T) {
	var s wire.Serializer
	injected := 0
	for _, l := range []liar{{4, 5}, {0, 1}, {1, 1 << 16}} {
		says, err := s.Measure(&l)
		require.NoError(t, err)
		require.Less(t, says, l.writes, "it really lies")
		memory := bytes.Repeat([]byte{0xA7}, says+100)
		n, err := s.Write(memory[:says:says], &l)
		require.ErrorIs(t, err, wire.ErrOverflow, "the message fails")
		require.Zero(t, n, "nothing of it is to be sent")
		require.Equal(t, bytes.Repeat([]byte{0xA7}, 100), memory[says:])
		injected++
	}
	n, err := s.Write(make([]byte, 2), &liar{2, 2}) // without a panic
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, 3, injected)
}

func TestCase08DecompressionBomb(t *testing.T) {
	const limit = 64 << 10
	c := &wire.Deflate{}
	dst := make([]byte, 0, limit)
	fits := wire.AppendCompressed(nil, make([]byte, limit*99/100), c)
	require.Less(t, len(fits), 200, "99 % of the cap, from next to nothing")
	require.NotPanics(t, func() { // allocates the library's state once
		_, err := wire.AppendDecompressed(dst, fits, limit, c)
		require.NoError(t, err)
	})
	bombs := [][]byte{wire.AppendCompressed(nil, make([]byte, limit+1), c), wire.AppendCompressed(nil, make([]byte, 8<<20), c)}
	for _, claim := range []uint64{limit + 1, 1 << 31, 1 << 40, math.MaxUint64} {
		bombs = append(bombs, append(wire.AppendVarint([]byte{1}, claim), fits[4:]...))
	}
	lies := append(wire.AppendVarint([]byte{1}, limit), bombs[1][5:]...) // 8 MiB that claim to be 64 KiB
	bombs = append(bombs, lies, append([]byte{0}, make([]byte, limit+1)...))
	injected := 0
	for i, bomb := range bombs {
		var err error
		var got []byte
		require.LessOrEqual(t, alloctest.Bytes(t, func() { got, err = wire.AppendDecompressed(dst, bomb, limit, c) }), uint64(4096), "bomb %d", i)
		require.Error(t, err, "bomb %d", i)
		require.Empty(t, got)
		injected++
	}
	require.Equal(t, len(bombs), injected)
	casebook.Injected(t, injected, "compressed bombs")
}

func TestCase09BadScalars(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	type scalars struct {
		F32, _  float32
		F64     float64
		Fixed   float32    `net:"min=-1,max=1,step=0.1"`
		Fixed64 float64    `net:"min=-1,max=1,step=0.1"`
		Angle   float32    `net:"angle,bits=9"`
		Angle64 float64    `net:"angle,bits=9"`
		Half    float32    `net:"half"`
		Half64  float64    `net:"half"`
		Axis    float32    `net:"axis"`
		Axis64  float64    `net:"axis"`
		Rot     [4]float32 `net:"quat,bits=9"`
	}
	p := mustCompile[scalars](t, "Scalars")
	good := scalars{Rot: [4]float32{0, 0, 0, 1}}
	lanes, buf := make([]uint32, p.Lanes()), make([]byte, 200)
	reported, refused := 0, 0
	for i := range p.ops {
		o := &p.ops[i]
		for _, bad := range []float64{nan, inf, -inf, math.Copysign(nan, -1)} {
			v := good
			at := memory(unsafe.Pointer(&v), o.offset, o.bytes())
			if o.size == 4 {
				*(*float32)(unsafe.Pointer(&at[0])) = float32(bad)
			} else {
				*(*float64)(unsafe.Pointer(&at[0])) = bad
			}
			p.Quantise(unsafe.Pointer(&good), lanes)
			kept := append([]uint32(nil), lanes...)
			fault := p.Quantise(unsafe.Pointer(&v), lanes)
			require.Equal(t, wire.NotFinite, fault.Reason, "%s %g", o.path, bad)
			require.Equal(t, o.path, fault.Field())
			require.Equal(t, kept, lanes, "%s is never sent", o.path)
			reported++
			debug := mustDebug[scalars](t, "Scalars") // the only rows with unchanged floats of every kind
			legal := good
			debug.Dequantise(kept, unsafe.Pointer(&legal))
			whole := wire.NewBitReader(debug.AppendFields(nil, unsafe.Pointer(&legal)))
			require.True(t, debug.ReadRow(&whole, lanes), "undamaged it is a row")
			damaged := legal
			copyField(&damaged, &v, o.offset, o.size)
			r := wire.NewBitReader(debug.AppendFields(nil, unsafe.Pointer(&damaged)))
			require.False(t, debug.ReadRow(&r, lanes), "%s %g", o.path, bad)
			refused++
		}
	}
	zero := good
	zero.Rot = [4]float32{}
	require.Equal(t, wire.NoRotation, p.Quantise(unsafe.Pointer(&zero), lanes).Reason)
	tiny := scalars{F32: math.SmallestNonzeroFloat32, F64: math.SmallestNonzeroFloat64, Rot: good.Rot}
	require.Equal(t, Fault{}, p.Quantise(unsafe.Pointer(&tiny), lanes), "denormal numbers are numbers")
	w := wire.NewBitWriter(buf)
	p.WriteRow(&w, lanes)
	r := wire.NewBitReader(buf[:w.Finish()])
	require.True(t, p.ReadRow(&r, lanes) && r.Done())
	for name, read := range map[string]func(r *wire.Reader){ // as bytes
		"\x07":                             func(r *wire.Reader) { r.Bool() },
		"\x01\xff":                         func(r *wire.Reader) { _ = r.String(9) },
		"\x02\xed\xa0":                     func(r *wire.Reader) { _ = r.String(9) },
		"\x00\xd8\x00\x00":                 func(r *wire.Reader) { r.Rune() },
		"\x00\x00\x11\x00":                 func(r *wire.Reader) { r.Rune() },
		"\x02\x01\x02":                     func(r *wire.Reader) { wire.ReadSlice[bool](r, nil, 9) },
		"\x00\x7c":                         func(r *wire.Reader) { r.Half() },
		"\x01\xfe":                         func(r *wire.Reader) { r.Half() },
		"\x80":                             func(r *wire.Reader) { r.Axis() },
		"\x00\x00\x80\x7f":                 finite(func(s *wire.Serializer) { s.FiniteFloat32(new(float32)) }),
		"\x01\x00\xc0\xff":                 finite(func(s *wire.Serializer) { s.FiniteFloat32(new(float32)) }),
		"\x00\x00\x00\x00\x00\x00\xf0\xff": finite(func(s *wire.Serializer) { s.FiniteFloat64(new(float64)) }),
	} {
		r := wire.NewReader([]byte(name))
		read(&r)
		require.ErrorIs(t, r.Err(), wire.ErrMalformed, "%x", name)
		refused++
	}
	require.Equal(t, 4*len(p.ops), reported)
	require.Equal(t, reported+12, refused)
	casebook.Injected(t, refused, "scalars out of their range")
	writer := wire.NewWriter(make([]byte, 9))
	writer.String("\xff", 9)
	require.ErrorIs(t, writer.Err(), wire.ErrMalformed)
}

func finite(f func(s *wire.Serializer)) func(r *wire.Reader) {
	return func(r *wire.Reader) {
		s := wire.NewReadingSerializer(r.Rest())
		f(&s)
		r.Fail(s.Err())
	}
}

func TestCase10StaleBytes(t *testing.T) {
	marker := []byte("SECRET!!")
	for name, d := range decoders(t) {
		if d.encode == nil || strings.HasPrefix(name, "packet") {
			continue
		}
		for _, good := range d.good {
			require.NoError(t, d.decode(good), name)
			pool := bytes.Repeat(marker, 1000) // the memory of an earlier large packet
			require.True(t, bytes.Contains(pool[:len(good)+16], marker[:4]), "the pool is really dirty")
			casebook.Injected(t, len(pool)/len(marker), "markers in used buffers")
			b, err := d.encode(pool[:0:len(pool)])
			require.NoError(t, err)
			require.Equal(t, good, b, "%s: what was in the buffer shows", name)
		}
	}
	pool := bytes.Repeat(marker, 4)
	w := wire.NewWriter(pool)
	w.Reserve(20) // never filled
	require.Equal(t, make([]byte, 20), w.Written())
	require.Panics(t, func() { w.Seek(21) }, "bytes that nobody wrote cannot be skipped into a packet")
	dense := bytes.Repeat(marker, 1000)
	c := &wire.Deflate{}
	first := wire.AppendCompressed(nil, make([]byte, 500), c)
	wire.AppendCompressed(dense[:0], bytes.Repeat([]byte{7}, 300), c)
	require.Equal(t, first, wire.AppendCompressed(dense[:0], make([]byte, 500), c), "nothing of the call before")
}

func TestCase11FragmentsOfMessages(t *testing.T) {
	// (set, index, count, bytes), as a fragment's header would be: count 0, huge, index >= count.
	read := func(b []byte) (ok bool) {
		r := wire.NewReader(b)
		_ = wire.ReadPacked[uint16](&r)
		index, count := r.Varint(), r.Varint()
		part := r.Bytes(1200)
		return r.Done() && count >= 1 && count <= 32 && index < count && len(part) > 0
	}
	taken, refused := 0, 0
	for _, count := range []uint64{0, 1, 2, 32, 33, 1 << 16, 1 << 31, 1 << 32, math.MaxUint64} {
		for _, index := range []uint64{0, 1, 31, 32, 1 << 31, math.MaxUint64} {
			w := wire.NewWriter(make([]byte, 64))
			wire.WritePacked(&w, uint16(7))
			w.Varint(index)
			w.Varint(count)
			w.Bytes([]byte{1, 2}, 9)
			require.NoError(t, w.Err())
			want := count >= 1 && count <= 32 && index < count
			require.Equal(t, want, read(w.Written()))
			alloctest.Zero(t, 5, func() { read(w.Written()) })
			if want {
				taken++
			} else {
				refused++
			}
		}
	}
	require.Equal(t, 6, taken)
	require.Equal(t, 48, refused)
	casebook.Injected(t, refused, "pieces with an illegal count or index")
}

// copyField copies one field's bytes from another value.
func copyField[T any](to, from *T, offset uintptr, size uint8) {
	copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(to), offset)), size), unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(from), offset)), size))
}
