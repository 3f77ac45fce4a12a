package systems

import (
	"io"
	"reflect"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// Offline is a socket to nobody, for a game of a single player: NewHost(server, client, systems.Offline{}, now) runs the same systems, messages and
// inputs as a host does, without a network. Attach opens the game for others while it runs.
type Offline struct{}

// Send implements Socket: nobody is there.
func (Offline) Send(netcode.Addr, []byte) error { return nil }

// Receive implements Socket: nothing comes.
func (Offline) Receive([]byte) (n int, from netcode.Addr, err error) { return 0, netcode.Addr{}, nil }

// Attach opens the server for others through a socket, in place of the one that it has: clients can connect from the next frame on. It may be
// called at any time, as from a menu. A socket that the server has already is Detached first, unless it is this one: its clients are told that
// the game is over, by their socket, which is closed then. The new one is used when all were told, a second later at most by default, as it
// also is after a Detach that is not over. The systems own the new one from this call on: they close it.
//
// The error is a *netcode.PlainError for a socket in clear that the internet may reach; then nothing changes. A socket that is closed
// or broken cannot be known here: Server.OnError is told in the next frames. Attach panics on a socket that is nil.
func (s *ServerSystems) Attach(socket Socket) error {
	mustBeThere(there(socket), "Attach", "the socket")
	if err := s.Server.MayListen(socket); err != nil {
		return err
	}
	switch {
	case s.detaching:
	case same(s.Receive.Socket, socket), same(s.Receive.Socket, Offline{}):
		s.open(socket)
		return nil
	default:
		s.Detach()
	}
	s.await(socket)
	return nil
}

// Detach ends the game for others: their connections end with peer.ReasonShuttingDown, and new ones are refused. When all were told, a second later at most
// by default, the socket is closed, if that can be, and the systems are Offline. The world and a host's player go on.
// Attach opens the game again.
func (s *ServerSystems) Detach() {
	s.await(nil)
	s.detaching = true
	s.Server.SetOpen(false)
}

// await sets the socket that follows when a Detach is over. One that waited before is closed, unless it is in use.
func (s *ServerSystems) await(socket Socket) {
	if before := s.next; before != nil && !same(before, socket) && !same(before, s.Receive.Socket) {
		s.close(before)
	}
	s.next = socket
}

// detached ends a Detach when all were told.
func (s *ServerSystems) detached() {
	before, next := s.Receive.Socket, s.next
	s.detaching, s.next = false, nil
	if !same(before, next) {
		s.close(before)
	}
	if next == nil {
		s.use(Offline{})
		return
	}
	s.open(next)
}

// open lets clients in through a socket.
func (s *ServerSystems) open(socket Socket) {
	s.use(socket)
	s.Server.SetOpen(true)
}

// close closes a socket, if that can be.
func (s *ServerSystems) close(socket Socket) {
	if socket, ok := socket.(io.Closer); ok {
		if err := socket.Close(); err != nil {
			s.Receive.faults.report(s.Server, "closing", err)
		}
	}
}

// use makes a socket that of both systems.
func (s *ServerSystems) use(socket Socket) {
	s.Receive.Socket, s.Send.Socket = socket, socket
	s.Send.Initialize(nil) // It looks what the socket can do.
	s.Server.SetProver(socket)
}

// same reports whether two sockets are one, each perhaps inside another that tells so by Inside.
func same(a, b Socket) bool {
	a, b = inside(a), inside(b)
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// inside returns the socket inside another.
func inside(socket Socket) Socket {
	if outer, ok := socket.(interface{ Inside() Socket }); ok {
		return outer.Inside()
	}
	return socket
}

// detacher is the system that ends a Detach.
type detacher struct{ of *ServerSystems }

// Initialize implements System.
func (d *detacher) Initialize(*ecs.World) {}

// Update implements System.
func (d *detacher) Update(*ecs.World) {
	if d.of.detaching && d.of.Server.Alone() {
		d.of.detached()
	}
}

// Finalize implements System. It closes a socket that waits for the end of a Detach.
func (d *detacher) Finalize(*ecs.World) { d.of.await(nil) }
