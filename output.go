package netcode

import (
	"net/netip"
	"slices"
)

// maxOutput bounds the bytes that wait for Drain, so that a game that never drains does not grow for ever.
const maxOutput = 16 << 20

// output collects the datagrams of a frame in one reused buffer until Drain hands them out.
type output struct {
	bytes     []byte
	datagrams []datagram
	taken     int // bytes of maxOutput that others have
	all       struct {
		to    []netip.AddrPort
		runs  [][]byte
		sizes []int
	}
}

type datagram struct {
	to         netip.AddrPort
	start, end int
}

// room returns n free bytes to build a datagram in, or nil when too much waits already. They become a datagram with
// commit; whatever was not committed is free again at the next call.
func (o *output) room(n int) []byte {
	used := len(o.bytes)
	if used+n > maxOutput-o.taken {
		return nil
	}
	if cap(o.bytes)-used < n {
		grown := make([]byte, used, 2*(used+n))
		copy(grown, o.bytes)
		o.bytes = grown
	}
	return o.bytes[used : used+n : used+n]
}

// commit makes the first n bytes of the last room a datagram.
func (o *output) commit(to netip.AddrPort, n int) {
	start := len(o.bytes)
	o.bytes = o.bytes[:start+n]
	if len(o.datagrams) == cap(o.datagrams) {
		o.datagrams = slices.Grow(o.datagrams, max(8, len(o.datagrams)))
	}
	o.datagrams = append(o.datagrams, datagram{to, start, start + n})
}

// append moves what waits in another output behind what waits here.
func (o *output) append(from *output) {
	at := len(o.bytes)
	o.bytes = append(o.bytes, from.bytes...)
	for _, d := range from.datagrams {
		o.datagrams = append(o.datagrams, datagram{d.to, at + d.start, at + d.end})
	}
	from.bytes, from.datagrams = from.bytes[:0], from.datagrams[:0]
}

// drain hands out everything in the order it was committed, and forgets it.
func (o *output) drain(send func(to netip.AddrPort, packet []byte)) {
	for _, d := range o.datagrams {
		send(d.to, o.bytes[d.start:d.end:d.end])
	}
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}

// longestRun and mostInRun bound a run: what one datagram may have, and what the kernels that take runs take.
const (
	longestRun = 60000
	mostInRun  = 64
)

// drainRuns is drain for runs of datagrams to one address that lie one after the other, each as long as the first but for
// the last, which may be shorter.
func (o *output) drainRuns(send func(to netip.AddrPort, packets []byte, size int)) {
	for i := 0; i < len(o.datagrams); {
		next, d, end := o.run(i)
		send(d.to, o.bytes[d.start:end:end], d.end-d.start)
		i = next
	}
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}

// run is the run that begins with a datagram: that one, where the bytes of the last one end, and the datagram behind it.
func (o *output) run(first int) (next int, d *datagram, end int) {
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

// drainAll is drainRuns for all runs at once.
func (o *output) drainAll(send func(to []netip.AddrPort, runs [][]byte, sizes []int)) {
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
	clear(a.runs) // else they would keep the bytes when there are larger ones
	a.to, a.runs, a.sizes = a.to[:0], a.runs[:0], a.sizes[:0]
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}
