package consistent

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// maxKept is the maximum number of bytes of sent state that a server stores for one client, for repairs. The oldest is
	// dropped.
	maxKept = 256 << 10
	// sendersClaims is the number of claims that a server remembers.
	sendersClaims = 64
	// saveFor is the maximum time for which state is held back after a tick that did not fit the budget.
	saveFor = 250 * time.Millisecond
)

// sender is the feature's state of a session at a server.
type sender struct {
	claimed netcode.Tick // The newest claim; tick.None before the first one and if its packet was lost.
	last    netcode.Tick // The newest tick that was ever claimed.
	size    int          // Packet size for which the view was configured.

	packets []kept      // Sent state that is not acknowledged, sorted by packet.
	bytes   int         // Bytes of it.
	claims  []sentClaim // Sorted by tick.
	waiting int         // Number of packets to repair.
	free    [][]byte
	scratch section
	stats   ServerStats

	sendAt   netcode.Tick // State is held back until this tick; tick.None after a tick that fitted.
	holds    bool         // State of this tick is held back.
	reserved int          // Bytes of the budget that are reserved for it,
	leftover int          // and the budget left over in the last tick.
}

// ServerStats has the counters of a server for one client.
type ServerStats struct {
	// Claimed is the newest tick whose state was sent completely, so that the client can show it. tick.None: none. If it falls
	// behind the server's tick, the budget does not suffice for the changes.
	Claimed     netcode.Tick
	Repaired    uint64 // Lost packets whose state was sent again.
	RepairBytes uint64 // Bytes of them.
	NotRepaired uint64 // Lost packets that were not repaired: too old, over the memory limit, or with content that was hidden since.
	Unnecessary uint64 // Lost packets that were not repaired because the client had a later tick already.
}

// kept is the state of a sent packet, encoded as a section that repairs it.
type kept struct {
	packet  uint64
	tick    netcode.Tick // Tick of the state.
	until   netcode.Tick // Newest claim that needs it.
	section []byte
	lost    bool
	again   uint64 // Packet that repairs it; 0: none in flight.
}

// sentClaim is a claim that was sent.
type sentClaim struct {
	tick   netcode.Tick
	packet uint64
}

// Server implements extend.ServerSide.
func (*feature) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	of := func(c extend.Session) *sender {
		f, _ := extend.ExtensionOf[*sender](c)
		return f
	}
	return extend.ServerHooks{
		Opened:    func(c extend.Session) any { c.SaveBudget(saveFor); return &sender{} },
		HoldState: func(c extend.Session, left int) (bool, int) { return of(c).hold(c.View().Pending(), s.Tick(), left) },
		StateSent: func(c extend.Session, left int, waits bool) {
			of(c).stateSent(left, waits, s.Tick()+netcode.Tick((saveFor+s.Interval()-1)/s.Interval()))
		},
		Section: &extend.ServerSection{
			Due:   func(c extend.Session, _ bool) bool { f := of(c); return f.mayClaim(c) || f.mayRepair(c) },
			Write: func(c extend.Session, _ []byte, _ uint64) int { of(c).fit(c); return 0 },
			Behind: func(c extend.Session, room []byte, packet uint64, state []byte) int {
				return of(c).write(c, s.Store().Tick(), room, packet, state)
			},
			Acked: func(c extend.Session, packet uint64) { of(c).acked(packet) },
			Lost: func(c extend.Session, packet uint64) {
				of(c).lost(packet, s.Store().Tick()-netcode.Tick(s.Config().Window/2))
			},
		},
	}
}

// hold decides whether the state of a tick is held back, so that the budget accumulates for all of it. It reserves half of the
// new budget meanwhile. When the state is due it is sent before any message.
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

// stateSent ends a tick. If the budget did not suffice for all state, the next state is held back until sendAt.
func (f *sender) stateSent(left int, waits bool, sendAt netcode.Tick) {
	f.leftover = left
	switch {
	case waits:
		f.sendAt = sendAt
	case !f.holds:
		f.sendAt = tick.None
	}
}

// fit limits the payload of the view, so that a packet's state fits into a section of another packet.
func (f *sender) fit(c extend.Session) {
	if n := c.PacketSize(); n != f.size {
		f.size = n
		c.View().SetPayload(peer.MaxPayload(n) - sectionHead)
	}
}

// mayClaim reports whether all state of the tick was sent and the client does not know so yet.
func (f *sender) mayClaim(c extend.Session) bool {
	v := c.View()
	return v != nil && !c.Local() && v.Wrote() > f.claimed && !v.Pending()
}

// mayRepair reports whether the state of a lost packet waits to be sent.
func (f *sender) mayRepair(c extend.Session) bool { return f.waiting > 0 && !c.Local() }

// write writes the section of a packet: a claim if the tick is complete with this packet, and otherwise a repair if one is due.
func (f *sender) write(c extend.Session, now netcode.Tick, room []byte, packet uint64, state []byte) int {
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

// claim fills in the needed packets. It returns false if one is too far back: it will be acknowledged or lost soon.
func (f *sender) claim(c extend.Session, own *section, now netcode.Tick, packet uint64) bool {
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

// find returns the index of a packet in packets, or the index at which it would be inserted.
func (f *sender) find(packet uint64) int {
	at, _ := slices.BinarySearchFunc(f.packets, packet, func(k kept, packet uint64) int { return cmp.Compare(k.packet, packet) })
	return at
}

// sizeStep is the step of the sizes of kept sections: packets of slightly other sizes use the memory of one another.
const sizeStep = 512

// keep stores the state of a packet until it is acknowledged.
func (f *sender) keep(own *section, packet uint64, now netcode.Tick) {
	for f.bytes+own.size() > maxKept && len(f.packets) > 0 {
		f.drop(0, &f.stats.NotRepaired)
	}
	k := kept{packet: packet, tick: now, until: now}
	if last := len(f.free) - 1; last >= 0 {
		k.section, f.free = f.free[last][:0], f.free[:last]
	}
	k.section = own.put(slices.Grow(k.section, (own.size()+sizeStep-1)&^(sizeStep-1)))
	f.bytes += len(k.section)
	f.packets = append(f.packets, k)
}

// drop removes the state of a packet. If it was lost, it increments the counter why.
func (f *sender) drop(at int, why *uint64) {
	k := &f.packets[at]
	if k.lost && why != nil {
		if *why++; k.until >= f.claimed { // The newest claim needs it: a later claim must replace it.
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

// repair writes the state of the oldest lost packet that fits. It drops a packet with content that was hidden since.
func (f *sender) repair(c extend.Session, room []byte, packet uint64) int {
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

// acked handles the acknowledgement of a packet, or of one that repairs it.
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

// dropSuperseded drops lost packets that no claim needs after the newest tick that the client is known to have.
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

// lost handles a packet that is presumed lost: its state is to be sent again. Packets from before the oldest tick are dropped.
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
