package snapshot

import (
	"fmt"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	leakPlaces = 10 // network indexes that entities are at
	leakTicks  = 40 // at most
)

// leakWorld is one of two worlds that are the same to the client under test.
type leakWorld struct {
	store  *Store
	view   *View // of that client
	twin   *View // of one who sees and acknowledges the same, nil where there is none
	others []*leakOther
	unborn []wire.NetworkID // born in this tick, of which the client is to learn nothing though it sees what is new
}

// leakOther is another client of one of the worlds, which acknowledges what it likes.
type leakOther struct {
	view *View
	seq  uint64
	open []uint64 // sent, and neither acknowledged nor lost
}

// leakGame is one game in both worlds, and the client under test.
type leakGame struct {
	*leakTape
	met    *leakLimits
	worlds [2]*leakWorld
	client leakClient

	start, now, ticks tick.Tick
	mirrors           bool // the stores have their ids from elsewhere
	busy, stride      int
	mortal            int                // chance that what is to die does, in percent
	born              [leakPlaces]uint32 // by place: the generation that was born in this tick in both worlds and for all, else 0
	authors           [leakPlaces]Mask   // by place: rows that the client under test writes itself
	wrote             []wire.NetworkID   // by it, in this tick
	joins             [leakPlaces]leakJoin
	rested            [leakPlaces]tick.Tick
	traced            bool
	trace             []string
}

func newLeakGame(schema *Schema, seed uint64, tape *leakTape, met *leakLimits) *leakGame {
	g := &leakGame{leakTape: tape, met: met, mirrors: seed%8 > 5}
	g.start = []tick.Tick{0, 65500}[g.below(2)]
	g.now, g.ticks = g.start, 8+tick.Tick(g.below(leakTicks-8))
	g.busy, g.stride, g.mortal = g.pick(60, 85, 93), g.pick(1, 1, 7, 70), g.pick(100, 30, 10)
	g.client.net = g.network()
	cfg := Config{Window: sequenceWindow, SentPackets: sequenceRing, Payload: g.client.net.payload}
	for i := range g.worlds {
		w := &leakWorld{store: NewStore(schema, cfg)}
		w.view = NewView(w.store, cfg)
		if g.chance(40) {
			w.twin = NewView(w.store, cfg)
		}
		for range g.below(3) {
			o := &leakOther{view: NewView(w.store, cfg)}
			w.others = append(w.others, o)
		}
		g.worlds[i] = w
	}
	g.client.replica = replica.New(schema, cfg, g.start+1)
	g.client.oldest = 1
	return g
}

func (g *leakGame) network() seqNetwork {
	n := seqNetwork{
		loss: g.pick(0, 10, 30, 60), upLoss: g.pick(0, 10, 30, 60), duplicate: g.pick(0, 10, 40), tail: g.pick(0, 5, 20),
		delay: g.pick(0, 1, 3, 7), jitter: g.pick(0, 2), tailMax: g.pick(6, 24), lose: g.pick(0, 0, 20),
		payload: g.pick(170, 100, MinPayload), limited: g.chance(30), repeats: g.chance(50),
	}
	if g.chance(30) {
		n.deaf[0] = g.start + tick.Tick(g.below(leakTicks))
		n.deaf[1] = n.deaf[0] + tick.Tick(5+g.below(25))
	}
	return n
}

// run plays until the end or until the worlds are no more the same to the client.
func (g *leakGame) run() error {
	for range g.ticks {
		if err := g.step(); err != nil {
			return fmt.Errorf("tick %d: %w", g.now-g.start, err)
		}
	}
	g.met.add(g)
	return nil
}

func (g *leakGame) step() error {
	g.now++
	g.serve()
	if err := g.alike("what was acknowledged"); err != nil {
		return err
	}
	for _, w := range g.worlds {
		w.store.Begin(g.now)
	}
	g.play()
	g.join()
	for _, w := range g.worlds {
		w.store.Commit()
	}
	g.observe()
	for _, w := range g.worlds {
		g.serveOthers(w)
	}
	g.watch()
	if err := g.theSame(); err != nil {
		return fmt.Errorf("the script itself: %w", err)
	}
	if err := g.alike("what waits"); err != nil {
		return err
	}
	if err := g.send(); err != nil {
		return err
	}
	return g.listen()
}

// observe has the views take the tick in, as a server does that a client under test writes to. What is new only in a
// world that the client may not see it in is hidden before anything is sent.
func (g *leakGame) observe() {
	for _, w := range g.worlds {
		var own []wire.NetworkID
		for _, id := range g.wrote {
			if changed := w.view.ChangedRows(id); !changed.IsZero() && changed.Within(g.authors[g.placeOf(id)]) {
				own = append(own, id)
				g.met.own++
			}
		}
		w.each(func(v *View) {
			if len(g.wrote) > 0 {
				v.ObserveBut(append([]wire.NetworkID(nil), own...))
			}
			v.Observe()
			for _, id := range w.unborn {
				v.Hide(id)
				g.met.unborn++
			}
		})
		w.unborn = w.unborn[:0]
	}
	g.wrote, g.born = g.wrote[:0], [leakPlaces]uint32{}
}

// serveOthers has what a server has to do with other clients, which may be before and after the one under test.
func (g *leakGame) serveOthers(w *leakWorld) {
	for _, o := range w.others {
		o.view.Observe()
		for len(o.open) > 0 && g.chance(60) {
			at := g.below(len(o.open))
			if o.open[at] == 0 || g.chance(20) {
				o.view.Lost(o.open[at])
			} else {
				o.view.Acked(o.open[at])
			}
			o.open = append(o.open[:at], o.open[at+1:]...)
		}
		for g.chance(30) {
			id := w.at(g.index(g.below(leakPlaces)))
			switch g.below(4) {
			case 0:
				o.view.Hide(id)
			case 1, 2:
				o.view.Show(id)
			case 3:
				o.view.See(id, format.FromWords(uint64(g.below(1<<seqRows))))
			}
		}
		if g.chance(2) {
			o.view.Resync(uint16(g.now-g.start), o.seq+1)
		}
		o.view.Plan(-1)
	}
}

func (g *leakGame) writeOthers(w *leakWorld) {
	for _, o := range w.others {
		buf := make([]byte, g.client.net.payload)
		for range g.below(3) {
			if o.view.Write(buf, o.seq+1) > 0 {
				o.seq++
				o.open = append(o.open, o.seq)
			}
		}
	}
}

// each does something to the client under test, and to its twin.
func (w *leakWorld) each(do func(v *View)) {
	if do(w.view); w.twin != nil {
		do(w.twin)
	}
}

// both does something to the client under test in both worlds.
func (g *leakGame) both(do func(v *View)) {
	for _, w := range g.worlds {
		w.each(do)
	}
}

// at returns the entity that lives at an index, or the zero id if none does.
func (w *leakWorld) at(index uint32) wire.NetworkID {
	if !w.store.alive.has(index) {
		return wire.NetworkID{}
	}
	return wire.NetworkID{Index: index, Generation: w.store.gens[index]}
}

func (w *leakWorld) generation(index uint32) uint32 {
	if int(index) >= len(w.store.gens) {
		return 0
	}
	return w.store.gens[index]
}

func (g *leakGame) index(place int) uint32 { return uint32(place * g.stride) }

func (g *leakGame) placeOf(id wire.NetworkID) int { return int(id.Index) / g.stride }

// spawn makes an entity with an id that the script gives.
func (g *leakGame) spawn(w *leakWorld, id wire.NetworkID) {
	s := w.store
	if g.mirrors {
		s.Mirror(id)
		return
	}
	s.free, s.head = s.free[:0], 0
	for int(id.Index) >= len(s.gens) {
		s.takeIndex()
	}
	s.free = append(s.free, id.Index)
	s.gens[id.Index] = id.Generation - 1
	s.Spawn()
	s.free, s.head = s.free[:0], 0
}

// free reports whether an entity may be born at a place in this tick: what is not mirrored rests for a tick.
func (g *leakGame) free(w *leakWorld, place int) bool {
	index := g.index(place)
	return w.at(index).IsZero() && (g.mirrors || int(index) >= len(w.store.gens) || w.store.shapedAt[index] != g.now)
}

func (g *leakGame) note(format string, args ...any) {
	if g.traced {
		g.trace = append(g.trace, fmt.Sprintf("%3d ", g.now-g.start)+fmt.Sprintf(format, args...))
	}
}
