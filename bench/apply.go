package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

const (
	applyTarget = 2    // times World.Get per row, decoding included (T11)
	applyRoom   = 1165 // bytes for a snapshot in a packet of 1200
	// applySent is enough to remember every packet of a tick of 100 000 exact rows.
	applySent = 1 << 13
	// A short window, and so many ticks before measuring that the client's past has the memory that it needs.
	applyWindow, applyWarm = 16, 2*applyWindow + 4
)

// local is what game code on the client adds to every entity, in an order of its own: the memory of the world is then in
// that order, and ids that arrive in ascending order are all over it.
type local struct{ Sprite uint32 }

// runApply measures what a client does with a tick's packets: decode them, and write what they say into its world.
func runApply(o options) error {
	sizes := []int{100, 1000, 10000, 100000}
	if o.entities > 0 {
		sizes = []int{o.entities}
	}
	for _, entities := range sizes {
		for _, a := range []*applyRun{{whole: true}, {whole: true, scattered: true}, {}, {scattered: true}} {
			if a.moving = cmp.Or(o.moving, 1); a.whole && a.moving < 1 {
				continue // what is not acknowledged is sent again, changed or not
			}
			err := a.start(entities)
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
	whole     bool // nothing is acknowledged, so that every row travels whole; else as what differs
	scattered bool
	moving    float64
	schema    *snapshot.Schema

	server  *bodyWorld
	capture *netecs.Capture
	store   *snapshot.Store
	view    *snapshot.View
	movers  []int
	orbits  []orbit

	client  ecs.World
	replica *snapshot.Replica
	apply   *netecs.Apply

	seq     uint64
	packets [][]byte
	used    []byte // the memory of packets
	plain   plainApply

	decodes, applies, wholes, gets, columns []float64 // ns per row
	compared                                int
	snapshotBytes                           int
}

// start makes both ends and brings the client what there is.
func (a *applyRun) start(entities int) error {
	a.schema, a.server = bodyProtocol(true).Schema(), newBodyWorld(entities, true)
	cfg := snapshot.Config{Entities: entities, SentPackets: applySent, Payload: applyRoom, Window: applyWindow}
	a.store = snapshot.NewStore(a.schema, cfg)
	a.capture = netecs.NewCapture(&a.server.world, a.store, a.schema, 1, nil)
	a.view = snapshot.NewView(a.store, cfg)
	a.client = ecs.NewWorld(max(entities, 1024))
	a.replica = snapshot.NewReplica(a.schema, cfg, 1)
	a.apply = netecs.NewApply(&a.client, a.replica, a.schema, 2, netecs.Hooks{}, nil)
	random := rand.New(rand.NewPCG(11, 1))
	a.movers = random.Perm(entities)[:movers(entities, a.moving)]
	a.orbits = newScene(entities, a.moving).orbits
	if err := a.turn(false); err != nil {
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
	for range applyWarm {
		if err := a.turn(false); err != nil {
			return err
		}
	}
	return a.compare()
}

// scatter gives every entity of the client's world a local component, in this order.
func (a *applyRun) scatter(order []int) {
	var all []ecs.Entity
	query := a.client.Query(ecs.All(ecs.ComponentID[position](&a.client)))
	for query.Next() {
		all = append(all, query.Entity())
	}
	sprites := generic.NewMap1[local](&a.client)
	for _, i := range order {
		sprites.Assign(all[i], &local{Sprite: uint32(i)})
	}
}

// write makes the packets of the next tick, in which every mover has moved.
func (a *applyRun) write() error {
	for k, i := range a.movers {
		p, r, v := a.orbits[k].next()
		a.server.write(a.server.entities[i], p, r, v)
	}
	a.capture.Run(a.store.Tick() + 1)
	a.view.Observe()
	a.packets, a.used = a.packets[:0], a.used[:0]
	a.snapshotBytes = 0
	for a.view.Pending() {
		at := len(a.used)
		if cap(a.used)-at < applyRoom {
			a.used, at = make([]byte, 0, max(2*cap(a.used), 64*applyRoom)), 0 // earlier packets keep their memory
		}
		n := a.view.Write(a.used[at:at+applyRoom], a.seq+1)
		if n == 0 {
			return errors.New("the view wrote nothing though something is pending")
		}
		a.seq++
		a.packets = append(a.packets, a.used[at:at+n:at+n])
		a.used = a.used[:at+n]
		a.snapshotBytes += n
	}
	return nil
}

// turn plays one tick; keep says whether its times count.
func (a *applyRun) turn(keep bool) error {
	if err := a.write(); err != nil {
		return err
	}
	var failed error
	decode := timed(func() {
		for _, p := range a.packets {
			if err := a.replica.Read(p); err != nil {
				failed = err
			}
		}
	})
	apply := timed(a.apply.Run)
	for i := range a.packets {
		if !a.whole {
			a.view.Acked(a.seq - uint64(i))
		}
	}
	if keep {
		rows := float64(len(a.movers))
		a.decodes, a.applies, a.wholes = append(a.decodes, decode/rows), append(a.applies, apply/rows), append(a.wholes, (decode+apply)/rows)
	}
	return failed
}

// anchors writes the rows of the movers, as plain bytes, by World.Get and into columns.
func (a *applyRun) anchors() error {
	a.plain.encode(a)
	rows := float64(len(a.movers))
	a.gets = append(a.gets, timed(a.plain.byGet)/rows)
	if err := a.plain.check(a); err != nil {
		return err
	}
	a.columns = append(a.columns, timed(a.plain.byColumn)/rows)
	return nil
}

func (a *applyRun) measure(budget time.Duration) error {
	for start, n := time.Now(), 0; n < 5 || time.Since(start) < budget; n++ {
		var err error
		if n%2 == 0 && n > 0 {
			err = a.anchors()
		}
		err = errors.Join(err, a.turn(n > 0))
		if n%2 == 1 {
			err = errors.Join(err, a.anchors())
		}
		if n%16 == 0 {
			err = errors.Join(err, a.compare())
		}
		if err != nil {
			return err
		}
	}
	return a.compare()
}

// compare holds the client's world against the server's rows, all of them.
func (a *applyRun) compare() error {
	a.compared++
	want := netecs.DigestStore(a.store, a.schema, func(wire.NetworkID) bool { return true })
	if got := netecs.Digest(&a.client, a.schema); got != want {
		return fmt.Errorf("tick %d: the client's world is %016x, the server's rows are %016x", a.store.Tick(), got, want)
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
	line := result{
		Scenario: "apply", Value: median(a.wholes), Unit: "ns/row", Params: params(), Main: len(a.server.entities) == 1000 && !a.scattered,
	}
	o.report(line.against(median(a.gets)).ratioTarget(applyTarget, true))
	against := result{Scenario: "apply.columns", Value: median(a.wholes), Unit: "ns/row", Params: params()}
	against.Params["ratio_of_fastest"] = quantile(a.wholes, 0) / quantile(a.columns, 0)
	against.Params["anchor"] = "the same bytes into slices, by index"
	o.report(against.against(median(a.columns)))
}

// plainApply is the anchor: the movers' rows as a 32-bit index and 40 bytes, in ascending order of index as a snapshot has
// them, written into a world of its own whose memory is in the same order as the client's.
type plainApply struct {
	world     ecs.World
	rows      []byte
	entities  []ecs.Entity // by index
	get       generic.Map3[position, rotation, velocity]
	positions []position
	rotations []rotation
	velocity  []velocity
	ids       [3]ecs.ID
	place     []int32 // by index: where its row is in the columns
}

// plainRow is an index and the bytes of position, rotation and velocity.
const plainRow = 4 + 40

func newPlainApply(entities int, order []int) plainApply {
	p := plainApply{world: ecs.NewWorld(entities + 1), entities: make([]ecs.Entity, entities), place: make([]int32, entities)}
	p.get = generic.NewMap3[position, rotation, velocity](&p.world)
	p.ids = [3]ecs.ID{ecs.ComponentID[position](&p.world), ecs.ComponentID[rotation](&p.world), ecs.ComponentID[velocity](&p.world)}
	query := p.get.NewBatchQ(entities)
	for at := 0; query.Next(); at++ {
		p.entities[order[at]], p.place[order[at]] = query.Entity(), int32(at)
	}
	p.positions, p.rotations, p.velocity = make([]position, entities), make([]rotation, entities), make([]velocity, entities)
	return p
}

// encode takes the movers' rows from the server's world.
func (p *plainApply) encode(a *applyRun) {
	moves := make([]bool, len(p.entities))
	for _, i := range a.movers {
		moves[i] = true
	}
	p.rows = p.rows[:0]
	for i, moves := range moves {
		if !moves {
			continue
		}
		at, q, v := a.server.read(a.server.entities[i])
		p.rows = binary.LittleEndian.AppendUint32(p.rows, uint32(i))
		for _, f := range [...]float32{at.X, at.Y, at.Z, q.Q[0], q.Q[1], q.Q[2], q.Q[3], v.X, v.Y, v.Z} {
			p.rows = binary.LittleEndian.AppendUint32(p.rows, math.Float32bits(f))
		}
	}
}

// byGet writes every row through World.Get.
func (p *plainApply) byGet() {
	for at := 0; at+plainRow <= len(p.rows); at += plainRow {
		row := (*[plainRow]byte)(p.rows[at:])
		e := p.entities[binary.LittleEndian.Uint32(row[:])]
		takeRow(row, (*position)(p.world.Get(e, p.ids[0])), (*rotation)(p.world.Get(e, p.ids[1])), (*velocity)(p.world.Get(e, p.ids[2])))
	}
}

// byColumn writes every row into slices.
func (p *plainApply) byColumn() {
	for at := 0; at+plainRow <= len(p.rows); at += plainRow {
		row := (*[plainRow]byte)(p.rows[at:])
		k := p.place[binary.LittleEndian.Uint32(row[:])]
		takeRow(row, &p.positions[k], &p.rotations[k], &p.velocity[k])
	}
}

// check holds one entity that was written by World.Get against the server's world.
func (p *plainApply) check(a *applyRun) error {
	for _, i := range a.movers[:min(16, len(a.movers))] {
		at, q, v := a.server.read(a.server.entities[i])
		gotAt, gotQ, gotV := p.get.Get(p.entities[i])
		if *gotAt != at || *gotQ != q || *gotV != v {
			return fmt.Errorf("the anchor wrote body %d wrongly", i)
		}
	}
	return nil
}
