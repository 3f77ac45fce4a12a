package systems

import (
	"io"

	"github.com/arche-netcode/netcode"
)

// Offline is a socket to nobody, for a game of a single player: NewHost(server, client, systems.Offline{}, now) runs the same systems, messages and
// inputs as a host does, without a network. Attach opens the game for others while it runs.
type Offline struct{}

// Send implements Socket: nobody is there.
func (Offline) Send(netcode.Addr, []byte) error { return nil }

// Receive implements Socket: nothing comes.
func (Offline) Receive([]byte) (n int, from netcode.Addr, err error) { return 0, netcode.Addr{}, nil }

// Attach opens the server for others through a socket, in place of the one that it has, which is not closed: clients can connect from the next frame on. It may be
// called at any time, as from a menu. The error is a *netcode.PlainError for a socket in clear that the internet may reach; then
// nothing changes. It panics on a socket that is nil.
func (s *ServerSystems) Attach(socket Socket) error {
	mustBeThere(there(socket), "Attach", "the socket")
	if err := s.Server.MayListen(socket); err != nil {
		return err
	}
	s.use(socket)
	s.detaching = false
	s.Server.SetOpen(true)
	return nil
}

// Detach ends the game for others: their connections end with peer.ReasonShuttingDown, and new ones are refused. When all were told, a second later at most
// by default, the socket is closed, if that can be, and the systems are Offline. The world and a host's player go on.
// Attach opens the game again.
func (s *ServerSystems) Detach() {
	s.detaching = true
	s.Server.SetOpen(false)
}

// detached ends a Detach.
func (s *ServerSystems) detached() {
	if !s.detaching || !s.Server.Alone() {
		return
	}
	s.detaching = false
	if socket, ok := s.Receive.Socket.(io.Closer); ok {
		if err := socket.Close(); err != nil {
			s.Receive.faults.report(s.Server, "closing", err)
		}
	}
	s.use(Offline{})
}

// use makes a socket that of both systems.
func (s *ServerSystems) use(socket Socket) {
	s.Receive.Socket, s.Send.Socket = socket, socket
	s.Send.Initialize(nil) // It looks what the socket can do.
	s.Server.SetProver(socket)
}
