package outbox

import (
	"slices"

	"github.com/arche-netcode/netcode/transport"
)

// Max is the maximum number of bytes that wait for Drain. It limits the memory of a game that never drains.
const Max = 16 << 20

// Buffer collects the datagrams of a frame in one reused slice. The zero value is empty.
type Buffer struct {
	bytes     []byte
	datagrams []datagram
	all       struct {
		to    []transport.Addr
		runs  [][]byte
		sizes []int
	}
}

type datagram struct {
	to         transport.Addr
	start, end int
}

// Room returns n free bytes in which to build a datagram, nil if too much waits already. Commit turns them into a datagram.
// Uncommitted bytes are free again at the next call.
func (o *Buffer) Room(n int) []byte {
	used := len(o.bytes)
	if used+n > Max {
		return nil
	}
	if cap(o.bytes)-used < n {
		grown := make([]byte, used, 2*(used+n))
		copy(grown, o.bytes)
		o.bytes = grown
	}
	return o.bytes[used : used+n : used+n]
}

// Commit makes the first n bytes of the last Room a datagram.
func (o *Buffer) Commit(to transport.Addr, n int) {
	start := len(o.bytes)
	o.bytes = o.bytes[:start+n]
	if len(o.datagrams) == cap(o.datagrams) {
		o.datagrams = slices.Grow(o.datagrams, max(8, len(o.datagrams)))
	}
	o.datagrams = append(o.datagrams, datagram{to, start, start + n})
}

// Len returns the number of datagrams.
func (o *Buffer) Len() int { return len(o.datagrams) }

// Drain passes all datagrams to send in the order of Commit, and empties the buffer.
func (o *Buffer) Drain(send func(to transport.Addr, packet []byte)) {
	for _, d := range o.datagrams {
		send(d.to, o.bytes[d.start:d.end:d.end])
	}
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}

// longestRun is the maximum size of a run in bytes, mostInRun the maximum number of its datagrams: limits of operating systems.
const (
	longestRun = 60000
	mostInRun  = 64
)

// run returns the run that begins with datagram first: its first datagram, the end of its bytes, and the index of the datagram
// after it.
func (o *Buffer) run(first int) (next int, d *datagram, end int) {
	d = &o.datagrams[first]
	size := d.end - d.start
	end = d.end
	for next = first + 1; next < len(o.datagrams) && next-first < mostInRun; next++ {
		n := &o.datagrams[next]
		if n.start != end || n.end-n.start > size || n.end-d.start > longestRun || n.to != d.to {
			break
		}
		if end = n.end; end-n.start < size {
			return next + 1, d, end
		}
	}
	return next, d, end
}

// DrainAll is Drain for all runs at once. A run is consecutive datagrams to one address, of equal size except for the last, which
// may be shorter.
func (o *Buffer) DrainAll(send func(to []transport.Addr, runs [][]byte, sizes []int)) {
	a := &o.all
	for i := 0; i < len(o.datagrams); {
		next, d, end := o.run(i)
		a.to = append(a.to, d.to)
		a.runs = append(a.runs, o.bytes[d.start:end:end])
		a.sizes = append(a.sizes, d.end-d.start)
		i = next
	}
	if len(a.to) > 0 {
		send(a.to, a.runs, a.sizes)
	}
	clear(a.runs) // Otherwise they would keep the old bytes alive.
	a.to, a.runs, a.sizes = a.to[:0], a.runs[:0], a.sizes[:0]
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}
