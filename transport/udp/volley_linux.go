//go:build amd64 || arm64

package udp

import (
	"encoding/binary"
	"syscall"

	"github.com/arche-netcode/netcode/transport"
)

// mostInVolley is the number of runs in one call of the kernel.
const mostInVolley = 64

// nameSize is that of struct sockaddr_in6, the longer one.
const (
	nameSize  = syscall.SizeofSockaddrInet6
	nameSize4 = syscall.SizeofSockaddrInet4
)

// message is struct mmsghdr.
type message struct {
	header syscall.Msghdr
	sent   uint32
	_      [4]byte
}

// mmsgBatch is runs to any addresses that go to the kernel in one call: what a call costs beside its datagrams is a tenth to a
// fifth of what it costs with one short one. Its memory stays, so that nothing is allocated.
type mmsgBatch struct {
	n        int
	messages [mostInVolley]message
	pieces   [mostInVolley]syscall.Iovec
	names    [mostInVolley][nameSize]byte
	controls [mostInVolley][controlSize]byte
	errs     [mostInVolley]syscall.Errno // what became of each
	write    func(descriptor uintptr)    // writeOnce
	off      bool                        // the kernel does not know the call
}

// add puts a run behind the others. size is 0 where it is one datagram.
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

// putName writes the address that the sender has filled in as the kernel has it, and returns how long that is.
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

// writeOne hands the datagram to the kernel. The scheduler is not told of the call, which does not wait: that alone is more code
// than all else around it.
func (s *sender) writeOne(descriptor uintptr) error {
	name := &s.volley.names[0]
	if errno := sendto(descriptor, s.datagram, name[:s.putName(name)]); errno != 0 {
		return errno
	}
	return nil
}

// writeOnce hands all to the kernel, and does not wait for room.
func (w *mmsgBatch) writeOnce(descriptor uintptr) {
	for at := 0; at < w.n; {
		n, errno := sendmmsg(descriptor, w.messages[at:w.n])
		switch {
		case errno == syscall.EINTR:
		case n > 0:
			at += n
		default: // the first did not go; those behind it are tried all the same
			w.errs[at] = max(errno, 1)
			at++
		}
	}
}

// load puts as many of the first runs into the volley as go in one call and have nothing wrong with them.
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

// sendVolley sends as many of the first runs as go in one call, and returns how many these are; 0 where that is not
// to be done. Of some of them each datagram has to be sent by itself, to learn what is wrong with it.
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
		w.write = w.writeOnce // kept: a fresh one each time would be an allocation
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

// count counts what became of the runs, and returns those of which each datagram has to be sent by itself.
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
