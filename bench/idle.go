package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

const (
	idleTarget = 0.05 // ns per entity and client in a tick in which nothing changed (T7)
	idleTicks  = 2000 // at most: after 4096 a client is told that nothing changed
	idleRow    = 0    // the position of the body protocol, which is what changes here
)

// runIdle measures what a client costs in a tick before anything is written for it: taking in the tick's changes and
// looking for something to say. The anchor is the least that two bits per entity and client can cost.
func runIdle(o options) error {
	entities, clients := 100000, 64
	if o.entities > 0 {
		entities = o.entities
	}
	if o.clients > 0 {
		clients = o.clients
	}
	fractions := []float64{0, 0.01, 0.1, 1}
	if o.moving > 0 {
		fractions = []float64{0, o.moving}
	}
	run, err := newIdleRun(entities, clients)
	if err != nil {
		return err
	}
	for _, moving := range fractions {
		if err := run.measureIdle(moving, o); err != nil {
			return fmt.Errorf("%v changed: %w", moving, err)
		}
	}
	return run.verify()
}

// idleRun is a store whose clients all hold the newest of everything, and bitsets of the same size.
type idleRun struct {
	store   *snapshot.Store
	ids     []wire.NetworkID
	views   []*snapshot.View
	replica *replica.Replica // of the first view
	seq     uint64
	lanes   []uint32
	packet  [1165]byte

	dirty   []uint64
	unacked [][]uint64 // by client
	found   int
}

func newIdleRun(entities, clients int) (*idleRun, error) {
	schema := bodyProtocol(false).Schema()
	cfg := snapshot.Config{Entities: entities, SentPackets: applySent}
	r := &idleRun{
		store: snapshot.NewStore(schema, cfg), replica: replica.New(schema, cfg, 1),
		lanes: make([]uint32, schema.Plan(idleRow).Lanes()), dirty: make([]uint64, (entities+63)/64),
	}
	r.store.Begin(1)
	for range entities {
		id := r.store.Spawn()
		r.store.Set(id, idleRow, r.lanes)
		r.ids = append(r.ids, id)
	}
	r.store.Commit()
	for range clients {
		r.views = append(r.views, snapshot.NewView(r.store, cfg))
		r.unacked = append(r.unacked, make([]uint64, len(r.dirty)))
	}
	for i := range r.views {
		if err := r.drain(i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// drain sends a client all that it lacks and acknowledges it at once; the first client's packets are decoded.
func (r *idleRun) drain(client int) error {
	view := r.views[client]
	for view.Pending() {
		r.seq++
		n := view.Write(r.packet[:], r.seq)
		if n == 0 {
			return fmt.Errorf("client %d: nothing written though something is pending", client)
		}
		if client == 0 {
			if err := r.replica.Read(r.packet[:n]); err != nil {
				return err
			}
		}
		view.Acked(r.seq)
	}
	if !view.Synced() {
		return fmt.Errorf("client %d lacks something though all was acknowledged", client)
	}
	return nil
}

// change plays a tick in which every k-th entity moves.
func (r *idleRun) change(moving float64) (changed int) {
	r.store.Begin(r.store.Tick() + 1)
	clear(r.dirty)
	if moving > 0 {
		r.lanes[0] = (r.lanes[0] + 77) & 0xFFFF
		step := 1 / moving
		for at := 0.0; int(at) < len(r.ids); at += step {
			r.store.Set(r.ids[int(at)], idleRow, r.lanes)
			r.dirty[int(at)>>6] |= 1 << (int(at) & 63)
			changed++
		}
	}
	r.store.Commit()
	return changed
}

// observe takes in a tick at every client and looks for something to say; where there is nothing, it also writes nothing.
func (r *idleRun) observe(idle bool) (spoke int) {
	for _, view := range r.views {
		view.Observe()
		if !view.Pending() {
			continue
		}
		spoke++
		if idle {
			view.Write(r.packet[:], r.seq)
		}
	}
	return spoke
}

// bitsets is the floor: an or of the changes into a bitset per client, and a look for any bit.
func (r *idleRun) bitsets() {
	for _, unacked := range r.unacked {
		any := uint64(0)
		for w, dirty := range r.dirty {
			unacked[w] |= dirty
			any |= unacked[w]
		}
		if any != 0 {
			r.found++
		}
	}
}

// measureIdle prints one line for a part of the entities that changes in every tick.
func (r *idleRun) measureIdle(moving float64, o options) error {
	var observed, floors []float64
	each := float64(len(r.ids) * len(r.views))
	changed := 0
	for start, n := time.Now(), 0; n < 20 || n < idleTicks && time.Since(start) < o.budget; n++ {
		changed = r.change(moving)
		spoke := 0
		if n%2 == 0 {
			floors = append(floors, timed(r.bitsets)/each)
		}
		observed = append(observed, timed(func() { spoke = r.observe(moving == 0) })/each)
		if n%2 == 1 {
			floors = append(floors, timed(r.bitsets)/each)
		}
		if want := len(r.views) * min(changed, 1); spoke != want {
			return fmt.Errorf("%d of %d clients have something to say, it should be %d", spoke, len(r.views), want)
		}
	}
	line := result{
		Scenario: "idle", Value: median(observed), Unit: "ns/entity/client", Main: moving == 0,
		Params: map[string]any{
			"entities": len(r.ids), "clients": len(r.views), "changed": moving, "entities_changed": changed, "ticks": len(observed),
			"us_per_client": median(observed) * float64(len(r.ids)) / 1000, "anchor": "an or of one bitset into another, and a look for any bit",
		},
	}.against(median(floors))
	if moving == 0 {
		line = line.valueTarget(idleTarget, true)
	}
	o.report(line)
	return nil
}

// verify sends the first client what the runs made and compares all rows that it then holds.
func (r *idleRun) verify() error {
	if err := r.drain(0); err != nil {
		return err
	}
	for _, id := range r.ids {
		if got, want := r.replica.Row(id.Index, idleRow), r.store.Row(id, idleRow); !slices.Equal(got, want) {
			return fmt.Errorf("entity %v: the client holds %v, the server %v", id, got, want)
		}
	}
	return nil
}
