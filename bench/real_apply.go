package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/wire"
)

const (
	realApplyTarget   = 120 // ns an entity
	realApplyEntities = 1000
)

// withWorlds gives all clients that decode a world, in which each tick is written.
func (r *realRun) withWorlds() {
	for _, c := range r.clients {
		if c.replica != nil {
			world := ecs.New(max(r.entities, 1024))
			c.world = world
			c.apply = netecs.NewApply(c.world, c.replica, r.game.store.Schema(), 2, netecs.Hooks{}, nil)
		}
	}
}

// compareWorlds holds the worlds against the store.
func (r *realRun) compareWorlds() error {
	schema := r.game.store.Schema()
	want := netecs.DigestStore(r.game.store, schema, func(wire.NetworkID) bool { return true })
	for i, c := range r.clients {
		if c.world == nil {
			continue
		}
		if got := netecs.Digest(c.world, schema); got != want {
			return fmt.Errorf("client %d: its world is %016x, the server's rows are %016x", i, got, want)
		}
		r.compared++
	}
	return nil
}

// measureRealApply measures what a client does to decode what moved in a tick and to write it into its world: on the network, on
// the perfect one, and beside them the same rows as plain bytes by World.Get.
func measureRealApply(o options) error {
	s := realScene{entities: realApplyEntities, clients: 1, moving: 1, exact: o.exact} // one, as on a player's machine
	real, perfect := newRealRun(s, o.network), newRealRun(s, o.network.perfect())
	order := make([]int, s.entities)
	for i := range order {
		order[i] = i
	}
	plain := newPlainApply(s.entities, order)
	var gets []float64
	for _, r := range []*realRun{perfect, real} {
		r.withWorlds()
		if err := r.playTicks(realWarmUp, false); err != nil {
			return err
		}
		for _, c := range r.clients {
			c.applies = c.applies[:0]
		}
	}
	for start := time.Now(); time.Since(start) < o.budget || len(gets) < realTicks; {
		if err := errors.Join(perfect.measureTicks(realTurns), real.measureTicks(realTurns)); err != nil {
			return err
		}
		plain.rows = plain.rows[:0]
		for i, e := range real.game.body.entities {
			at, q, v := real.game.body.read(e)
			plain.rows = appendPlain(plain.rows, uint32(i), at, q, v)
		}
		rows := bytes.Clone(plain.rows)
		gets = append(gets, timed(plain.byGet)/float64(s.entities))
		if err := plain.check(rows); err != nil {
			return err
		}
	}
	real.compared, perfect.compared = 0, 0
	for _, r := range []*realRun{perfect, real} {
		if err := errors.Join(r.heal(), r.compareWorlds()); err != nil {
			return err
		}
	}
	ideal, got := perfect.applies(), real.applies()
	o.report(result{
		Scenario: "real.client", Value: median(got), Unit: "ns/entity", Params: map[string]any{
			"entities": s.entities, "clients": s.clients, "exact": s.exact, "loss": o.network.loss, "jitter": o.network.jitter, "classes": o.network.classes, "seed": o.network.seed,
			"anchor": "World.Get of three components, entities from a dense table", "perfect_ns": median(ideal), "perfect_ratio": median(ideal) / median(gets),
			"fastest_ns": quantile(got, 0), "p95_ns": quantile(got, 0.95), "ticks": len(gets), "rows_compared": real.compared + perfect.compared,
		},
	}.against(median(gets)).valueTarget(realApplyTarget, true))
	return nil
}

// applies is the ns a record of all clients with a world.
func (r *realRun) applies() (all []float64) {
	for _, c := range r.clients {
		all = slices.Concat(all, c.applies)
	}
	return all
}
