package predict

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A server sends no record of an entity that does not change. A client whose prediction differs must learn that the
// entity rests, and in which tick. For this, a section from the server to a client names resting entities. The client
// predicts them and has acknowledged their present state.
//
//	 0      1      2      3 …
//	+-------------+-------+------------------------------+
//	|    tick     | count | for each entity: its index   |
//	+-------------+-------+------------------------------+
//
//	tick   16 bits LE, the low bits of the tick in which they rest
//	count  7 bits, 0 to 32; the eighth bit is restSpawnsAcked
//	index  varint (package wire): the first network index, then the gap to the index before, less 1

const (
	restHead   = 3
	restAtMost = 32
	// restSpawnsAcked means that the client has acknowledged all spawns of steps for it, up to the tick of the section. Only
	// with this bit may count be 0.
	restSpawnsAcked = 1 << 7
	// restQuiet is the number of ticks after which a packet is sent for resting entities alone. Otherwise the section
	// waits for a packet with other content.
	restQuiet = 8
)

var errRest = errors.New("resting entities that are not legal")

// resting has the resting entities that a server reports to one client.
type resting struct {
	client      netcode.ClientID
	listed      netcode.Tick        // The tick of entities.
	entities    []netcode.NetworkID // The entities that the client predicts and that may rest, in ascending order of their indexes.
	namedAt     netcode.Tick        // The tick of the last section that named an entity.
	wroteAt     netcode.Tick        // The tick of the last section.
	requestedAt netcode.Tick        // The tick for which a packet was last requested.
	next        uint32              // The index at which the next section begins: the last section had no room from there on.
}

// requestPacket reports whether a packet must be sent for the section alone, and notes the tick. busy means that a packet
// is sent anyway.
func (r *resting) requestPacket(now netcode.Tick, busy bool) bool {
	if busy || now < max(r.namedAt, r.requestedAt)+restQuiet {
		return false
	}
	r.requestedAt = now
	return true
}

// withoutState returns the state of a predicting client that gets no entity state in this tick. A section then tells it
// the tick. withoutState returns nil for other clients.
func (s *endState) withoutState(c extend.Session) *sessionState {
	if v := c.View(); s.simulation == nil || !s.simulation.all.spawns || v == nil || v.Pending() {
		return nil
	}
	state, ok := extend.ExtensionOf[*sessionState](c)
	if !ok || state.resting.listed == tick.None {
		return nil
	}
	state.resting.entities = state.resting.entities[:0] // The ids are of an earlier tick.
	return state
}

// writeResting writes the section into the first packet of a tick. It returns its length in bytes. It writes a section if
// an entity rests, or if no state in this tick confirms the spawns.
func (s *sessionState) writeResting(c extend.Session, at *endState, now netcode.Tick, room []byte) int {
	r := &s.resting
	if r.wroteAt == now || len(room) < restHead || c.Local() {
		return 0
	}
	w := restWriter{room: room, size: restHead}
	from := r.next
	r.next = 0
	for _, id := range r.entities {
		if w.count == restAtMost || len(room) < w.size+wire.MaxVarint {
			r.next = id.Index
			break
		}
		if id.Index < from {
			continue
		}
		if v := c.View(); v.Visible(id) && v.Needs(id, now) == tick.None {
			w.add(id.Index)
		}
	}
	acked := at.simulation.all.spawns && s.spawns.acked(c, at.simulation.step.World, at.simulation.replicatedID)
	if w.count == 0 && (!acked || c.View().Pending()) {
		return 0
	}
	if r.wroteAt = now; w.count > 0 {
		r.namedAt = now
	}
	return w.finish(now, acked)
}

// restWriter writes a section into a buffer with enough room.
type restWriter struct {
	room        []byte
	size, count int
	next        uint64
}

// add adds an entity. Calls are in ascending order of indexes.
func (w *restWriter) add(index uint32) {
	w.size = len(wire.AppendVarint(w.room[:w.size], uint64(index)-w.next))
	w.next, w.count = uint64(index)+1, w.count+1
}

// finish writes the head and returns the length of the section in bytes.
func (w *restWriter) finish(now netcode.Tick, spawnsAcked bool) int {
	binary.LittleEndian.PutUint16(w.room, now.Low())
	if w.room[2] = byte(w.count); spawnsAcked {
		w.room[2] |= restSpawnsAcked
	}
	return w.size
}

// order sorts the entities and removes duplicates. All entities exist, so that no two have the same index.
func (r *resting) order() {
	slices.SortFunc(r.entities, func(a, b netcode.NetworkID) int { return int(int64(a.Index) - int64(b.Index)) })
	r.entities = slices.CompactFunc(r.entities, func(a, b netcode.NetworkID) bool { return a.Index == b.Index })
}

// readRest decodes a section and calls a function for each index. It returns errRest for an illegal section.
func readRest(payload []byte, each func(index uint32)) error {
	if len(payload) < restHead || payload[2] == 0 || payload[2]&^restSpawnsAcked > restAtMost {
		return errRest
	}
	rest, next := payload[restHead:], uint64(0)
	for range payload[2] &^ restSpawnsAcked {
		gap, n, err := wire.ReadVarint(rest)
		if err != nil || gap > 1<<32-1-next {
			return errRest
		}
		each(uint32(next + gap))
		rest, next = rest[n:], next+gap+1
		if next > 1<<32-1 {
			break
		}
	}
	if len(rest) > 0 {
		return errRest
	}
	return nil
}

// newlyRestingAtMost bounds the resting entities of one comparison. The server reports the other entities again.
const newlyRestingAtMost = 1024

// takeResting stores the resting entities of a section that readRest accepts. now is the client's tick.
func (r *clientState) takeResting(payload []byte, now netcode.Tick) {
	at := tick.Near(binary.LittleEndian.Uint16(payload), now)
	if payload[2]&restSpawnsAcked != 0 {
		r.spawnsArrived = max(r.spawnsArrived, at)
	}
	_ = readRest(payload, func(index uint32) {
		if int(index) < len(r.restTicks) {
			r.restTicks[index] = max(r.restTicks[index], at)
			if len(r.newlyResting) < newlyRestingAtMost {
				r.newlyResting = append(r.newlyResting, index)
			}
		}
	})
}

// restedAt returns the newest tick in which an entity is known to rest.
func (r *clientState) restedAt(index uint32) netcode.Tick {
	for len(r.restTicks) <= int(index) {
		r.restTicks = append(r.restTicks, tick.None)
	}
	return r.restTicks[index]
}
