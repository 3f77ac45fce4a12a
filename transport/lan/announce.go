package lan

import (
	"crypto/rand"
	"net"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
)

// MaxAnswers is the most answers of a server to one address in a second. This machine has no limit.
const MaxAnswers = 10

// Ports is the number of ports, from the given one on, at which Find asks: so many servers of a game run on one machine.
const Ports = 4

// Announcer answers questions until it is closed.
type Announcer struct{ socket *net.UDPConn }

// Announce answers questions at the first free one of Ports ports; port 0 is any free one. game is called for each
// answer, in another goroutine. A game without Join is silent.
func Announce(port uint16, game func() Game) (*Announcer, error) {
	var socket *net.UDPConn
	var err error
	for i := range uint16(Ports) {
		if socket, err = net.ListenUDP("udp4", &net.UDPAddr{Port: int(port + i)}); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	a := &Announcer{socket}
	go a.answer(game)
	return a, nil
}

// Port returns the port at which questions are answered.
func (a *Announcer) Port() uint16 { return a.socket.LocalAddr().(*net.UDPAddr).AddrPort().Port() }

// Close ends the answers.
func (a *Announcer) Close() error { return a.socket.Close() }

func (a *Announcer) answer(game func() Game) {
	var buffer [questionSize + 1]byte
	limits, begin := newLimits(), time.Now()
	for {
		n, from, err := a.socket.ReadFromUDPAddrPort(buffer[:])
		if err != nil {
			if n, ok := err.(net.Error); ok && n.Timeout() {
				continue
			}
			return // It is closed.
		}
		if !limits.answers(buffer[:n], from.Addr(), time.Since(begin)) {
			continue
		}
		if g := game(); g.Join != "" {
			_, _ = a.socket.WriteToUDPAddrPort(g.Append(nil), from) // A client that does not get it asks again.
		}
	}
}

// limits counts answers by host.
type limits struct{ limiter *hosts.Limiter }

func newLimits() limits {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // It never fails.
	return limits{hosts.NewLimiter(secret)}
}

// answers reports whether a datagram of an address gets an answer now: a whole question does, of this machine or a local network.
func (l limits) answers(datagram []byte, from netip.Addr, now time.Duration) bool {
	_, asked := cut(datagram, question)
	return asked && len(datagram) == questionSize && isNear(from) && l.take(from, now)
}

// take reports whether an address may have an answer now. An address can be forged, so that it takes nothing from another one.
func (l limits) take(from netip.Addr, now time.Duration) bool {
	host, limited := hosts.Of(from)
	return !limited || l.limiter.Take(host.Prefix, hosts.Unproven, MaxAnswers, now)
}

// isNear reports whether an address is of this machine or of a local network.
func isNear(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
}
