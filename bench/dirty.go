package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// dirtyIdleTarget is 1.5 ns a row where comparing the memory alone takes 0.84 (T5), as a ratio.
	dirtyIdleTarget = 1.5 / 0.84
	// dirtyRow is the bytes that one entity's comparison reads on either side: three components and a Replicated.
	dirtyRow = 40 + 12
)

// relation puts an entity into an archetype of its own, that of its target.
type relation generic.Tie

// dirtyScene is one line of T5.
type dirtyScene struct {
	entities  int
	moving    float64 // of the entities, written by the game before each capture; 0 is an idle world
	relations int     // above 0: each entity stands in an archetype alone, for which Arche reserves so many rows
}

func dirtyScenes(o options) []dirtyScene {
	sizes, fractions := []int{10000, 100000}, []float64{0, 0.01, 0.1, 1}
	if o.entities > 0 {
		sizes = []int{o.entities}
	}
	if o.moving > 0 {
		fractions = []float64{0, o.moving}
	}
	var scenes []dirtyScene
	for _, n := range sizes {
		for _, f := range fractions {
			scenes = append(scenes, dirtyScene{entities: n, moving: f})
		}
	}
	targets := min(1000, sizes[0])
	for _, alone := range []dirtyScene{{relations: archetypeRows}, {relations: 1}} {
		for _, f := range []float64{0, 0.1} {
			alone.entities, alone.moving = targets, f
			scenes = append(scenes, alone)
		}
	}
	return scenes
}

// runDirty measures finding what the game wrote: a capture of the world, against comparing as much memory and nothing else.
func runDirty(o options) error {
	for _, s := range dirtyScenes(o) {
		d := newDirtyRun(s)
		if err := d.measureDirty(o.budget); err != nil {
			return fmt.Errorf("%+v: %w", s, err)
		}
		d.printDirty(o)
	}
	return nil
}

// seenRow is the compared part of an entity.
type seenRow struct {
	replicated components.Replicated
	at         position
	turned     rotation
	moves      velocity
}

// dirtyRun is a world with its capture, and the memory of the floor.
type dirtyRun struct {
	dirtyScene
	body    *bodyWorld
	schema  *snapshot.Schema
	store   *snapshot.Store
	capture *netecs.Capture
	movers  []int
	orbits  []orbit
	all     ecs.Mask
	filter  ecs.Filter // of all bodies

	memory, shadow []byte
	differs        bool      // they do: then comparing them has no end to reach
	seen           []seenRow // a copy of each row of a relation
	kinds          [4]ecs.ID

	captures, compares []float64 // ns per row
	walks, searches    []float64 // ns per row of a relation
	compared           int
}

func newDirtyRun(s dirtyScene) *dirtyRun {
	d := &dirtyRun{dirtyScene: s, schema: bodyProtocol(true).Schema()}
	d.body = newRelatedWorld(s.entities, true, max(s.relations, 1))
	if s.relations > 0 {
		d.relate()
	}
	w := d.body.world
	d.kinds = [4]ecs.ID{ecs.ComponentID[components.Replicated](w), ecs.ComponentID[position](w), ecs.ComponentID[rotation](w), ecs.ComponentID[velocity](w)}
	d.all = ecs.All(d.kinds[0])
	d.filter = ecs.Register(d.body.world, d.all.Without())
	d.store = snapshot.NewStore(d.schema, snapshot.Config{Entities: s.entities})
	d.capture = netecs.NewCapture(d.body.world, d.store, d.schema, 1, nil)
	if s.moving > 0 {
		d.movers = rand.New(rand.NewPCG(7, 1)).Perm(s.entities)[:movers(s.entities, s.moving)]
		d.orbits = newScene(s.entities, s.moving).orbits
	}
	// Not zeros: pages that were never written are all the same page.
	d.memory = bytes.Repeat([]byte{1}, dirtyRow*s.entities)
	d.shadow = bytes.Clone(d.memory)
	return d
}

// walk asks each archetype for one pointer and the entity, and reads nothing.
func (d *dirtyRun) walk() (found int) {
	for query := ecs.Open(d.body.world, &d.filter); query.Next(); {
		if query.Get(d.kinds[0]) != nil && !query.Entity().IsZero() {
			found++
		}
	}
	return found
}

// search is the least that finds what changed in archetypes of one row through Arche's API: a look at the row of each, held
// against a copy beside it.
func (d *dirtyRun) search() (same int) {
	at := 0
	for query := ecs.Open(d.body.world, &d.filter); query.Next() && at < len(d.seen); at++ {
		seen := &d.seen[at]
		if *(*components.Replicated)(query.Get(d.kinds[0])) == seen.replicated && *(*position)(query.Get(d.kinds[1])) == seen.at &&
			*(*rotation)(query.Get(d.kinds[2])) == seen.turned && *(*velocity)(query.Get(d.kinds[3])) == seen.moves {
			same++
		}
	}
	return same
}

// look takes the copies that search compares with.
func (d *dirtyRun) look() {
	d.seen = d.seen[:0]
	for query := ecs.Open(d.body.world, &d.filter); query.Next(); {
		d.seen = append(d.seen, seenRow{
			*(*components.Replicated)(query.Get(d.kinds[0])), *(*position)(query.Get(d.kinds[1])),
			*(*rotation)(query.Get(d.kinds[2])), *(*velocity)(query.Get(d.kinds[3])),
		})
	}
}

// floor is the anchor of the scene: comparing as much memory, and where each row is in an archetype alone, the search.
func (d *dirtyRun) floor() error {
	compare := timed(func() {
		if !bytes.Equal(d.memory, d.shadow) {
			d.differs = true
		}
	})
	d.compares = append(d.compares, compare/float64(d.entities))
	if d.differs {
		return errors.New("the floor's memory differs")
	}
	if d.relations == 0 {
		return nil
	}
	found, same := 0, 0
	d.searches = append(d.searches, timed(func() { same = d.search() })/float64(d.entities))
	d.walks = append(d.walks, timed(func() { found = d.walk() })/float64(d.entities))
	if found != d.entities || same != d.entities {
		return fmt.Errorf("of %d bodies the walk found %d and the search %d as they were", d.entities, found, same)
	}
	return nil
}

// relate gives every body a target of its own.
func (d *dirtyRun) relate() {
	targets := generic.NewMap1[local](d.body.world)
	relate := generic.NewMap1[relation](d.body.world)
	related := generic.NewMap[relation](d.body.world)
	for i, e := range d.body.entities {
		relate.Assign(e, &relation{})
		related.SetRelation(e, targets.NewWith(&local{Sprite: uint32(i)}))
	}
}

// turn is one tick: the game writes, the world is captured, and beside it the floor compares.
func (d *dirtyRun) turn(keep bool) error {
	for k, i := range d.movers {
		p, r, v := d.orbits[k].nextPose()
		d.body.write(d.body.entities[i], p, r, v)
	}
	if d.relations > 0 {
		d.look() // and both begin with the same in the caches
	}
	var failed error
	floorFirst := d.store.Tick()%2 == 0
	if keep && floorFirst {
		failed = d.floor()
	}
	capture := timed(func() { d.capture.Run(d.store.Tick() + 1) })
	if !keep {
		return nil
	}
	d.captures = append(d.captures, capture/float64(d.entities))
	if !floorFirst {
		failed = d.floor()
	}
	if want := 3 * len(d.movers); d.store.Changed() != want {
		return fmt.Errorf("the capture found %d rows changed, the game wrote %d", d.store.Changed(), want)
	}
	return failed
}

func (d *dirtyRun) measureDirty(budget time.Duration) error {
	for range 3 {
		if err := d.turn(false); err != nil {
			return err
		}
	}
	for start, n := time.Now(), 0; n < 30 || time.Since(start) < budget; n++ {
		if err := d.turn(true); err != nil {
			return err
		}
		if n%64 == 0 {
			if err := d.compareMemory(); err != nil {
				return err
			}
		}
	}
	return d.compareMemory()
}

// compareMemory holds the captured rows against the world: exact rows have the world's own bytes.
func (d *dirtyRun) compareMemory() error {
	d.compared++
	want := netecs.Digest(d.body.world, d.schema)
	if got := netecs.DigestStore(d.store, d.schema, func(wire.NetworkID) bool { return true }); got != want {
		return fmt.Errorf("tick %d: the captured rows are %016x, the world is %016x", d.store.Tick(), got, want)
	}
	return nil
}

func (d *dirtyRun) printDirty(o options) {
	anchor, floors := "comparing as many bytes of memory", d.compares
	if d.relations > 0 {
		anchor, floors = "a query that compares the row of each archetype with a copy", d.searches
	}
	idle := d.moving == 0
	r := result{
		Scenario: "dirty", Value: median(d.captures), Unit: "ns/row", Main: idle && d.relations == 0 && d.entities == 10000,
		Params: map[string]any{
			"entities": d.entities, "changed": d.moving, "one_row_archetypes": d.relations > 0, "rows_reserved": d.relations, "fastest_ns": quantile(d.captures, 0), "ticks": len(d.captures),
			"p99_ns": quantile(d.captures, 0.99), "ratio_of_fastest": quantile(d.captures, 0) / quantile(floors, 0), "bytes_compared_per_row": dirtyRow, "worlds_compared": d.compared,
			"compare_ns": median(d.compares), "ratio_to_comparing": median(d.captures) / median(d.compares), "anchor": anchor,
		},
	}.against(median(floors))
	if d.relations > 0 {
		r.Params["walk_ns"] = median(d.walks)
	}
	if idle && d.relations == 0 { // what T5 names for idle rows; of one-row archetypes it names a scene
		r = r.ratioTarget(dirtyIdleTarget, true)
	}
	o.report(r)
}
