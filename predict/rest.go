package predict

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/snapshot"
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
//	count  7 bits, 0 to 32; the eighth bit is restSettled
//	index  unsigned varint: the first network index, then the gap to the index before, less 1

const (
	restHead   = 3
	restAtMost = 32
	// restSettled means that the client has acknowledged all spawns of steps for it, up to the tick of the section. Only
	// with this bit may count be 0.
	restSettled = 1 << 7
	// restQuiet is the number of ticks after which a packet is sent for resting entities alone. Otherwise the section
	// waits for a packet with other content.
	restQuiet = 8
)

var (
	errRest         = errors.New("resting entities that are not legal")
	errNoSimulation = errors.New("clients give inputs, and this server has no simulation: call predict.Simulate with its systems too, or remove predict.Register")
)

// resting has the resting entities that a server reports to one client.
type resting struct {
	client netcode.ClientID
	listed netcode.Tick        // The tick of ids.
	ids    []netcode.NetworkID // The entities that the client predicts and that may rest, in ascending order of their indexes.
	tick   netcode.Tick        // The tick of the last section that named an entity.
	wrote  netcode.Tick        // The tick of the last section.
	due    netcode.Tick        // The tick for which a packet was last requested.
	also   []netcode.NetworkID // Entities that the client chose to predict, see Simulation.Predict.
	next   uint32              // The index at which the next section begins: the last section had no room from there on.
	spawns []ecs.Entity        // Entities that steps spawned for the client and that it has not acknowledged.
}

// alsoAtMost bounds the entities that a client chooses to predict, apart from those of Owner and Predicted. The server
// forgets the oldest choice.
const alsoAtMost = 32

// chosen is the message of a client that starts or stops predicting an entity by its own choice.
type chosen struct {
	Entity wire.NetworkID
	On     bool
}

// handleChosen registers the message.
func handleChosen(p *netcode.Protocol) {
	netcode.Handle(p, func(ctx *netcode.Context, m *chosen) {
		server := netcode.ServerOf(ctx.End)
		if server == nil {
			return
		}
		if r, ok := netcode.ExtensionOf[*resting](server.Session(ctx.Sender)); ok {
			r.choose(m.Entity, m.On)
		}
		if at, ok := netcode.ExtensionOf[*simulated](server); ok {
			at.chose = true
		}
	}, netcode.Named("netcode.predict.chosen"), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(wire.MaxChannels-1), netcode.FromClient(), netcode.AtStage(netcode.StageInitialization))
}

// choose adds a chosen entity, or removes it.
func (r *resting) choose(id netcode.NetworkID, on bool) {
	r.also = slices.DeleteFunc(r.also, func(other netcode.NetworkID) bool { return other == id })
	if on {
		if len(r.also) == alsoAtMost {
			r.also = slices.Delete(r.also, 0, 1)
		}
		r.also = append(r.also, id)
	}
}

// restEnds makes the hooks of both ends.
type restEnds struct{}

// Server implements netcode.ServerSide.
func (restEnds) Server(s *netcode.Server) netcode.ServerHooks {
	sim := &simulated{learn: (*server).learn, update: (*server).update}
	told := func(c *netcode.Session) *resting { // Nil: there are no entities to report.
		if sim.telling>>(c.ID()%64)&1 == 0 {
			return nil
		}
		if r, ok := netcode.ExtensionOf[*resting](c); ok && r.listed == s.Tick() {
			return r
		}
		return nil
	}
	return netcode.ServerHooks{
		State:  sim,
		Opened: func(*netcode.Session) any { return &resting{} },
		BeginFrame: func() {
			if sim.simulation != nil || input.StatsOf(s).Taken == 0 {
				return
			}
			if all, ok := netcode.ExtensionOf[*predictions](s.Protocol()); ok && len(all.registered) > 0 {
				netcode.Misused(s, "predict.Register", all.registered[0].of, errNoSimulation)
			}
		},
		Section: &netcode.ServerSection{
			Due: func(c *netcode.Session, busy bool) bool { return told(c).mustTell(s.Store().Tick(), busy) },
			Write: func(c *netcode.Session, room []byte, _ uint64) int {
				r := told(c)
				if r == nil {
					r = sim.quiet(c)
				}
				return r.write(c, sim, s.Store().Tick(), room)
			},
		},
	}
}

// mustTell reports whether a packet must be sent for the section alone, and notes the tick. busy means that a packet is
// sent anyway.
func (r *resting) mustTell(now netcode.Tick, busy bool) bool {
	if busy || r == nil || now < max(r.tick, r.due)+restQuiet {
		return false
	}
	r.due = now
	return true
}

// quiet returns the state of a predicting client that gets no state in this tick. A section then tells it the tick. quiet
// returns nil for other clients.
func (s *simulated) quiet(c *netcode.Session) *resting {
	if v := c.View(); s.simulation == nil || !s.simulation.all.spawns || v == nil || v.Pending() {
		return nil
	}
	r, ok := netcode.ExtensionOf[*resting](c)
	if !ok || r.listed == tick.None {
		return nil
	}
	r.ids = r.ids[:0] // The ids are of an earlier tick.
	return r
}

// settled reports whether the client has acknowledged all entities that steps have spawned for it.
func (r *resting) settled(c *netcode.Session, w *ecs.World, replicated ecs.ID) bool {
	r.spawns = slices.DeleteFunc(r.spawns, func(e ecs.Entity) bool {
		if !w.Alive(e) || !w.Has(e, replicated) {
			return true
		}
		id, v := replicatedAt(w, e, replicated).ID, c.View()
		return !id.IsZero() && (v == nil || !v.Visible(id) || v.Held(id))
	})
	return len(r.spawns) == 0
}

// write writes the section into the first packet of a tick. It returns its length in bytes. It writes a section if an
// entity rests, or if no state in this tick confirms the spawns.
func (r *resting) write(c *netcode.Session, at *simulated, now netcode.Tick, room []byte) int {
	if r == nil || r.wrote == now || len(room) < restHead || c.Local() {
		return 0
	}
	w := restWriter{room: room, size: restHead}
	from := r.next
	r.next = 0
	for _, id := range r.ids {
		if w.count == restAtMost || len(room) < w.size+binary.MaxVarintLen32 {
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
	settled := at.simulation.all.spawns && r.settled(c, at.simulation.step.World, at.simulation.replicated)
	if w.count == 0 && (!settled || c.View().Pending()) {
		return 0
	}
	if r.wrote = now; w.count > 0 {
		r.tick = now
	}
	return w.finish(now, settled)
}

// restWriter writes a section into a buffer with enough room.
type restWriter struct {
	room        []byte
	size, count int
	next        uint64
}

// add adds an entity. Calls are in ascending order of indexes.
func (w *restWriter) add(index uint32) {
	w.size += binary.PutUvarint(w.room[w.size:], uint64(index)-w.next)
	w.next, w.count = uint64(index)+1, w.count+1
}

// finish writes the head and returns the length of the section in bytes.
func (w *restWriter) finish(now netcode.Tick, settled bool) int {
	binary.LittleEndian.PutUint16(w.room, now.Low())
	if w.room[2] = byte(w.count); settled {
		w.room[2] |= restSettled
	}
	return w.size
}

// forget removes chosen entities that no longer exist.
func (r *resting) forget(store *snapshot.Store) {
	r.also = slices.DeleteFunc(r.also, func(id netcode.NetworkID) bool { return !store.Alive(id) })
}

// order sorts the entities and removes duplicates. All entities exist, so that no two have the same index.
func (r *resting) order() {
	slices.SortFunc(r.ids, func(a, b netcode.NetworkID) int { return int(int64(a.Index) - int64(b.Index)) })
	r.ids = slices.CompactFunc(r.ids, func(a, b netcode.NetworkID) bool { return a.Index == b.Index })
}

// simulated is the state of an end.
type simulated struct {
	simulation *Simulation // Nil without a simulation.
	chose      bool        // At a server: a client chose an entity.
	telling    uint64      // At a server: a bit for each client with a list, by its id modulo 64.

	learn  func(s *server, w *ecs.World) // At a server: server.learn and server.update. As fields, the linker omits them from clients,
	update func(s *server)               // whose programs never call restEnds.Server.
}

// rested is a client's state: the ticks in which entities rested, by network index.
type rested struct {
	simulated
	ticks   []netcode.Tick
	news    []uint32       // Indexes that the server reported since the last comparison.
	read    []netcode.Tick // Ticks whose records were read since the last comparison.
	settled netcode.Tick   // All own spawns up to this tick have arrived.
}

// newsAtMost bounds the resting entities of one comparison. The server reports the other entities again.
const newsAtMost = 1024

// Client implements netcode.ClientSide.
func (restEnds) Client(c *netcode.Client) netcode.ClientHooks {
	r := &rested{}
	return netcode.ClientHooks{
		State: r,
		Opened: func() {
			clear(r.ticks)
			r.settled = tick.None
			r.news, r.read = r.news[:0], r.read[:0]
		},
		Read: func() {
			t := c.Replica().LastRead()
			if r.simulation == nil || slices.Contains(r.read, t) {
				return
			}
			if len(r.read) == 2*Window { // No simulation compares them; the older ticks are outside of the history.
				r.read = slices.Delete(r.read, 0, Window)
			}
			r.read = append(r.read, t)
		},
		Section: &netcode.ClientSection{
			Check: func(payload []byte) error { return readRest(payload, func(uint32) {}) },
			Take: func(_ uint64, payload []byte) {
				at := tick.Near(binary.LittleEndian.Uint16(payload), c.Time().Tick)
				if payload[2]&restSettled != 0 {
					r.settled = max(r.settled, at)
				}
				_ = readRest(payload, func(index uint32) {
					if int(index) < len(r.ticks) {
						r.ticks[index] = max(r.ticks[index], at)
						if len(r.news) < newsAtMost {
							r.news = append(r.news, index)
						}
					}
				})
			},
		},
	}
}

// readRest decodes a section and calls a function for each index. It returns errRest for an illegal section.
func readRest(payload []byte, each func(index uint32)) error {
	if len(payload) < restHead || payload[2] == 0 || payload[2]&^restSettled > restAtMost {
		return errRest
	}
	rest, next := payload[restHead:], uint64(0)
	for range payload[2] &^ restSettled {
		gap, n := binary.Uvarint(rest)
		if n <= 0 || gap > 1<<32-1-next {
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

// of returns the newest tick in which an entity is known to rest.
func (r *rested) of(index uint32) netcode.Tick {
	for len(r.ticks) <= int(index) {
		r.ticks = append(r.ticks, tick.None)
	}
	return r.ticks[index]
}
