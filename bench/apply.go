package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/snapshot"
)

const (
	applyTarget = 3    // times World.Get per row, decoding included (T11)
	applyRoom   = 1165 // bytes for a snapshot in a packet of 1200
	// applySent is enough to remember every packet of a tick of 100 000 exact rows.
	applySent = 1 << 13
	// A short window, and so many ticks before measuring that the client's past has the memory that it needs.
	applyWindow, applyWarm = 16, 2*applyWindow + 4
	// The server sends so many bytes of plain rows before the client gets the first, but so many ticks at most: what a server does between
	// two ticks is in another process than a client's.
	applyAhead, applyMost = 16 << 20, 64
	// applyCompared is the number of ticks between two comparisons of the worlds.
	applyCompared = 16
)

// local is added to every entity by game code on the client, in an order of its own. The memory of the world is then in
// that order, and ids that arrive in ascending order are scattered.
type local struct{ Sprite uint32 }

// runApply measures what a client does with a tick's packets: decode them, and write what they say into its world.
func runApply(o options) error {
	sizes := []int{100, 1000, 10000, 100000}
	if o.entities > 0 {
		sizes = []int{o.entities}
	}
	for _, entities := range sizes {
		for _, a := range []*applyRun{{whole: true}, {whole: true, scattered: true}, {whole: true, beside: true}, {}, {scattered: true}} {
			if a.moving = cmp.Or(o.moving, 1); a.whole && a.moving < 1 {
				continue // what is not acknowledged is sent again, changed or not
			}
			err := a.bringUp(entities)
			if err == nil {
				err = a.measure(o.budget)
			}
			if err != nil {
				return fmt.Errorf("%d entities, scattered %v, whole rows %v: %w", entities, a.scattered, a.whole, err)
			}
			a.report(o)
		}
	}
	return nil
}

// applyRun is a server's store and view, a client's replica and world, and beside them the same rows as plain bytes that
// are written into a world by World.Get and into columns.
type applyRun struct {
	whole     bool // nothing is acknowledged, so that every row is sent whole; else as what differs
	beside    bool // the server makes each tick between two of the client's, in the same process
	scattered bool
	moving    float64
	schema    *snapshot.Schema

	server  *bodyWorld
	capture *netecs.Capture
	store   *snapshot.Store
	view    *snapshot.View
	movers  []int
	moves   []bool // by entity: it is one of movers
	orbits  []orbit
	ahead   int // ticks that the server sends before the client gets the first of them
	sent    []sentTick
	arrived int // how many of sent the client has got

	client  *ecs.World
	replica *replica.Replica
	apply   *netecs.Apply

	seq     uint64
	socket  []byte // where a tick's packets are received
	packets [][]byte
	plain   plainApply

	decodes, applies, wholes, gets, columns []float64 // ns per row
	compared                                int
	snapshotBytes                           int
}

// bringUp makes both ends and brings the client what there is.
func (a *applyRun) bringUp(entities int) error {
	a.schema, a.server = bodyProtocol(true).Schema(), newBodyWorld(entities, true)
	cfg := snapshot.Config{Entities: entities, SentPackets: applySent, Payload: applyRoom, Window: applyWindow}
	a.store = snapshot.NewStore(a.schema, cfg)
	a.capture = netecs.NewCapture(a.server.world, a.store, a.schema, 1, nil)
	a.view = snapshot.NewView(a.store, cfg)
	a.client = ecs.New(max(entities, 1024))
	a.replica = replica.New(a.schema, cfg, 1)
	a.apply = netecs.NewApply(a.client, a.replica, a.schema, 2, netecs.Hooks{}, nil)
	random := rand.New(rand.NewPCG(11, 1))
	a.movers = random.Perm(entities)[:movers(entities, a.moving)]
	a.orbits, a.moves = newScene(entities, a.moving).orbits, make([]bool, entities)
	for _, i := range a.movers {
		a.moves[i] = true
	}
	a.ahead = 1
	if err := a.warm(1); err != nil {
		return err
	}
	order := make([]int, entities)
	for i := range order {
		order[i] = i
	}
	if a.scattered {
		random.Shuffle(entities, func(i, j int) { order[i], order[j] = order[j], order[i] })
		a.scatter(order)
	}
	a.plain = newPlainApply(entities, order)
	if err := a.warm(applyWarm); err != nil {
		return err
	}
	if !a.beside {
		a.ahead = min(max(applyAhead/(plainRow*max(len(a.movers), 1)), 1), applyMost)
	}
	return nil
}

// warm plays ticks that do not count.
func (a *applyRun) warm(ticks int) error {
	for range ticks {
		t, err := a.nextTick()
		if err == nil {
			err = a.turn(t, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scatter gives every entity of the client's world a local component, in this order.
func (a *applyRun) scatter(order []int) {
	var all []ecs.Entity
	query := ecs.Select(a.client, ecs.All(ecs.ComponentID[position](a.client)))
	for query.Next() {
		all = append(all, query.Entity())
	}
	sprites := generic.NewMap1[local](a.client)
	for _, i := range order {
		sprites.Assign(all[i], &local{Sprite: uint32(i)})
	}
}

// turn gives the client one tick; keep says whether its times count. In every second tick one look at the clock is all there is, and in the others decoding and
// applying are timed apart.
func (a *applyRun) turn(t *sentTick, keep bool) error {
	a.receive(t)
	var failed error
	read := func() {
		for _, p := range a.packets {
			if err := a.replica.Read(p); err != nil {
				failed = err
			}
		}
	}
	rows := float64(len(a.movers))
	switch {
	case !keep:
		read()
		a.apply.Run()
	case len(a.wholes) > len(a.decodes):
		a.decodes, a.applies = append(a.decodes, timed(read)/rows), append(a.applies, timed(a.apply.Run)/rows)
	default:
		a.wholes = append(a.wholes, timed(func() { read(); a.apply.Run() })/rows)
	}
	if failed == nil && t.compared {
		failed = a.compare(t)
	}
	return failed
}

// anchors writes the rows of a tick, as plain bytes, by World.Get and into columns.
func (a *applyRun) anchors(t *sentTick) error {
	a.plain.rows = append(a.plain.rows[:0], t.rows...)
	rows := float64(len(a.movers))
	a.gets = append(a.gets, timed(a.plain.byGet)/rows)
	if err := a.plain.check(t.rows); err != nil {
		return err
	}
	a.columns = append(a.columns, timed(a.plain.byColumn)/rows)
	return nil
}

// measure plays ticks, by turns the client and the anchors first, until the time is used up and the worlds were compared in the last of them.
func (a *applyRun) measure(budget time.Duration) error {
	for start, n, compared := time.Now(), 0, false; n < 2*applyCompared || time.Since(start) < budget || !compared; n++ {
		t, err := a.nextTick()
		if err != nil {
			return err
		}
		if n%2 == 0 {
			err = a.turn(t, n > 0)
		}
		err = errors.Join(err, a.anchors(t))
		if n%2 == 1 {
			err = errors.Join(err, a.turn(t, true))
		}
		if err != nil {
			return err
		}
		compared = t.compared
	}
	return nil
}

// compare holds the client's world against the server's rows of that tick, all of them.
func (a *applyRun) compare(t *sentTick) error {
	a.compared++
	if got := netecs.Digest(a.client, a.schema); got != t.digest {
		return fmt.Errorf("tick %d: the client's world is %016x, the server's rows are %016x", t.tick, got, t.digest)
	}
	return nil
}

func (a *applyRun) report(o options) {
	params := func() map[string]any {
		return map[string]any{
			"entities": len(a.server.entities), "rows_changed": len(a.movers), "scattered": a.scattered, "ticks": len(a.wholes),
			"decode_ns": median(a.decodes), "apply_ns": median(a.applies),
			"fastest_decode_ns": quantile(a.decodes, 0), "fastest_apply_ns": quantile(a.applies, 0), "bytes_per_row": float64(a.snapshotBytes) / float64(len(a.movers)),
			"fastest_ns": quantile(a.wholes, 0), "ratio_of_fastest": quantile(a.wholes, 0) / quantile(a.gets, 0),
			"worlds_compared": a.compared, "anchor": "World.Get of three components, entities from a dense table",
		}
	}
	if !a.whole {
		o.report(result{Scenario: "apply.delta", Value: median(a.wholes), Unit: "ns/row", Params: params()}.against(median(a.gets)))
		return
	}
	if a.beside {
		o.report(result{Scenario: "apply.beside", Value: median(a.wholes), Unit: "ns/row", Params: params()}.against(median(a.gets)))
		return
	}
	line := result{
		Scenario: "apply", Value: median(a.wholes), Unit: "ns/row", Params: params(), Main: len(a.server.entities) == 1000 && !a.scattered,
	}
	o.report(line.against(median(a.gets)).ratioTarget(applyTarget, true))
	against := result{Scenario: "apply.columns", Value: median(a.wholes), Unit: "ns/row", Params: params()}
	against.Params["ratio_of_fastest"] = quantile(a.wholes, 0) / quantile(a.columns, 0)
	against.Params["anchor"] = "the same bytes into slices, by index"
	o.report(against.against(median(a.columns)))
}
