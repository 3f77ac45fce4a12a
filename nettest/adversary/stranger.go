package adversary

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Stranger sends datagrams from any address without a connection. It receives no answers, like a sender with forged addresses.
type Stranger struct {
	protocol *netcode.Protocol
	random   *rand.Rand
	deliver  func(from transport.Addr, datagram []byte)
	told     map[string]int
	bytes    int
	from     uint32
}

// NewStranger makes a Stranger that delivers its datagrams by a function, such as Server.Receive of a netcode.Server in a test
// without a network.
func NewStranger(protocol *netcode.Protocol, seed uint64, deliver func(from transport.Addr, datagram []byte)) *Stranger {
	return &Stranger{protocol: protocol, random: rand.New(rand.NewPCG(seed, 0x57A6)), deliver: deliver, told: map[string]int{}}
}

// Told returns how often a lie was told, by the name of its method, in datagrams.
func (s *Stranger) Told(lie string) int { return s.told[lie] }

// AllTold returns how often each lie was told.
func (s *Stranger) AllTold() map[string]int { return s.told }

// Bytes returns the number of bytes sent.
func (s *Stranger) Bytes() int { return s.bytes }

// address returns a different public address each time.
func (s *Stranger) address() transport.Addr {
	s.from++
	ip := binary.BigEndian.AppendUint32(nil, 0x0B000000+s.from*2654435761%0x70000000)
	return transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip)), uint16(1024+s.from%60000)))
}

// Send delivers one datagram as if it came from an address.
func (s *Stranger) Send(lie string, from transport.Addr, datagram []byte) {
	s.told[lie]++
	s.bytes += len(datagram)
	s.deliver(from, datagram)
}

// Hellos sends Hellos without a cookie, each from a different address. A server answers each with at most one shorter datagram
// and stores nothing.
func (s *Stranger) Hellos(count int) {
	for range count {
		s.Send("Hellos", s.address(), s.hello(peer.Cookie{}))
	}
}

// ForgedCookies sends Hellos with random cookies.
func (s *Stranger) ForgedCookies(count int) {
	for range count {
		s.Send("ForgedCookies", s.address(), s.hello(s.cookie()))
	}
}

func (s *Stranger) cookie() (c peer.Cookie) {
	binary.LittleEndian.PutUint64(c[:], s.random.Uint64()|1)
	binary.LittleEndian.PutUint64(c[8:], s.random.Uint64())
	return c
}

func (s *Stranger) hello(cookie peer.Cookie) []byte {
	return peer.AppendHello(nil, peer.Hello{Version: peer.Version, Nonce: s.random.Uint64(), Protocol: s.protocol.Hash(), Cookie: cookie})
}

// ForgedJoins sends Joins with random cookies, each from a different address.
func (s *Stranger) ForgedJoins(count int) {
	for range count {
		check := wire.NewChecksum(s.random.Uint32(), s.protocol.Hash())
		s.Send("ForgedJoins", s.address(), peer.AppendJoin(nil, peer.Join{Nonce: s.random.Uint64(), Cookie: s.cookie()}, check))
	}
}

// Noise sends datagrams of random bytes and lengths, 0 to 1200, each from a different address.
func (s *Stranger) Noise(count int) {
	for range count {
		b := make([]byte, s.random.IntN(packetSize+1))
		for i := range b {
			b[i] = byte(s.random.Uint32())
		}
		s.Send("Noise", s.address(), b)
	}
}

// Tiny sends datagrams of zero and one bytes alternately, from one address.
func (s *Stranger) Tiny(from transport.Addr, count int) {
	for i := range count {
		s.Send("Tiny", from, make([]byte, i%2))
	}
}

// ForgedCloses sends Close packets as if they came from an address. Without the epoch of the session their checksum is right by
// chance only, 1 in 2^32.
func (s *Stranger) ForgedCloses(from transport.Addr, count int) {
	for range count {
		conn := peer.NewConn(peer.ConnConfig{
			Check: wire.NewChecksum(s.random.Uint32(), s.protocol.Hash()), SentPackets: 64, FirstSequence: 1 + s.random.Uint64()>>32,
		})
		b := conn.Begin(make([]byte, packetSize))
		b.Add(wire.MessageClose, 0, copy(b.Payload(), peer.AppendClose(nil, errs.CloseError{Reason: errs.ReasonClosed})))
		s.Send("ForgedCloses", from, conn.Finish(&b, 1, 0))
	}
}

// Replay sends recorded datagrams in random order, as if they came from an address.
func (s *Stranger) Replay(from transport.Addr, datagrams [][]byte) {
	for _, i := range s.random.Perm(len(datagrams)) {
		s.Send("Replay", from, datagrams[i])
	}
}
