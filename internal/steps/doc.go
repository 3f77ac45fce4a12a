// Package steps has the steps of a frame of a server and a client, for the code that runs frames: package systems, and tests.
//
// A frame of a server is BeginFrame, Receive for each datagram, Dispatch for each stage, the capture of the world into Store when
// TickDue, Send, Drain. A frame of a client is BeginFrame, Receive, the apply of Replica to the world, Applied, Dispatch, Send, Drain.
package steps

import (
	"time"

	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// Frame has the steps of both ends that each frame takes.
type Frame interface {
	// BeginFrame starts a frame. now is the time since any fixed moment. When the clock is set back, time goes on from where it was
	// with the next frame. A client measures its clocks anew then.
	BeginFrame(now time.Duration)
	// ReceiveAfter is Receive of a datagram that came to the socket some time before this frame, as transport.Timed tells: Ping
	// does not count that wait.
	ReceiveAfter(from transport.Addr, packet []byte, waited time.Duration)
	// Dispatch hands the messages that wait for a stage to their handlers, and makes it the present stage of the end.
	Dispatch(stage tick.Stage)
	// Send ends a frame: it builds packets, which wait for Drain.
	Send()
	// Drain hands out the datagrams that wait to be sent, in order. A packet is good until the function returns.
	Drain(send func(to transport.Addr, packet []byte))
}

// End has all steps of both ends.
type End interface {
	Frame
	// Receive takes one datagram. It keeps nothing of packet. A datagram that is not of the other end is counted and dropped.
	Receive(from transport.Addr, packet []byte)
	// Knows reports whether an address has a connection. A socket asks it which datagrams to keep when it is flooded.
	Knows(from transport.Addr) bool
	// Tag tells the entities of this end from those of any other one in the same process.
	Tag() uint32
	// Contained is deferred around a function of the game, as Contain does. If that panics, OnError is given a *PanicError with that
	// name, and the frame goes on. On a client the connection ends with errs.ReasonHandlerPanic, as for a handler; on a server none ends.
	Contained(name string)
}

// Server has the steps of a server.
type Server interface {
	End
	// Publish brings the changes of Spawn, Put, Remove and Despawn into the store. The capture calls it between Begin and Commit
	// of the store, elsewhere it does nothing. Where nobody captures at all, Send does.
	Publish()
	// DrainAll is Drain for a transport that sends many datagrams at once.
	DrainAll(send func(to []transport.Addr, runs [][]byte, sizes []int))
	// SetProver names the socket, which may prove who its clients are.
	SetProver(socket any)
	// ReportUnreplicated passes an error about a component set to OnError, and counts it in Stats.Unreplicated.
	ReportUnreplicated(err error)
	// Alone reports whether nobody but the player of this process is there or may come.
	Alone() bool
	// CanHost returns the error of Host without any effect, nil if Host would succeed. The error wraps ErrHost.
	CanHost(client message.Endpoint) error
	// Host makes a client the player at this server, as netcode.Host, with a payload for OnApprove, as Client.ConnectWith: the player
	// of a host is asked about like any other, and has an identity. If the function refuses, the error wraps ErrHost and has the
	// reason. If it decides in a later frame, State is Connecting until then, and a refusal is told as to a client that connects. A
	// player with an identity that a client of the server has replaces that client; no client replaces the player of a host.
	Host(client message.Endpoint, payload []byte) error
}

// Client has the steps of a client.
type Client interface {
	End
	// Applied tells the client that its world has all state of Replica. Only then are messages handled about an entity that has just come.
	Applied()
	// Suspended reports whether the systems must leave the client's world as it is.
	Suspended() bool
	// ConnectedTo reports whether the client is connected to that server, in this process.
	ConnectedTo(server message.Endpoint) bool
}

// Contain calls a function of the game for a server or a client. f does not escape.
func Contain(end End, name string, f func()) {
	defer end.Contained(name)
	f()
}

// Of returns the steps of a server or a client, of a type that embeds one, or of a type that has them itself.
func Of(end any) Frame {
	if f, ok := door.Of(end).(Frame); ok {
		return f
	}
	f, _ := end.(Frame)
	return f
}

// OfServer returns the steps of a server, or of a type that embeds one.
func OfServer(server message.Endpoint) Server {
	s, _ := door.Of(server).(Server)
	return s
}

// OfClient returns the steps of a client, or of a type that embeds one.
func OfClient(client message.Endpoint) Client {
	c, _ := door.Of(client).(Client)
	return c
}
