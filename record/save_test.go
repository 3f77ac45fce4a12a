package record_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/record"
)

// An empty file is reported as empty.
func TestLoadOfAnEmptyFile(t *testing.T) {
	s, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	_, err = record.Load(s, bytes.NewReader(nil))
	require.ErrorIs(t, err, record.ErrFormat)
	require.ErrorContains(t, err, "the file is empty")
	_, err = record.Load(s, bytes.NewReader([]byte{0xAB}))
	require.ErrorContains(t, err, "it begins ab")
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
