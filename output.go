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
		d := o.datagrams[i]
		size, end := d.end-d.start, d.end
		first := i
		for i++; i < len(o.datagrams) && i-first < mostInRun; i++ {
			next := o.datagrams[i]
			if next.to != d.to || next.start != end || next.end-next.start > size || next.end-d.start > longestRun {
				break
			}
			if end = next.end; end-next.start < size {
				i++
				break
			}
		}
		send(d.to, o.bytes[d.start:end:end], size)
	}
	o.bytes, o.datagrams = o.bytes[:0], o.datagrams[:0]
}
