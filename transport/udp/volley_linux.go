//go:build amd64 || arm64

package udp

import (
	"encoding/binary"
	"syscall"

	"github.com/arche-netcode/netcode/transport"
)

// mostInVolley is the maximum number of runs in one system call.
const mostInVolley = 64

// nameSize is the size of struct sockaddr_in6, nameSize4 that of struct sockaddr_in.
const (
	nameSize  = syscall.SizeofSockaddrInet6
	nameSize4 = syscall.SizeofSockaddrInet4
)

// message is the kernel's struct mmsghdr.
type message struct {
	header syscall.Msghdr
	sent   uint32
	_      [4]byte
}

// mmsgBatch is a batch of runs, to any addresses, that one sendmmsg sends. The overhead per datagram is a tenth to a fifth of
// that of a call for one short datagram. Its memory is reused, so that sending does not allocate.
type mmsgBatch struct {
	n        int
	messages [mostInVolley]message
	pieces   [mostInVolley]syscall.Iovec
	names    [mostInVolley][nameSize]byte
	controls [mostInVolley][controlSize]byte
	errs     [mostInVolley]syscall.Errno // result of each run
	write    func(descriptor uintptr)    // writeOnce
	off      bool                        // the kernel does not support sendmmsg
}

// add appends a run. size is 0 for a single datagram.
func (w *mmsgBatch) add(s *sender, data []byte, size int) {
	i := w.n
	w.n++
	m, name := &w.messages[i].header, &w.names[i]
	w.pieces[i].Base = &data[0]
	w.pieces[i].SetLen(len(data))
	m.Iov, m.Iovlen = &w.pieces[i], 1
	m.Name, m.Namelen = &name[0], uint32(s.putName(name))
	m.Control, m.Controllen = nil, 0
	if size > 0 {
		control := segmentControl(&w.controls[i], size)
		m.Control = &control[0]
		m.SetControllen(len(control))
	}
	w.errs[i] = 0
}

// putName writes the address of the sender in the kernel's form and returns its size.
func (s *sender) putName(name *[nameSize]byte) int {
	if s.ipv6 {
		binary.NativeEndian.PutUint16(name[:], syscall.AF_INET6)
		binary.BigEndian.PutUint16(name[2:], uint16(s.inet6.Port))
		binary.NativeEndian.PutUint32(name[4:], 0) // the flow
		*(*[16]byte)(name[8:]) = s.inet6.Addr
		binary.NativeEndian.PutUint32(name[24:], s.inet6.ZoneId)
		return nameSize
	}
	binary.NativeEndian.PutUint16(name[:], syscall.AF_INET)
	binary.BigEndian.PutUint16(name[2:], uint16(s.inet4.Port))
	*(*[4]byte)(name[4:]) = s.inet4.Addr
	binary.NativeEndian.PutUint64(name[8:], 0)
	return nameSize4
}

// writeOne sends one datagram by a raw system call, which does not notify the scheduler: the call never blocks, and the
// notification would cost more than the rest.
func (s *sender) writeOne(descriptor uintptr) error {
	name := &s.volley.names[0]
	if errno := sendto(descriptor, s.datagram, name[:s.putName(name)]); errno != 0 {
		return errno
	}
	return nil
}

// writeOnce sends all messages, without waiting for room.
func (w *mmsgBatch) writeOnce(descriptor uintptr) {
	for at := 0; at < w.n; {
		n, errno := sendmmsg(descriptor, w.messages[at:w.n])
		switch {
		case errno == syscall.EINTR:
		case n > 0:
			at += n
		default: // the first message failed; try the ones behind it
			w.errs[at] = max(errno, 1)
			at++
		}
	}
}

// load fills the batch with the first runs that one call can send. It stops at a run that is invalid.
func (w *mmsgBatch) load(c *Conn, to []transport.Addr, runs [][]byte, sizes []int) {
	s := &c.sender
	for w.n = 0; w.n < min(len(runs), mostInVolley); {
		i := w.n
		to, length, size := to[i], len(runs[i]), sizes[i]
		if size <= 0 || length == 0 || min(length, size) > c.largest || size < length && !s.segments || !reachable(to) ||
			s.address(transport.AddrOf(to.IP).IP) != nil {
			return
		}
		if size >= length {
			size = 0
		}
		w.add(s, runs[i], size)
	}
}

// sendVolley sends the first runs in one call and returns their number, 0 if the call is not possible. alone has a bit for each
// run whose datagrams must be sent singly, to learn which one fails.
func (c *Conn) sendVolley(to []transport.Addr, runs [][]byte, sizes []int) (n int, alone uint64) {
	s := &c.sender
	w := &s.volley
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.off || c.closed.Load() {
		return 0, 0
	}
	if w.load(c, to, runs, sizes); w.n < 2 {
		return 0, 0
	}
	if w.write == nil {
		w.write = w.writeOnce // stored: a new method value would allocate each time
	}
	err := s.raw.Control(w.write)
	for i := range w.pieces[:w.n] {
		w.pieces[i].Base = nil
	}
	if err != nil {
		return 0, 0
	}
	return w.n, w.count(c, runs, sizes)
}

// count updates the counters and returns the runs whose datagrams must be sent singly, as bits.
func (w *mmsgBatch) count(c *Conn, runs [][]byte, sizes []int) (alone uint64) {
	var sent, bytes, together, dropped int
	for i, errno := range w.errs[:w.n] {
		n := (len(runs[i]) + sizes[i] - 1) / sizes[i]
		switch errno {
		case 0:
			sent, bytes = sent+n, bytes+len(runs[i])
			if n > 1 {
				together++
			}
		case syscall.EAGAIN, syscall.ENOBUFS:
			dropped += n
		default:
			alone |= 1 << i
			w.off = w.off || errno == syscall.ENOSYS
		}
	}
	c.stats.sent.Add(uint64(sent))
	c.stats.bytesSent.Add(uint64(bytes))
	c.stats.runs.Add(uint64(together))
	c.stats.sendDropped.Add(uint64(dropped))
	c.stats.volleys.Add(1)
	return alone
}
