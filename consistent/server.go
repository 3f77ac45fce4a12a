package consistent

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// told is the state of a session at a server: the newest claim.
type told struct {
	tick   netcode.Tick // Of the claim, tick.None before the first and after a loss.
	packet uint64       // The packet that it is in.
	last   netcode.Tick // The newest tick that was ever claimed.
	claim  claim        // Scratch.
}

// onServer returns the hooks of a server.
func onServer(s *netcode.Server) netcode.ServerHooks {
	of := func(c *netcode.Session) *told {
		t, _ := netcode.ExtensionOf[*told](c)
		return t
	}
	return netcode.ServerHooks{
		Opened: func(*netcode.Session) any { return &told{} },
		Section: &netcode.ServerSection{
			Check:  func(*netcode.Session, []byte) error { return errClaim },
			Take:   func(*netcode.Session, []byte) {},
			Due:    func(c *netcode.Session, _ bool) bool { return of(c).due(c) },
			Write:  func(*netcode.Session, []byte, uint64) int { return 0 },
			Behind: func(c *netcode.Session, room []byte, packet uint64) int { return of(c).write(c, s.Store().Tick(), room, packet) },
			Lost:   func(c *netcode.Session, packet uint64) { of(c).lost(packet) },
		},
	}
}

// due reports whether all state of the tick is sent, and the client was not told so.
func (t *told) due(c *netcode.Session) bool {
	v := c.View()
	return v != nil && !c.Local() && v.Wrote() > t.tick && !v.Pending()
}

// write writes the claim into the packet with the last state of a tick.
func (t *told) write(c *netcode.Session, now netcode.Tick, room []byte, packet uint64) int {
	if !t.due(c) {
		return 0
	}
	t.claim = claim{tick: now.Low(), packet: uint16(packet)}
	for seq := range c.View().InFlight {
		back := packet - seq
		switch {
		case back == 0:
			continue
		case back > maxBack:
			return 0 // It is acknowledged or lost soon.
		}
		t.claim.needed[(back-1)/64] |= 1 << ((back - 1) % 64)
	}
	if t.claim.size() > len(room) {
		return 0
	}
	t.tick, t.last, t.packet = now, now, packet
	return t.claim.put(room)
}

// lost makes a claim that did not arrive be told again, if there is no newer one.
func (t *told) lost(packet uint64) {
	if packet == t.packet {
		t.tick = tick.None
	}
}
