package record

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/wire"
)

// savedThing is a component of FuzzReadSaved.
type savedThing struct {
	V    int16
	Name wire.Text[[8]byte]
	To   netcode.NetworkID `net:"entity"`
}

// fileOf packs a header's text and a chunk of one tick with right sums, so that a fuzzer gets beyond them.
func fileOf(t testing.TB, text string, raw []byte) []byte {
	pack := func(b []byte) []byte {
		var packed bytes.Buffer
		packer, err := flate.NewWriter(&packed, packLevel)
		require.NoError(t, err)
		_, err = packer.Write(b)
		require.NoError(t, err)
		require.NoError(t, packer.Close())
		return packed.Bytes()
	}
	u32 := binary.LittleEndian.AppendUint32
	packed := pack([]byte(text))
	file := u32(u32(u32([]byte(magic), uint32(len(packed))), uint32(len(text))), checksum(packed))
	file = append(file, packed...)
	packed = pack(raw)
	head := u32(u32([]byte(chunkMagic), uint32(len(packed))), uint32(len(raw)))
	head = u32(u32(binary.LittleEndian.AppendUint64(head, 1), 0), 1)
	return append(append(file, u32(head, checksum(head, packed))...), packed...)
}

// FuzzReadSaved reads hostile saved games: what is taken is saved again in the only way.
func FuzzReadSaved(f *testing.F) {
	p := netcode.NewProtocol()
	netcode.Replicate[savedThing](p)
	server := func(t testing.TB) *netcode.Server {
		s, err := netcode.NewServer(p, netcode.Config{MaxEntities: 100})
		require.NoError(t, err)
		return s
	}
	capture := func(s *netcode.Server) {
		s.Store().Begin(s.Store().Tick() + 1)
		steps.OfServer(s).Publish()
		s.Store().Commit()
	}
	s := server(f)
	a, b := s.Spawn(), s.Spawn()
	require.NoError(f, netcode.Put(s, a, &savedThing{V: 5, To: b}))
	require.NoError(f, netcode.Put(s, b, &savedThing{Name: wire.NewText[[8]byte]("Ann")}))
	require.True(f, s.SetOwner(a, 7))
	capture(s)
	var out bytes.Buffer
	require.NoError(f, Save(s, &out))
	r, err := NewReader(bytes.NewReader(out.Bytes()))
	require.NoError(f, err)
	h, packed, err := r.chunk()
	require.NoError(f, err)
	raw, ok := unpack(packed, h.raw)
	require.True(f, ok)
	text := string(r.header.appendText(nil))
	require.Equal(f, out.Bytes(), fileOf(f, text, raw))
	f.Add(text, raw)
	f.Add(text[:40], raw[:9])
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		to := server(t)
		ids, err := Load(to, bytes.NewReader(fileOf(t, text, raw)))
		if err != nil {
			require.Zero(t, to.Store().Len())
			return
		}
		capture(to)
		require.Equal(t, len(ids), to.Store().Len())
		var again, third bytes.Buffer
		require.NoError(t, Save(to, &again))
		last := server(t)
		_, err = Load(last, bytes.NewReader(again.Bytes()))
		require.NoError(t, err)
		capture(last)
		require.NoError(t, Save(last, &third))
		require.Equal(t, again.Bytes(), third.Bytes())
	})
}
