package record_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/wire"
)

// FuzzReadSaved reads hostile saved games: an accepted one is saved again with the same bytes.
func FuzzReadSaved(f *testing.F) {
	p := netcode.NewProtocol()
	netcode.Replicate[savedThing](p)
	server := func(t testing.TB) *netcode.Server {
		s, err := netcode.NewServer(p, netcode.Config{MaxEntities: 100})
		require.NoError(t, err)
		return s
	}
	s := server(f)
	a, b := s.Spawn(), s.Spawn()
	require.NoError(f, netcode.Put(s, a, &savedThing{V: 5, To: b}))
	require.NoError(f, netcode.Put(s, b, &savedThing{Name: wire.NewText[[8]byte]("Ann")}))
	require.True(f, s.SetOwner(a, 7))
	capture := func(s *netcode.Server) {
		s.Store().Begin(s.Store().Tick() + 1)
		steps.OfServer(s).Publish()
		s.Store().Commit()
	}
	capture(s)
	var out bytes.Buffer
	require.NoError(f, record.Save(s, &out))
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:40])
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 40 { // a valid checksum lets the rest be read
			binary.LittleEndian.PutUint32(file[29:], crc32.Update(crc32.Checksum(file[:29], crc32.MakeTable(crc32.Castagnoli)), crc32.MakeTable(crc32.Castagnoli), file[33:]))
		}
		to := server(t)
		ids, err := record.Load(to, bytes.NewReader(file))
		if err != nil {
			require.Zero(t, to.Store().Len())
			return
		}
		capture(to)
		require.Equal(t, len(ids), to.Store().Len())
		var again, third bytes.Buffer
		require.NoError(t, record.Save(to, &again))
		last := server(t)
		_, err = record.Load(last, bytes.NewReader(again.Bytes()))
		require.NoError(t, err)
		capture(last)
		require.NoError(t, record.Save(last, &third))
		require.Equal(t, again.Bytes(), third.Bytes())
	})
}

// savedThing is a component of FuzzReadSaved.
type savedThing struct {
	V    int16
	Name wire.Text[[8]byte]
	To   netcode.NetworkID `net:"entity"`
}

// An empty file is reported as empty.
func TestLoadOfAnEmptyFile(t *testing.T) {
	s, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	_, err = record.Load(s, bytes.NewReader(nil))
	require.ErrorIs(t, err, record.ErrFormat)
	require.ErrorContains(t, err, "the file is empty")
	_, err = record.Load(s, bytes.NewReader([]byte{0xAB}))
	require.ErrorContains(t, err, "it begins ab, which is no saved game")
}

// An entity whose only component has no fields has that component after loading.
func TestAComponentWithoutFieldsIsLoaded(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[shown](p)
	servers := [2]*netcode.Server{}
	for i := range servers {
		var err error
		servers[i], err = netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
	}
	capture := func(s *netcode.Server) {
		s.Store().Begin(s.Store().Tick() + 1)
		steps.OfServer(s).Publish()
		s.Store().Commit()
	}
	require.NoError(t, netcode.Put(servers[0], servers[0].Spawn(), &shown{}))
	capture(servers[0])
	var file bytes.Buffer
	require.NoError(t, record.Save(servers[0], &file))
	ids, err := record.Load(servers[1], &file)
	require.NoError(t, err)
	capture(servers[1])
	require.Equal(t, 1, servers[1].Store().Mask(ids[0]).Count())
}
