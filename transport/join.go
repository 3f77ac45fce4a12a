package transport

import (
	"fmt"
	"slices"
	"time"
)

// Joined is one Conn over several, so that a server listens on all of them. Join makes one. Addr.Via distinguishes the addresses
// of the inner connections. Each connection keeps its own limits and counters. Like any Conn it belongs to one goroutine.
type Joined struct {
	conns  []Conn
	closed []bool
	next   int // The connection that the next Receive asks first.
	last   int // The connection of the last datagram.

	to    []Addr // Scratch of SendAll: the runs of one connection,
	runs  [][]byte
	sizes []int
	at    []int // and their indexes among all runs.
}

var (
	_ Conn        = (*Joined)(nil)
	_ BatchSender = (*Joined)(nil)
)

// Join joins 1 to 255 connections. It panics on none, on more, and on a Joined among them: pass its inner connections instead.
func Join(conns ...Conn) *Joined {
	if len(conns) == 0 || len(conns) > 255 {
		panic(fmt.Sprintf("transport: Join of %d connections: 1 to 255 can be joined", len(conns)))
	}
	for _, c := range conns {
		if _, again := c.(*Joined); again {
			panic("transport: Join of a Joined: join its connections")
		}
	}
	return &Joined{conns: conns, closed: make([]bool, len(conns))}
}

// inside returns the inner connection of an address, and the address without Via.
func (j *Joined) inside(to Addr) (Conn, Addr, error) {
	i := int(to.Via) - 1
	if i < 0 || i >= len(j.conns) {
		return nil, Addr{}, ErrAddress
	}
	to.Via = 0
	return j.conns[i], to, nil
}

// Send sends through the inner connection of the address.
func (j *Joined) Send(to Addr, datagram []byte) error {
	c, to, err := j.inside(to)
	if err != nil {
		return err
	}
	return j.survive(c.Send(to, datagram))
}

// SendAll implements BatchSender: each inner connection gets its own runs, in order.
func (j *Joined) SendAll(to []Addr, runs [][]byte, sizes []int) (failed int, err error) {
	for i, a := range to {
		if _, _, fault := j.inside(a); fault != nil && err == nil {
			failed, err = i, fault
		}
	}
	for v, c := range j.conns {
		j.to, j.runs, j.sizes, j.at = j.to[:0], j.runs[:0], j.sizes[:0], j.at[:0]
		for i, a := range to {
			if int(a.Via) == v+1 {
				a.Via = 0
				j.to, j.runs, j.sizes, j.at = append(j.to, a), append(j.runs, runs[i]), append(j.sizes, sizes[i]), append(j.at, i)
			}
		}
		at, fault := sendAll(c, j.to, j.runs, j.sizes)
		if fault = j.survive(fault); fault != nil && err == nil {
			failed, err = j.at[at], fault
		}
	}
	clear(j.runs[:cap(j.runs)])
	return failed, err
}

// sendAll calls SendAll of a connection, or Send for each datagram.
func sendAll(c Conn, to []Addr, runs [][]byte, sizes []int) (failed int, err error) {
	if all, ok := c.(BatchSender); ok && len(to) > 0 {
		return all.SendAll(to, runs, sizes)
	}
	for i, run := range runs {
		for len(run) > 0 {
			n := min(sizes[i], len(run))
			if n <= 0 {
				n = len(run)
			}
			if fault := c.Send(to[i], run[:n]); fault != nil && err == nil {
				failed, err = i, fault
			}
			run = run[n:]
		}
	}
	return failed, err
}

// survive replaces ErrClosed of one inner connection by ErrAddress while others are open.
func (j *Joined) survive(err error) error {
	if err == ErrClosed && !j.over() {
		return ErrAddress
	}
	return err
}

// over reports whether all inner connections are closed.
func (j *Joined) over() bool {
	for _, closed := range j.closed {
		if !closed {
			return false
		}
	}
	return true
}

// Receive returns the next datagram of any inner connection. It asks them round-robin, so that a flood on one cannot block the
// others. It returns ErrClosed when all are closed.
func (j *Joined) Receive(buf []byte) (n int, from Addr, err error) {
	for range j.conns {
		v := j.next
		if j.next++; j.next == len(j.conns) {
			j.next = 0
		}
		if j.closed[v] {
			continue
		}
		n, from, err = j.conns[v].Receive(buf)
		switch {
		case err == ErrClosed:
			j.closed[v] = true
		case err != nil:
			return 0, Addr{}, err
		case n > 0:
			from.Via, j.last = uint8(v+1), v
			return n, from, nil
		}
	}
	if j.over() {
		return 0, Addr{}, ErrClosed
	}
	return 0, Addr{}, nil
}

// LocalAddr returns the address of the first connection, without Via.
func (j *Joined) LocalAddr() Addr { return j.conns[0].LocalAddr() }

// Secure implements Secured: it reports whether all inner connections are secure.
func (j *Joined) Secure() bool {
	for _, c := range j.conns {
		if !IsSecure(c) {
			return false
		}
	}
	return true
}

// Proved implements Prover: it asks the inner connection of the address.
func (j *Joined) Proved(of Addr) (user string, data []byte, ok bool) {
	c, of, err := j.inside(of)
	if err != nil {
		return "", nil, false
	}
	return proved(c, of)
}

// Waited implements Timed: it asks the connection of the last datagram.
func (j *Joined) Waited() time.Duration { return WaitedOf(j.conns[j.last]) }

// Rank implements Ranker: it tells the connection of the last datagram.
func (j *Joined) Rank(session bool) { RankOf(j.conns[j.last], session) }

// Conns returns the inner connections, in the order of Addr.Via.
func (j *Joined) Conns() []Conn { return slices.Clone(j.conns) }

// Close closes all inner connections and returns the first error.
func (j *Joined) Close() (first error) {
	for i, c := range j.conns {
		j.closed[i] = true
		if err := c.Close(); first == nil {
			first = err
		}
	}
	return first
}
