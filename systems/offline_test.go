package systems_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// otherAddress is a second address of a server.
var otherAddress = transport.MustParseAddr("127.0.0.1:2")

// moving is a host with a guest at its first socket, and a second socket.
func moving(t *testing.T) (p *pair, first, second *memory.Conn) {
	p = newPair(t, false)
	first = p.listen(t)
	second, err := p.network.Listen(otherAddress)
	require.NoError(t, err)
	require.NoError(t, p.host.Attach(first))
	p.join(t)
	p.run(time.Second)
	require.Equal(t, netcode.Connected, p.guest.Client.State())
	return p, first, second
}

func closed(socket systems.Socket) bool {
	return socket.Send(transport.MustParseAddr("127.0.0.1:99"), []byte{1}) != nil
}

// A game that moves to another socket closes its connections over the old socket first, with Detach or without, however
// soon it moves. Guests then connect over the new socket.
func TestAttachFinishesTheGoodbyeOverTheOldSocket(t *testing.T) {
	for frames := range 4 {
		for _, detach := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d frames, Detach %v", frames, detach), func(t *testing.T) {
				p, first, second := moving(t)
				var reasons []error
				p.host.Server.OnDisconnect(func(_ netcode.ClientID, err *netcode.CloseError) { reasons = append(reasons, err) })
				if detach {
					p.host.Detach()
				}
				for range frames {
					p.step()
				}
				require.NoError(t, p.host.Attach(second))
				p.run(300 * time.Millisecond)
				require.ErrorIs(t, p.guest.Client.Err(), errs.ReasonShuttingDown)
				require.Len(t, reasons, 1)
				require.ErrorIs(t, reasons[0], errs.ReasonShuttingDown)
				p.run(time.Second)
				require.True(t, closed(first))
				require.False(t, closed(second))
				require.Equal(t, netcode.Connected, p.host.Client.State(), "its player plays on")

				require.NoError(t, p.guest.Client.Connect(otherAddress))
				p.run(time.Second)
				require.Equal(t, netcode.Connected, p.guest.Client.State())
			})
		}
	}
}

// A guest that does not answer delays the new socket by at most a second.
func TestAttachDoesNotWaitForAGuestThatIsGone(t *testing.T) {
	p, first, second := moving(t)
	p.loops = p.loops[:1]
	require.NoError(t, p.host.Attach(second))
	p.run(100 * time.Millisecond)
	require.False(t, closed(first), "the guest may still answer")
	p.run(1500 * time.Millisecond)
	require.True(t, closed(first))
	require.Equal(t, systems.Socket(second), p.host.Receive.Socket)
	require.True(t, steps.OfServer(p.host.Server).Alone())
}

// The newest call counts: it closes the socket of an earlier call, unless that is in use.
func TestTheNewestAttachCounts(t *testing.T) {
	p, first, second := moving(t)
	third := p.listenAnywhere(t)
	require.NoError(t, p.host.Attach(second))
	require.NoError(t, p.host.Attach(second))
	require.False(t, closed(second))
	require.NoError(t, p.host.Attach(third))
	require.True(t, closed(second))
	require.NoError(t, p.host.Attach(first))
	require.True(t, closed(third))
	p.run(2 * time.Second)
	require.False(t, closed(first), "it is the one in use, and stays")
	require.ErrorIs(t, p.guest.Client.Err(), errs.ReasonShuttingDown)
	require.NoError(t, p.guest.Client.Connect(serverAddress))
	p.run(time.Second)
	require.Equal(t, netcode.Connected, p.guest.Client.State())
	require.NoError(t, p.host.Attach(first))
	p.run(time.Second)
	require.Equal(t, netcode.Connected, p.guest.Client.State(), "the socket that it has: nothing changes")

	last := p.listenAnywhere(t)
	require.NoError(t, p.host.Attach(last))
	p.host.Detach()
	require.True(t, closed(last))
	p.run(2 * time.Second)
	require.True(t, closed(first))
	require.Equal(t, systems.Offline{}, p.host.Receive.Socket)
	require.ErrorIs(t, p.guest.Client.Err(), errs.ReasonShuttingDown)
}

// A game that ends while a socket waits closes both.
func TestASocketThatWaitsIsClosedWithTheLoop(t *testing.T) {
	p, first, second := moving(t)
	require.NoError(t, p.host.Attach(second))
	for _, s := range p.host.Systems() {
		s.Finalize(p.worlds[0])
	}
	require.True(t, closed(first))
	require.True(t, closed(second))
}

// A closed socket is reported to OnError, since Attach cannot detect it.
func TestAttachOfAClosedSocketIsReported(t *testing.T) {
	p := newPair(t, false)
	var told []error
	p.host.Server.OnError(func(err error) { told = append(told, err) })
	socket := p.listen(t)
	require.NoError(t, socket.Close())
	require.NoError(t, p.host.Attach(socket))
	p.run(time.Second)
	require.Len(t, told, 1, "once")
	require.ErrorIs(t, told[0], transport.ErrClosed)
}

// listenAnywhere opens a socket at any address.
func (p *pair) listenAnywhere(t *testing.T) *memory.Conn {
	socket, err := p.network.Listen(transport.Addr{})
	require.NoError(t, err)
	return socket
}
