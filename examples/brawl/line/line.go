package line

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// maxWaiting bounds the datagrams of each direction that wait; beyond that they are lost.
const maxWaiting = 4096

// Inner is the socket below: those of transport/web, transport/webtransport and transport/websocket are such.
type Inner interface {
	systems.Socket
	Server() transport.Addr
	Done() <-chan struct{}
	Err() error
	Close() error
}

// Line is the socket of a client. All calls come from the goroutine of its loop, but those of Redial's function.
type Line struct {
	Delay, Jitter time.Duration // Of each direction.
	Loss          float64       // Of each direction, from 0 to 1.
	Redial        func() (Inner, error)
	Seen          func(datagram []byte) // Gets each datagram that arrives, before the client does; may be nil.

	now      func() time.Duration
	random   *rand.Rand
	inner    Inner
	server   transport.Addr // As the client knows it, however often the socket below changes.
	up, down queue
	waited   time.Duration
	buffer   []byte
	next     chan redialled
	moving   bool
}

type redialled struct {
	inner Inner
	err   error
}

// New lays a line over a socket.
func New(inner Inner, now func() time.Duration) *Line {
	return &Line{now: now, random: rand.New(rand.NewPCG(1, 2)), inner: inner, server: inner.Server(), buffer: make([]byte, 1<<16), next: make(chan redialled, 1)}
}

// Server is the address to connect to.
func (l *Line) Server() transport.Addr { return l.server }

// Send implements systems.Socket.
func (l *Line) Send(_ transport.Addr, datagram []byte) error {
	l.put(&l.up, datagram)
	return l.flush()
}

// Receive implements systems.Socket.
func (l *Line) Receive(buf []byte) (n int, from transport.Addr, err error) {
	l.follow()
	err = l.flush()
	for err == nil {
		var n int
		if n, _, err = l.inner.Receive(l.buffer); n == 0 {
			break
		}
		l.put(&l.down, l.buffer[:n])
	}
	datagram, waited, ok := l.down.take(l.now())
	if !ok {
		return 0, transport.Addr{}, err
	}
	l.waited = waited
	if l.Seen != nil {
		l.Seen(datagram)
	}
	return copy(buf, datagram), l.server, nil
}

// Waited implements transport.Timed: a datagram came when it was due, not when the frame began.
func (l *Line) Waited() time.Duration { return l.waited }

// Move gives the client another address: it dials anew, and the old connection ends without a word.
func (l *Line) Move() {
	if l.moving || l.Redial == nil {
		return
	}
	l.moving = true
	go func() {
		inner, err := l.Redial()
		l.next <- redialled{inner, err}
	}()
}

// follow takes the new socket once it is there.
func (l *Line) follow() {
	select {
	case next := <-l.next:
		l.moving = false
		if next.err == nil {
			_ = l.inner.Close() // The server's end of it learns nothing.
			l.inner = next.inner
		}
	default:
	}
}

// Err returns why the socket below has ended; nil: it has not.
func (l *Line) Err() error {
	select {
	case <-l.inner.Done():
		return fmt.Errorf("the transport ended: %w", l.inner.Err())
	default:
		return nil
	}
}

// Close closes the socket below.
func (l *Line) Close() error { return l.inner.Close() }

// put queues a datagram, or loses it.
func (l *Line) put(q *queue, datagram []byte) {
	if l.random.Float64() < l.Loss {
		return
	}
	due := l.now() + l.Delay
	if l.Jitter > 0 {
		due += time.Duration((l.random.Float64()*2 - 1) * float64(min(l.Jitter, l.Delay)))
	}
	q.put(due, datagram)
}

// flush sends what is due.
func (l *Line) flush() (first error) {
	for {
		datagram, _, ok := l.up.take(l.now())
		if !ok {
			return first
		}
		if err := l.inner.Send(l.inner.Server(), datagram); err != nil && first == nil {
			first = err
		}
	}
}

// queue has the datagrams of a direction, in the order in which they are due: jitter does not change it.
type queue struct {
	waiting []waiting
	free    [][]byte
	last    []byte // Given out by take.
}

type waiting struct {
	due      time.Duration
	datagram []byte
}

func (q *queue) put(due time.Duration, datagram []byte) {
	if len(q.waiting) >= maxWaiting {
		return
	}
	if n := len(q.waiting); n > 0 {
		due = max(due, q.waiting[n-1].due)
	}
	var kept []byte
	if n := len(q.free); n > 0 {
		kept, q.free = q.free[n-1], q.free[:n-1]
	}
	q.waiting = append(q.waiting, waiting{due, append(kept[:0], datagram...)})
}

// take returns the next datagram that is due, good until the next take, and for how long it has been.
func (q *queue) take(now time.Duration) (datagram []byte, waited time.Duration, ok bool) {
	if q.last != nil {
		q.free, q.last = append(q.free, q.last), nil
	}
	if len(q.waiting) == 0 || q.waiting[0].due > now {
		return nil, 0, false
	}
	first := q.waiting[0]
	q.waiting = append(q.waiting[:0], q.waiting[1:]...)
	q.last = first.datagram
	return first.datagram, now - first.due, true
}
