package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"encoding/binary"
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
)

// This file and catalogue_cases_test.go test cases 1 to 11 of the catalogue of faults and attacks (section 2 A), by
// number, as far as they concern bytes. Each asserts that its fault was really injected. Case 11, fragments, has no
// decoder in this package: the tests cover the values that fragments consist of.

// decoder is one way to decode a value; it must accept all bytes or fail.
type decoder struct {
	good   [][]byte                         // from the encoder
	decode func(b []byte) error             // nil: a legal value, of exactly these bytes
	encode func(dst []byte) ([]byte, error) // of the value decoded last
	frugal bool                             // refuses without a single allocation
	open   bool                             // its length varies: a cut or longer one may be legal
}

var (
	errRefused  = errors.New("refused")
	errTrailing = errors.New("bytes left over")
)

// done returns the outcome of a decoder.
func done(r *wire.Reader) error {
	if r.Err() == nil && !r.Done() {
		return errTrailing
	}
	return r.Err()
}

// avatar is a message with every kind of value that a Reader reads.
type avatar struct {
	name   string
	blob   []byte
	ids    []uint16
	deltas []int32
	runes  []rune
	names  []string
	level  int16
	look   rune
	on     bool
	reach  float32
	stick  float32
	place  cataloguePlace
}

type cataloguePlace struct {
	X, Y float32
	Room uint32
	On   [4]bool
}

func (a *avatar) Serialize(s *wire.Serializer) {
	s.String(&a.name, 20)
	s.Bytes(&a.blob, 20)
	wire.SerializeSlice(s, &a.ids, 20)
	wire.SerializePackedSlice(s, &a.deltas, 20)
	s.Runes(&a.runes, 20)
	s.Strings(&a.names, 20, 20)
	s.PackedInt16(&a.level)
	s.Rune(&a.look)
	s.Bool(&a.on)
	s.Half(&a.reach)
	s.Axis(&a.stick)
	s.FiniteFloat32(&a.place.X)
	s.FiniteFloat32(&a.place.Y)
	s.Uint32(&a.place.Room)
	wire.SerializeArray(s, a.place.On[:])
}

func avatars() []avatar {
	return []avatar{
		{look: 'x'},
		{name: "Ada", blob: []byte{1, 2}, ids: []uint16{1, 65535}, deltas: []int32{-1, 70000}, runes: []rune("aé"), names: []string{"", "b"},
			level: -300, look: '€', on: true, reach: 1.5, stick: -1, place: cataloguePlace{1, -2, 3, [4]bool{true, false, true}}},
	}
}

// decoders returns every decoder of the package, with values of its encoder.
func decoders(t testing.TB) map[string]*decoder {
	list := map[string]*decoder{
		"serializer": serializerDecoder(t), "value": valueDecoder(t),
		"compressed": compressedDecoder(), "varint": varintDecoder(),
	}
	for _, off := range []bool{false, true} {
		name := map[bool]string{false: "", true: ", packing off"}[off]
		p := mustCompile[everyKind](t, "EveryKind")
		if off {
			p.Debug()
		}
		list["row"+name], list["run"+name], list["packet"+name] = rowDecoder(t, p), runDecoder(t, p), packetDecoder(t, off, true)
		list["packet, checksum made right"+name] = packetDecoder(t, off, false)
	}
	return list
}

func serializerDecoder(t testing.TB) *decoder {
	d, last, s := &decoder{}, &avatar{}, &wire.Serializer{}
	for _, v := range avatars() {
		buf := make([]byte, 200)
		n, err := s.Write(buf, &v)
		require.NoError(t, err)
		d.good = append(d.good, buf[:n])
	}
	d.decode = func(b []byte) error { return s.Read(b, last) }
	d.encode = func(dst []byte) ([]byte, error) {
		n, err := s.Write(dst[:cap(dst)], last)
		return dst[:n], err
	}
	return d
}

func valueDecoder(t testing.TB) *decoder {
	c, err := wire.NewValue[cataloguePlace]()
	require.NoError(t, err)
	last := cataloguePlace{1, 2, 3, [4]bool{true, true}}
	d := &decoder{frugal: true}
	d.encode = func(dst []byte) ([]byte, error) {
		w := wire.NewWriter(dst[:cap(dst)])
		wire.WriteValue(&w, c, &last)
		return w.Written(), w.Err()
	}
	b, err := d.encode(make([]byte, 0, 100))
	require.NoError(t, err)
	d.good = [][]byte{b}
	d.decode = func(b []byte) error {
		r := wire.NewReader(b)
		wire.ReadValue(&r, c, &last)
		if r.Err() != nil && last != (cataloguePlace{}) {
			panic("partly applied")
		}
		return done(&r)
	}
	return d
}

func varintDecoder() *decoder {
	var last uint64
	d := &decoder{frugal: true, encode: func(dst []byte) ([]byte, error) { return wire.AppendVarint(dst, last), nil }}
	for v := uint64(1); v != 0; v <<= 3 {
		d.good = append(d.good, wire.AppendVarint(nil, v-1))
	}
	d.decode = func(b []byte) error {
		r := wire.NewReader(b)
		last = r.Varint()
		return done(&r)
	}
	return d
}

// rowsOf returns a few rows of everyKind.
func rowsOf(t testing.TB, p *Plan) (rows []uint32, count int) {
	list := []everyKind{
		{Everything: everything{Rot: [4]float32{0, 0, 0, 1}, Turns: [2]vec4{{W: 1}, {X: 0.5, Y: 0.5, Z: 0.5, W: 0.5}}, Small: 7, Half: 4294967306, Levels: [2]uint8{2, 3}}},
		{Everything: everything{F64: -1e300, I64: -1 << 63, Angle: 3, Rot: [4]float32{0.1, 0.9, 0, 0}, Turns: [2]vec4{{W: 1}, {Y: -1}}}, Sticks: sticks{H: 3, A: [2]float32{1, -1}}},
	}
	for i := range list {
		lanes := make([]uint32, p.Lanes())
		p.Quantise(unsafe.Pointer(&list[i]), lanes)
		rows = append(rows, lanes...)
	}
	return rows, len(list)
}

func rowDecoder(t testing.TB, p *Plan) *decoder {
	rows, count := rowsOf(t, p)
	last := make([]uint32, p.Lanes())
	d := &decoder{frugal: true}
	d.encode = func(dst []byte) ([]byte, error) {
		w := wire.NewBitWriter(dst[:cap(dst)])
		p.WriteRow(&w, last)
		return dst[:w.Finish()], nil
	}
	for i := range count {
		copy(last, rows[i*p.Lanes():])
		b, _ := d.encode(make([]byte, 0, 1000))
		d.good = append(d.good, b)
	}
	d.decode = func(b []byte) error {
		r := wire.NewBitReader(b)
		if !p.ReadRow(&r, last) || !r.Done() {
			return errRefused
		}
		return nil
	}
	return d
}

func runDecoder(t testing.TB, p *Plan) *decoder {
	last, count := rowsOf(t, p)
	last = append(last, make([]uint32, 2*p.Lanes())...)
	d := &decoder{frugal: true}
	d.encode = func(dst []byte) ([]byte, error) {
		w := wire.NewBitWriter(dst[:cap(dst)])
		p.WriteRun(&w, last, count)
		return dst[:w.Finish()], nil
	}
	b, _ := d.encode(make([]byte, 0, 4000))
	d.good = [][]byte{b}
	d.decode = func(b []byte) error {
		r, ok := wire.NewBitReader(b), false
		if count, ok = p.ReadRun(&r, last, 4, false); !ok || !r.Done() {
			return errRefused
		}
		return nil
	}
	return d
}

func compressedDecoder() *decoder {
	raw, dense := []byte("0123456789"), make([]byte, 3000)
	c, last := &wire.Deflate{}, []byte(nil)
	d := &decoder{open: true, good: [][]byte{wire.AppendCompressed(nil, raw, c), wire.AppendCompressed(nil, dense, c)}}
	d.decode = func(b []byte) (err error) {
		last, err = wire.AppendDecompressed(last[:0], b, 1<<16, c)
		return err
	}
	return d
}

// packetDecoder decodes a packet including the fields of its messages, as package peer does. With checked it verifies
// the checksum; else it accepts any, as if the attacker had computed it.
func packetDecoder(t testing.TB, off, checked bool) *decoder {
	check, p := wire.NewChecksum(3, 4), mustCompile[shown](t, "Shown")
	if off {
		p.Debug()
	}
	lanes, last := make([]uint32, p.Lanes()), make([]byte, 2000)
	read := func(b []byte) error {
		if len(b) < wire.ChecksumSize {
			return wire.ErrTruncated
		}
		body := b[:len(b)-wire.ChecksumSize]
		if checked && check.Sum(body) != binary.LittleEndian.Uint32(b[len(body):]) {
			return errRefused
		}
		_, n, err := wire.ParsePacketHeader(body)
		if err != nil {
			return err
		}
		batch, err := wire.ParseBatchHeader(body[n:])
		if err != nil || int(batch.Size) != len(body)-n {
			return errRefused
		}
		for rest := body[n+wire.BatchHeaderSize:]; len(rest) > 0; {
			h, err := wire.ParseMessageHeader(rest)
			if err != nil {
				return err
			}
			end := wire.MessageHeaderSize + int(h.Size)
			r := wire.NewBitReader(rest[wire.MessageHeaderSize:end])
			if h.Type == 16 && (!p.ReadRow(&r, lanes) || !r.Done()) {
				return errRefused
			}
			rest = rest[end:]
		}
		return nil
	}
	d := &decoder{good: [][]byte{dumped(t, p, check)}, frugal: true}
	d.decode = func(b []byte) error {
		last = append(last[:0], b...)
		return read(b)
	}
	d.encode = func([]byte) ([]byte, error) { return last, nil } // legal bytes are their own encoding
	return d
}

// batchOf returns a batch of messages without payloads.
func batchOf(messages int) []byte {
	b := make([]byte, wire.BatchHeaderSize+messages*wire.MessageHeaderSize)
	wire.BatchHeader{Size: uint16(len(b))}.Put(b)
	for i := range messages {
		wire.MessageHeader{Type: wire.FirstUserMessage, Stage: tick.Update}.Put(b[wire.BatchHeaderSize+i*wire.MessageHeaderSize:])
	}
	return b
}

func TestCase01PrefixAndTail(t *testing.T) {
	for name, d := range decoders(t) {
		t.Run(name, func(t *testing.T) {
			injected := 0
			for i, good := range d.good {
				require.NoError(t, d.decode(good), i)
				for cut := range good { // cut at every byte
					injected++
					require.True(t, d.open || d.decode(good[:cut]) != nil, "cut at %d of %d", cut, len(good))
					_ = d.decode(good[:cut])
				}
				tail := append([]byte(nil), good...)
				for n := 1; n <= 64; n++ {
					tail = append(tail, byte(n*37))
					injected++
					require.True(t, d.decode(tail) != nil || d.open, "a tail of %d", n)
				}
				for _, shifted := range [][]byte{good[min(1, len(good)):], append([]byte{0}, good...), append([]byte{good[0]}, good[:len(good)-1]...)} {
					injected += d.mustBeLegal(t, good, shifted)
				}
				for at := range good {
					for _, flip := range []byte{1, 0x80, 0xFF} {
						damaged := append([]byte(nil), good...)
						damaged[at] ^= flip
						injected += d.mustBeLegal(t, good, damaged)
					}
				}
				if bad := good[:len(good)-1]; d.frugal {
					alloctest.Zero(t, 20, func() { _ = d.decode(bad) })
				}
			}
			require.Greater(t, injected, 64, "nothing was injected")
			casebook.Injected(t, injected, "payloads cut, lengthened, shifted or damaged")
		})
	}
}

// mustBeLegal decodes damaged bytes: they are refused, or they are the only encoding of another value. It returns 1 if
// the bytes differ at all.
func (d *decoder) mustBeLegal(t *testing.T, good, damaged []byte) int {
	t.Helper()
	if string(good) == string(damaged) {
		return 0
	}
	if d.decode(damaged) == nil && d.encode != nil {
		again, err := d.encode(make([]byte, 0, 8000))
		require.NoError(t, err)
		require.Equal(t, damaged, again, "two encodings of one value")
	}
	return 1
}
