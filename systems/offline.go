package systems

import (
	"io"
	"reflect"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/transport"
)

// Offline is a socket without a network, for a single player. NewHost(server, client, systems.Offline{}, now) runs the
// same systems, messages and inputs as any host. Attach opens the game for other players while it runs.
type Offline struct{}

// Send implements Socket. It drops the datagram.
func (Offline) Send(transport.Addr, []byte) error { return nil }

// Receive implements Socket. It never returns a datagram.
func (Offline) Receive([]byte) (n int, from transport.Addr, err error) {
	return 0, transport.Addr{}, nil
}

// Attach replaces the server's socket, so that clients can connect through the new socket from the next frame on. A game
// may call it at any time, for example from a menu. The systems own the new socket: they close it.
//
// If the server has another open socket, Attach first does a Detach: the clients of the old socket are told that the game
// is over, and the old socket is closed. The new socket is used when all clients have been told, at most a second later
// by default. The same holds during a Detach.
//
// The error is a *errs.PlainError for an unencrypted socket that the internet may reach; then nothing changes. A
// closed or broken socket is reported to Server.OnError in the next frames. Attach panics on a nil socket.
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

// Detach closes the game for other players. Their connections end with errs.ReasonShuttingDown, and new connections are
// refused. When all clients have been told, at most a second later by default, the socket is closed and the systems are
// Offline. The world and a host's player continue. Attach opens the game again.
func (s *ServerSystems) Detach() {
	s.await(nil)
	s.detaching = true
	s.Server.SetOpen(false)
}

// await sets the socket that follows a Detach. It closes a socket that was waiting, unless that is in use.
func (s *ServerSystems) await(socket Socket) {
	if before := s.next; before != nil && !same(before, socket) && !same(before, s.Receive.Socket) {
		s.close(before)
	}
	s.next = socket
}

// detached ends a Detach when all clients have been told.
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

// open accepts clients through a socket.
func (s *ServerSystems) open(socket Socket) {
	s.use(socket)
	s.Server.SetOpen(true)
}

// close closes a socket that implements io.Closer.
func (s *ServerSystems) close(socket Socket) {
	if socket, ok := socket.(io.Closer); ok {
		if err := socket.Close(); err != nil {
			s.Receive.faults.report(s.Server, "closing", err)
		}
	}
}

// use sets the socket of Receive and Send.
func (s *ServerSystems) use(socket Socket) {
	s.Receive.Socket, s.Send.Socket = socket, socket
	s.Send.Initialize(nil) // Initialize checks the capabilities of the socket.
	steps.OfServer(s.Server).SetProver(socket)
}

// same reports whether two sockets are the same, also inside a socket with the method Inside.
func same(a, b Socket) bool {
	a, b = inside(a), inside(b)
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// inside returns the innermost socket.
func inside(socket Socket) Socket {
	if outer, ok := socket.(interface{ Inside() Socket }); ok {
		return outer.Inside()
	}
	return socket
}

// detacher is the system that ends a Detach.
type detacher struct{ of *ServerSystems }

// Initialize implements System.
func (d *detacher) Initialize(*netecs.World) {}

// Update implements System.
func (d *detacher) Update(*netecs.World) {
	if d.of.detaching && steps.OfServer(d.of.Server).Alone() {
		d.of.detached()
	}
}

// Finalize implements System. It closes a socket that waits for the end of a Detach.
func (d *detacher) Finalize(*netecs.World) { d.of.await(nil) }
