package main

import (
	"errors"
	"math/rand/v2"

	"github.com/arche-netcode/netcode/transport"
)

// lateSocket is a client's socket on a network that loses datagrams and delays them. It loses and delays nothing until begin.
type lateSocket struct {
	*heldSocket
	server  transport.Addr
	network realNetwork
	began   bool
	trip    int
	random  *rand.Rand
	now     int // frame
	late    int // ticks, of what is read in this frame
	fault   error
	down    delayed
	up      delayed
	due     [][]byte
	free    [][]byte
	buf     []byte
}

func newLateSocket(held *heldSocket, n realNetwork, number int) *lateSocket {
	return &lateSocket{
		heldSocket: held, trip: realTrips()[number%n.classes], random: rand.New(rand.NewPCG(n.seed, uint64(number))), buf: make([]byte, 2048),
	}
}

// begin has the network be as told from now on.
func (l *lateSocket) begin(n realNetwork) {
	if l != nil {
		l.began, l.network = true, n
	}
}

// passFrame begins a frame: it takes what the held socket has read, and sends the client's datagrams that are old enough. A datagram of a client reaches the server in its
// next tick by itself, so that is a tick of the round trip.
func (l *lateSocket) passFrame(number int64) {
	if l == nil {
		return
	}
	if l.now = int(number); !l.began {
		return
	}
	l.late = l.random.IntN(l.network.jitter + 1)
	l.fault = l.drain()
	l.due = l.down.take(l.now)
	for _, datagram := range l.up.take(l.now) {
		l.fault = errors.Join(l.fault, l.heldSocket.Send(l.server, datagram))
		l.free = append(l.free, datagram)
	}
}

// loses decides about one datagram.
func (l *lateSocket) loses() bool { return l.random.Float64() < l.network.loss }

// keep copies a datagram.
func (l *lateSocket) keep(datagram []byte) []byte {
	last := len(l.free) - 1
	if last < 0 {
		return append(make([]byte, 0, 2048), datagram...)
	}
	room := l.free[last]
	l.free = l.free[:last]
	return append(room[:0], datagram...)
}

// Send delays what the client sends.
func (l *lateSocket) Send(to transport.Addr, datagram []byte) error {
	if l.server = to; !l.began {
		return l.heldSocket.Send(to, datagram)
	}
	if l.loses() {
		return nil
	}
	if wait := l.trip - l.trip/2 - 1; wait > 0 {
		l.up.addDatagram(l.now+wait, l.keep(datagram))
		return nil
	}
	return l.heldSocket.Send(to, datagram)
}

// Receive gives what arrives in this frame.
func (l *lateSocket) Receive(buf []byte) (n int, from transport.Addr, err error) {
	if !l.began {
		return l.heldSocket.Receive(buf)
	}
	if len(l.due) == 0 {
		err, l.fault = l.fault, nil
		return 0, from, err
	}
	datagram := l.due[0]
	l.due = l.due[1:]
	l.free = append(l.free, datagram)
	return copy(buf, datagram), l.server, nil
}

// drain delays what the server sent in this tick.
func (l *lateSocket) drain() error {
	for {
		n, _, err := l.heldSocket.Receive(l.buf)
		if n == 0 || err != nil {
			return err
		}
		if !l.loses() {
			l.down.addDatagram(l.now+l.trip/2+l.late, l.keep(l.buf[:n]))
		}
	}
}
