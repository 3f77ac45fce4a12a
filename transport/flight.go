package transport

import (
	"net/netip"
	"slices"
	"time"
)

// bufferSize is the least size of a buffer: any datagram that crosses an Ethernet unfragmented.
const bufferSize = 1536

// flying is one datagram on its way.
type flying struct {
	due    time.Duration
	serial uint64 // order of entry: datagrams due at the same time keep it
	from   netip.AddrPort
	data   []byte
}

func (a *flying) before(b *flying) bool {
	return a.due < b.due || a.due == b.due && a.serial < b.serial
}

// flight holds the datagrams on their way as a binary heap, the next one first. The buffer of one that has landed serves
// a later one, the last first, so that as many exist as were ever on their way at once.
type flight struct {
	heap   []flying
	free   [][]byte
	serial uint64
}

// push copies the datagram in.
func (f *flight) push(due time.Duration, from netip.AddrPort, datagram []byte) {
	var buffer []byte
	if last := len(f.free) - 1; last >= 0 {
		buffer, f.free = f.free[last], f.free[:last]
	} else {
		buffer = make([]byte, 0, max(bufferSize, len(datagram)))
	}
	f.serial++
	f.heap = append(f.heap, flying{due: due, serial: f.serial, from: from, data: append(buffer[:0], datagram...)})
	for i := len(f.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !f.heap[i].before(&f.heap[parent]) {
			break
		}
		f.heap[i], f.heap[parent] = f.heap[parent], f.heap[i]
		i = parent
	}
}

// reserve makes buffers for so many datagrams on their way at once.
func (f *flight) reserve(n int) {
	for len(f.heap)+len(f.free) < n {
		f.free = append(f.free, make([]byte, 0, bufferSize))
	}
	f.heap = slices.Grow(f.heap, max(n-len(f.heap), 0))
}

// ready reports whether a datagram is due.
func (f *flight) ready(now time.Duration) bool {
	return len(f.heap) > 0 && f.heap[0].due <= now
}

// pop takes the next datagram out, copies it into buf and returns its whole length: more than len(buf) if it did not fit.
func (f *flight) pop(buf []byte) (int, netip.AddrPort) {
	next := f.heap[0]
	last := len(f.heap) - 1
	f.heap[0] = f.heap[last]
	f.heap[last] = flying{}
	f.heap = f.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && f.heap[child+1].before(&f.heap[child]) {
			child++
		}
		if !f.heap[child].before(&f.heap[i]) {
			break
		}
		f.heap[i], f.heap[child] = f.heap[child], f.heap[i]
		i = child
	}
	copy(buf, next.data)
	f.free = append(f.free, next.data)
	return len(next.data), next.from
}
