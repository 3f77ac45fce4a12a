package consistent

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// maxKept bounds the bytes of state that a server keeps for one client, for packets that may be lost. The oldest is dropped.
	maxKept = 256 << 10
	// sendersClaims is the number of claims that a server remembers.
	sendersClaims = 64
	// saveFor is the time for which state waits after a tick that did not fit the budget.
	saveFor = 250 * time.Millisecond
)

// sender is the state of a session at a server.
type sender struct {
	claimed netcode.Tick // The newest claim; tick.None before the first and where its packet was lost.
	last    netcode.Tick // The newest tick that was ever claimed.
	size    int          // The size of packets for which the view was set.

	packets []kept      // State that is on its way, by number of its packet.
	bytes   int         // Of it.
	claims  []sentClaim // By tick.
	waiting int         // Packets that are to be repaired.
	free    [][]byte
	scratch section
	stats   ServerStats

	sendAt   netcode.Tick // State waits until then; tick.None after a tick that was sent.
	holds    bool         // That of this tick waits.
	reserved int          // Bytes of the budget that are kept for it,
	leftover int          // and those that were left in the last tick.
}

// ServerStats counts what a server did for one client.
type ServerStats struct {
	// Claimed is the newest tick whose state was sent completely, so that the client can show it. tick.None: none was. Where it stays
	// behind the server's tick, the budget is too short for what changes.
	Claimed     netcode.Tick
	Repaired    uint64 // Lost packets whose state was sent again as it was.
	RepairBytes uint64 // Bytes of them.
	NotRepaired uint64 // Lost packets that were not, since they were too old, too much was kept, or something of them was hidden since.
	Unnecessary uint64 // Lost packets that were not, since the client had a later tick by then.
}

// kept is the state of a packet that was sent, as a section that repairs it.
type kept struct {
	packet  uint64
	tick    netcode.Tick // The tick of the state.
	until   netcode.Tick // The newest claim that needs it.
	section []byte
	lost    bool
	again   uint64 // The packet that repairs it, 0: none is on its way.
}

// sentClaim is a claim that was sent.
type sentClaim struct {
	tick   netcode.Tick
	packet uint64
}

// Server implements netcode.ServerSide.
func (*feature) Server(s *netcode.Server) netcode.ServerHooks {
	of := func(c *netcode.Session) *sender {
		f, _ := netcode.ExtensionOf[*sender](c)
		return f
	}
	return netcode.ServerHooks{
		Opened:    func(c *netcode.Session) any { c.SaveBudget(saveFor); return &sender{} },
		HoldState: func(c *netcode.Session, left int) (bool, int) { return of(c).hold(c.View().Pending(), s.Tick(), left) },
		StateSent: func(c *netcode.Session, left int, waits bool) {
			of(c).stateSent(left, waits, s.Tick()+netcode.Tick((saveFor+s.Interval()-1)/s.Interval()))
		},
		Section: &netcode.ServerSection{
			Due:   func(c *netcode.Session, _ bool) bool { f := of(c); return f.mayClaim(c) || f.mayRepair(c) },
			Write: func(c *netcode.Session, _ []byte, _ uint64) int { of(c).fit(c); return 0 },
			Behind: func(c *netcode.Session, room []byte, packet uint64, state []byte) int {
				return of(c).write(c, s.Store().Tick(), room, packet, state)
			},
			Acked: func(c *netcode.Session, packet uint64) { of(c).acked(packet) },
			Lost: func(c *netcode.Session, packet uint64) {
				of(c).lost(packet, s.Store().Tick()-netcode.Tick(s.Config().Window/2))
			},
		},
	}
}

// hold decides whether the state of a tick, if any waits, is held back until the budget for all of it is saved up. Half of what comes into the budget
// meanwhile is reserved for it; the state is then sent before any message.
func (f *sender) hold(waits bool, now netcode.Tick, left int) (hold bool, reserve int) {
	f.holds = now < f.sendAt && waits
	switch {
	case f.holds:
		f.reserved += max(left-f.leftover, 0) / 2
		return true, max(f.reserved, 1)
	case f.sendAt != tick.None:
		reserve = math.MaxInt
	}
	f.reserved = 0
	return false, reserve
}

// stateSent ends a tick. Where the budget left state over, the next state is held back until sendAt.
func (f *sender) stateSent(left int, waits bool, sendAt netcode.Tick) {
	f.leftover = left
	switch {
	case waits:
		f.sendAt = sendAt
	case !f.holds:
		f.sendAt = tick.None
	}
}

// fit leaves room in packets, so that the state of one fits another behind the head of a section.
func (f *sender) fit(c *netcode.Session) {
	if n := c.PacketSize(); n != f.size {
		f.size = n
		c.View().SetPayload(peer.MaxPayload(n) - sectionHead)
	}
}

// mayClaim reports whether all state of the tick is sent, and the client was not told so.
func (f *sender) mayClaim(c *netcode.Session) bool {
	v := c.View()
	return v != nil && !c.Local() && v.Wrote() > f.claimed && !v.Pending()
}

// mayRepair reports whether the state of a lost packet waits to be sent.
func (f *sender) mayRepair(c *netcode.Session) bool { return f.waiting > 0 && !c.Local() }

// write writes the section of a packet: a claim if the tick is complete with it, or else the state of a lost one.
func (f *sender) write(c *netcode.Session, now netcode.Tick, room []byte, packet uint64, state []byte) int {
	n := 0
	own := section{packet: uint16(packet), state: state}
	if f.mayClaim(c) && f.claim(c, &own, now, packet) {
		own.state = nil
		if own.size() <= len(room) {
			n = len(own.put(room[:0]))
			f.claimed, f.last = now, now
			f.claims = append(f.claims, sentClaim{now, packet})
		} else {
			own.claimed = false
		}
		own.state = state
	}
	if len(f.claims) > sendersClaims {
		f.claims = slices.Delete(f.claims, 0, 1)
	}
	if state != nil || own.claimed {
		f.keep(&own, packet, now)
	}
	if n == 0 && f.waiting > 0 {
		n = f.repair(c, room, packet)
	}
	return n
}

// claim lists the packets that the client needs. It returns false where one is too far back: it is acknowledged or lost soon.
func (f *sender) claim(c *netcode.Session, own *section, now netcode.Tick, packet uint64) bool {
	own.tick, own.claimed = now.Low(), true
	at := len(f.packets) - 1
	for seq := range c.View().InFlight {
		back := packet - seq
		if back == 0 {
			continue
		}
		if back > maxBack {
			own.claimed = false
			return false
		}
		own.need(back)
		if at = f.find(seq); at < len(f.packets) && f.packets[at].packet == seq {
			f.packets[at].until = now
		}
	}
	return true
}

// find is the place of a packet, or where it would be.
func (f *sender) find(packet uint64) int {
	at, _ := slices.BinarySearchFunc(f.packets, packet, func(k kept, packet uint64) int { return cmp.Compare(k.packet, packet) })
	return at
}

// keep keeps the state of a packet until it is acknowledged.
func (f *sender) keep(own *section, packet uint64, now netcode.Tick) {
	for f.bytes+own.size() > maxKept && len(f.packets) > 0 {
		f.drop(0, &f.stats.NotRepaired)
	}
	k := kept{packet: packet, tick: now, until: now}
	if last := len(f.free) - 1; last >= 0 {
		k.section, f.free = f.free[last][:0], f.free[:last]
	}
	k.section = own.put(k.section)
	f.bytes += len(k.section)
	f.packets = append(f.packets, k)
}

// drop forgets the state of a packet, and counts it if it was lost.
func (f *sender) drop(at int, why *uint64) {
	k := &f.packets[at]
	if k.lost && why != nil {
		if *why++; k.until >= f.claimed { // The newest claim needs it: it is told anew.
			f.claimed = tick.None
		}
	}
	if k.lost && k.again == 0 {
		f.waiting--
	}
	f.bytes -= len(k.section)
	f.free = append(f.free, k.section)
	f.packets = slices.Delete(f.packets, at, at+1)
}

// repair writes the state of the oldest lost packet that fits. One with something that was hidden since is dropped.
func (f *sender) repair(c *netcode.Session, room []byte, packet uint64) int {
	for i := 0; i < len(f.packets); i++ {
		k := &f.packets[i]
		switch {
		case !k.lost || k.again != 0:
		case !c.View().MayRepeat(k.packet):
			f.drop(i, &f.stats.NotRepaired)
			i--
		case len(k.section) <= len(room):
			k.again = packet
			f.waiting--
			f.stats.Repaired, f.stats.RepairBytes = f.stats.Repaired+1, f.stats.RepairBytes+uint64(len(k.section))
			return copy(room, k.section)
		}
	}
	return 0
}

// acked takes an acknowledgement: of a packet itself, or of one that repairs it.
func (f *sender) acked(packet uint64) {
	at := f.find(packet)
	if at == len(f.packets) || f.packets[at].packet != packet {
		at = slices.IndexFunc(f.packets, func(k kept) bool { return k.again == packet })
	}
	if at < 0 {
		return
	}
	f.drop(at, nil)
	if f.waiting > 0 {
		f.dropSuperseded()
	}
}

// dropSuperseded forgets the lost packets that only ticks need before one that the client is proved to have.
func (f *sender) dropSuperseded() {
	proved, until, at := tick.None, tick.None, 0
	for _, c := range f.claims {
		for ; at < len(f.packets) && f.packets[at].packet <= c.packet; at++ {
			until = max(until, f.packets[at].until)
		}
		if until < c.tick {
			proved = c.tick
		}
	}
	for i := len(f.packets) - 1; i >= 0; i-- {
		if k := &f.packets[i]; k.lost && k.until <= proved {
			f.drop(i, &f.stats.Unnecessary)
		}
	}
}

// lost takes a packet that is presumed lost. Its state is sent again, as it was, unless it is of before the oldest tick.
func (f *sender) lost(packet uint64, oldest netcode.Tick) {
	at := f.find(packet)
	if at == len(f.packets) || f.packets[at].packet != packet {
		at = slices.IndexFunc(f.packets, func(k kept) bool { return k.again == packet })
	}
	if at < 0 {
		return
	}
	if k := &f.packets[at]; !k.lost || k.again == packet {
		k.lost, k.again = true, 0
		f.waiting++
	}
	for len(f.packets) > 0 && f.packets[0].tick < oldest {
		f.drop(0, &f.stats.NotRepaired)
	}
	f.dropSuperseded()
}
