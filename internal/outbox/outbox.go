package outbox

import (
	"slices"

	"github.com/arche-netcode/netcode/transport"
)

// Max bounds the bytes that wait for Drain, so that the memory of a game that never drains does not grow for ever.
const Max = 16 << 20

// Buffer collects the datagrams of a frame in one reused slice until Drain hands them out. The zero value is empty.
type Buffer struct {
	bytes     []byte
	datagrams []datagram
	taken     int // Bytes of Max that others have.
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

// Room returns n free bytes to build a datagram in, or nil when too much waits already. They become a datagram with Commit. Bytes
// that were not committed are free again at the next call.
func (o *Buffer) Room(n int) []byte {
	used := len(o.bytes)
	if used+n > Max-o.taken {
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

// Free returns the bytes that may still be added.
func (o *Buffer) Free() int { return max(Max-o.taken-len(o.bytes), 0) }

// Limit bounds the bytes of an empty buffer.
func (o *Buffer) Limit(n int) { o.taken = Max - n }

// Append moves the datagrams of another buffer behind those of this one.
func (o *Buffer) Append(from *Buffer) {
	at := len(o.bytes)
	o.bytes = append(o.bytes, from.bytes...)
	for _, d := range from.datagrams {
		o.datagrams = append(o.datagrams, datagram{d.to, at + d.start, at + d.end})
	}
	from.bytes, from.datagrams = from.bytes[:0], from.datagrams[:0]
}

// Drain hands out everything in the order it was committed, and forgets it.
func (o *Buffer) Drain(send func(to transport.Addr, packet []byte)) {
	for _, d := range o.datagrams {
		send(d.to, o.bytes[d.start:d.end:d.end])
	}
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}

// longestRun and mostInRun bound a run: the bytes of one datagram, and the number that operating systems take.
const (
	longestRun = 60000
	mostInRun  = 64
)

// run is the run that begins with a datagram: that one, where the bytes of the last one end, and the datagram behind it.
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

// DrainAll is Drain for all runs at once: datagrams to one address that lie one after the other, each as long as the first but for the last,
// which may be shorter.
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
	clear(a.runs) // Else they would keep the bytes when there is a larger slice.
	a.to, a.runs, a.sizes = a.to[:0], a.runs[:0], a.sizes[:0]
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}
