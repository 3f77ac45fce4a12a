package input

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// relayServer is the state of a server that relays inputs.
type relayServer struct {
	in     *types
	server *netcode.Server
	owned  []ownedEntity // Entities of players with inputs, sorted by owner and index. Rebuilt once a network tick.
}

// ownedEntity is an entity with the relay state of its owner.
type ownedEntity struct {
	owner  netcode.ClientID
	entity netcode.NetworkID
	from   *clientRelay
}

// clientRelay is a session's state: its player's inputs, and the progress of sending other players' inputs to its client.
type clientRelay struct {
	in *types

	// The player's inputs by tick modulo relayRing. Ticks up to the server's tick are as used, later ticks are as
	// received.
	ticks  [relayRing]tick.Tick
	types  [relayRing]uint8
	rows   []uint32
	newest tick.Tick

	acked   tick.Tick        // The newest tick up to which the client has all players.
	told    bool             // A packet of this network tick has the section.
	next    netcode.ClientID // The first player of the next section: the last section had no room for it.
	sent    [relaySent]sentRelay
	relayed uint64 // Ticks of players sent since the last network tick.
	leftOut uint64 // Players without room since the last network tick.
}

// sentRelay is a sent packet with the inputs of all players.
type sentRelay struct {
	packet uint64
	upTo   tick.Tick
}

func newClientRelay(in *types) *clientRelay {
	return &clientRelay{in: in, rows: make([]uint32, in.lanes*relayRing)}
}

func relayOf(c extend.Session) *clientRelay {
	r, _ := extend.ExtensionOf[*clientRelay](c)
	return r
}

// Server implements extend.ServerSide.
func (e relayEnds) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	in := e.in
	a := &relayServer{in: in, server: s}
	return extend.ServerHooks{
		Opened:     func(extend.Session) any { return newClientRelay(in) },
		BeforeSend: a.beforeSend,
		Section: &extend.ServerSection{
			Due:   func(extend.Session, bool) bool { return false }, // An action changes the world, so that a packet is sent anyway.
			Write: a.write,
			Acked: func(c extend.Session, packet uint64) { relayOf(c).ackedPacket(packet) },
		},
	}
}

// beforeSend stores the inputs of a network tick.
func (a *relayServer) beforeSend() {
	if !a.server.TickDue() {
		return
	}
	stats := &queuesOf(a.server).stats
	for client := range a.server.Clients {
		c := extend.OfServer(a.server).Session(client)
		if r, q := relayOf(c), ofSession(c); r != nil && q != nil {
			r.note(q, a.server.Tick(), a.server.Steps())
			stats.Relayed += r.relayed
			stats.LeftOut += r.leftOut
			r.told, r.relayed, r.leftOut = false, 0, 0
		}
	}
	a.listOwned()
}

// listOwned lists the entities of players with inputs.
func (a *relayServer) listOwned() {
	a.owned = a.owned[:0]
	store := a.server.Store()
	for id := range store.All {
		owner := store.Owner(id)
		if owner == 0 {
			continue
		}
		if c := extend.OfServer(a.server).Session(owner); c != nil {
			if r := relayOf(c); r != nil && r.newest != tick.None {
				a.owned = append(a.owned, ownedEntity{owner, id, r})
			}
		}
	}
	slices.SortFunc(a.owned, func(a, b ownedEntity) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.entity.Index, b.entity.Index))
	})
}

// note stores the inputs of the ticks of this frame, and the received inputs of the next ticks.
func (r *clientRelay) note(q *queue, now tick.Tick, steps int) {
	for at := max(now-tick.Tick(min(steps, relayReach))+1, 1); at <= now; at++ {
		r.keep(at, func(n int) []uint32 { return q.input(n, at, at) })
	}
	if r.newest = tick.None; q.newest == tick.None {
		return // The player has sent no input yet.
	}
	r.newest = now
	for at := now + 1; at <= now+relayAhead && q.window.Holds(at); at++ {
		r.keep(at, func(n int) []uint32 {
			if q.types[at%slots]>>n&1 == 0 {
				return nil
			}
			return q.row(n, at)
		})
		r.newest = at
	}
}

// keep stores the inputs of a tick.
func (r *clientRelay) keep(at tick.Tick, input func(n int) []uint32) {
	r.ticks[at%relayRing], r.types[at%relayRing] = at, 0
	for n := range r.in.plans {
		if r.in.relays.types>>n&1 == 0 {
			continue
		}
		if lanes := input(n); lanes != nil {
			r.types[at%relayRing] |= 1 << n
			copy(r.in.of(r.rowOf(at), n), lanes)
		}
	}
}

// rowOf returns the lanes of all types of a tick.
func (r *clientRelay) rowOf(at tick.Tick) []uint32 {
	from := int(at%relayRing) * r.in.lanes
	return r.rows[from : from+r.in.lanes]
}

// write writes the section into the first packet of a network tick. It uses at most half of the room, so that state fits
// too. Players that do not fit are first in the next section.
func (a *relayServer) write(c extend.Session, room []byte, packet uint64) int {
	to := relayOf(c)
	if room = room[:len(room)/2]; to.told || c.Local() || len(room) < relayHead+1 {
		return 0
	}
	now, view := a.server.Tick(), c.View()
	w := wire.NewBitWriter(room[relayHead:])
	count, left, done := 0, netcode.ClientID(0), netcode.ClientID(0)
	for pass := range 2 { // First the players from next on, then the players before it.
		for i := range a.owned {
			o := &a.owned[i]
			if o.owner == done || o.owner == c.ID() || (o.owner >= to.next) != (pass == 0) || !view.Visible(o.entity) {
				continue
			}
			done = o.owner
			whole, fits := false, false
			if count < relayAtMost {
				if whole = to.writePlayer(&w, o, now, relayReach); !whole {
					fits = to.writePlayer(&w, o, now, 1)
				}
			}
			if whole || fits {
				count++
			}
			if !whole {
				to.leftOut++
				if left == 0 {
					left = o.owner
				}
			}
		}
	}
	if to.next = left; count == 0 {
		return 0
	}
	to.told = true
	if left == 0 {
		to.sent[packet%relaySent] = sentRelay{packet, now}
	}
	binary.LittleEndian.PutUint16(room, now.Low())
	room[2] = byte(count)
	return relayHead + w.Finish()
}

// writePlayer writes a player's part of a section. It writes the unacknowledged ticks of the last simulated ticks, as far
// back as they have the types of the newest. It returns false, and writes nothing, if they do not fit.
func (r *clientRelay) writePlayer(w *wire.BitWriter, o *ownedEntity, now, last tick.Tick) bool {
	from, mark := o.from, *w
	oldest := from.newest
	for t := oldest - 1; t > max(r.acked, now-last, tick.None); t-- {
		if from.ticks[t%relayRing] != t || from.types[t%relayRing] != from.types[from.newest%relayRing] {
			break
		}
		oldest = t
	}
	run := relayedRun{
		client: o.owner, newest: int(from.newest - now), ticks: int(from.newest-oldest) + 1, types: from.types[from.newest%relayRing],
	}
	writeRelayed(r.in, w, run, func(i int) []uint32 { return from.rowOf(oldest + tick.Tick(i)) })
	if w.Overflowed() {
		*w = mark
		return false
	}
	r.relayed += uint64(run.ticks)
	return true
}

// ackedPacket handles the ack of a packet.
func (r *clientRelay) ackedPacket(packet uint64) {
	if s := &r.sent[packet%relaySent]; s.packet == packet {
		r.acked = max(r.acked, s.upTo)
	}
}
