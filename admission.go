package netcode

import (
	"fmt"
	"net/netip"

	"github.com/arche-netcode/netcode/peer"
)

// admission counts the clients of each address and network, so that none takes the places and the time of all others.
type admission struct {
	limiter *peer.Limiter
	places  map[netip.Prefix]int // Sessions with a place, by address and by network.
	past    peer.PastSessions
}

// anywhere tells if an address is exempt from all limits: it is this machine's own, or none, as in transports without IP.
func anywhere(addr netip.Addr) bool { return !addr.IsValid() || addr.Unmap().IsLoopback() }

// local tells if an address is exempt from the limits of networks: a LAN is one network.
func local(addr netip.Addr) bool {
	addr = addr.Unmap()
	return anywhere(addr) || addr.IsPrivate() || addr.IsLinkLocalUnicast()
}

// mayWork takes a piece of handshake work out of the budgets of an address and its network. Where there is none left it tells
// the client, which may try again: that costs no more than a look into a table.
func (s *Server) mayWork(from netip.AddrPort, nonce uint64, work peer.Work) bool {
	ip, now := from.Addr(), s.frame.now
	switch {
	case anywhere(ip):
		return true
	case s.config.HandshakesPerAddress > 0 && !s.limiter.Take(peer.AddressPrefix(ip), work, s.config.HandshakesPerAddress, now):
		s.stats.BusyAddress++
	case s.config.HandshakesPerNetwork > 0 && !local(ip) && !s.limiter.Take(peer.NetworkPrefix(ip), work, s.config.HandshakesPerNetwork, now):
		s.stats.BusyNetwork++
	default:
		return true
	}
	s.reply(from, challengeRoom, func(b []byte) []byte {
		return peer.AppendRefuse(b, peer.Refuse{Nonce: nonce, Reason: peer.ReasonBusy})
	})
	return false
}

// crowded returns why an address can have no further place, nil if it can.
func (s *Server) crowded(ip netip.Addr) *peer.Error {
	if anywhere(ip) {
		return nil
	}
	if most := s.config.ClientsPerAddress; most > 0 && s.places[peer.AddressPrefix(ip)] >= most {
		s.stats.RefusedAddress++
		return &peer.Error{Reason: peer.ReasonCrowded, Detail: fmt.Sprintf("%d clients from this address, which is the most (ClientsPerAddress)", most)}
	}
	network := peer.NetworkPrefix(ip)
	if most := s.config.ClientsPerNetwork; most > 0 && !local(ip) && s.places[network] >= most {
		s.stats.RefusedNetwork++
		return &peer.Error{Reason: peer.ReasonCrowded, Detail: fmt.Sprintf("%d clients from %v, which is the most (ClientsPerNetwork)", most, network)}
	}
	return nil
}

// take counts a session that takes a place, by = 1, or gives it back, by = -1.
func (a *admission) take(ip netip.Addr, by int) {
	if anywhere(ip) {
		return
	}
	for _, prefix := range [...]netip.Prefix{peer.AddressPrefix(ip), peer.NetworkPrefix(ip)} {
		if a.places[prefix] += by; a.places[prefix] == 0 {
			delete(a.places, prefix)
		}
	}
}
