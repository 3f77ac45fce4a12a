package nettest

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/transport"
)

// The parameters of the 64-bit FNV-1a hash (Fowler, Noll, Vo).
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// tap is an end's socket that adds all sent datagrams to the trace.
type tap struct {
	*transport.Conditioner
	net *Net
}

// Send implements systems.Socket.
func (s *tap) Send(to transport.Addr, datagram []byte) error {
	var head [12]byte
	binary.LittleEndian.PutUint64(head[:], uint64(s.net.now))
	binary.LittleEndian.PutUint16(head[8:], s.LocalAddr().IP.Port())
	binary.LittleEndian.PutUint16(head[10:], to.IP.Port())
	s.net.mix(head[:])
	s.net.mix(datagram)
	if s.net.onSend != nil {
		s.net.onSend(s.LocalAddr(), to, datagram)
	}
	return s.Conditioner.Send(to, datagram)
}

// mix adds bytes to the trace hash.
func (n *Net) mix(b []byte) {
	for _, c := range b {
		n.hash = (n.hash ^ uint64(c)) * fnvPrime
	}
}
