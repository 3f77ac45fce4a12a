package systems_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// endless is a socket in which a datagram of a stranger always waits.
type endless struct{ taken int }

func (s *endless) Receive(buf []byte) (int, transport.Addr, error) {
	s.taken++
	return copy(buf, "\xFFnothing"), transport.MustParseAddr("198.51.100.9:9"), nil
}

func (s *endless) Send(transport.Addr, []byte) error { return nil }

// A flood cannot hold up a frame for ever: so many datagrams are taken in one, and the rest in those that follow.
func TestAFrameTakesSoManyDatagrams(t *testing.T) {
	server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	socket := &endless{}
	receive := &systems.Receive{End: server, Socket: socket, Now: func() time.Duration { return time.Second }}
	receive.Update(nil)
	require.Equal(t, 8192, socket.taken)
	require.EqualValues(t, 8192, server.Stats().BadHandshakes)
	receive.Update(nil)
	require.Equal(t, 2*8192, socket.taken)
}
