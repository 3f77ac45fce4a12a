package systems_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// ranked is a socket whose peers share a queue: it notes whether the sender of each datagram has a session.
type ranked struct {
	*memory.Conn
	last     transport.Addr
	sessions map[transport.Addr]bool
}

func (r *ranked) Receive(buf []byte) (n int, from transport.Addr, err error) {
	n, from, err = r.Conn.Receive(buf)
	r.last = from
	return n, from, err
}

func (r *ranked) Rank(session bool) { r.sessions[r.last] = session }

// A socket learns which of its peers have a session, at both ends, through a Join too.
func TestASocketLearnsWhoHasASession(t *testing.T) {
	network, now := memory.NewNetwork(), time.Duration(0)
	clock := func() time.Duration { return now }
	listen := func(at string) *ranked {
		conn, err := network.Listen(transport.MustParseAddr(at))
		require.NoError(t, err)
		return &ranked{Conn: conn, sessions: map[transport.Addr]bool{}}
	}
	here, there, stranger := listen("127.0.0.1:1"), listen("127.0.0.1:2"), listen("127.0.0.1:3")
	protocol := netcode.NewProtocol()
	server, err := netcode.NewServer(protocol, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)
	worlds := [2]*ecs.World{ecs.New(), ecs.New()}
	loops := []*systems.Runner{
		systems.NewRunner(worlds[0], systems.NewServer(server, transport.Join(here), clock), 30),
		systems.NewRunner(worlds[1], systems.NewClient(client, there, clock), 30),
	}
	run := func(frames int) {
		for range frames {
			require.NoError(t, stranger.Send(here.LocalAddr(), []byte{1, 2, 3}))
			for _, l := range loops {
				l.Step()
			}
			now += time.Second / 30
		}
	}
	require.NoError(t, client.Connect(here.LocalAddr()))
	run(30)
	require.Equal(t, map[transport.Addr]bool{there.LocalAddr(): true, stranger.LocalAddr(): false}, here.sessions)
	require.Equal(t, map[transport.Addr]bool{here.LocalAddr(): true}, there.sessions)
}
