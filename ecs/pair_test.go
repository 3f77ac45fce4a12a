package netecs_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type position struct {
	X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
}

type rotation struct {
	Q [4]float32 `net:"quat,bits=9"`
}

type velocity struct{ X, Y, Z float32 }

type health struct {
	HP   int16
	Note int32 `net:"-"`
	Big  uint64
}

type frozen struct{} // a tag

type childOf generic.JointTie

// seeker names other entities.
type seeker struct {
	Target ecs.Entity    `net:"entity"`
	Seen   [2]ecs.Entity `net:"entity"`
	Doubt  uint8
}

type localOnly struct{ N int }

type follows generic.Tie // a relation that does not replicate

const (
	serverTag uint32 = 0xBEEF
	clientTag uint32 = 0xCAFE
)

// rows of the schema, in the order of newSchema
const (
	rowChildOf = iota
	rowFrozen
	rowHealth
	rowPosition
	rowRotation
	rowVelocity
	rowSeeker
)

func newSchema(t testing.TB) *snapshot.Schema {
	return schemaOf(t, childOf{}, frozen{}, health{}, position{}, rotation{}, velocity{}, seeker{})
}

// schemaOf is the schema of components given by any values of them.
func schemaOf(t testing.TB, values ...any) *snapshot.Schema {
	var plans []*quantize.Plan
	for _, v := range values {
		typ := reflect.TypeOf(v)
		plan, err := quantize.Compile(typ, typ.Name())
		require.NoError(t, err)
		plans = append(plans, plan)
	}
	return format.NewSchema(plans)
}

// side is a world with the ids of the test's components.
type side struct {
	world                                            *ecs.World
	rep, child, frozen, health, pos, rot, vel, local ecs.ID
	follows, seeker                                  ecs.ID
	problems                                         []netecs.Problem
}

func newSide(capacity ...int) *side {
	w := ecs.New(capacity...)
	return &side{
		world: w, vel: ecs.ComponentID[velocity](w), local: ecs.ComponentID[localOnly](w),
		rep: ecs.ComponentID[components.Replicated](w), child: ecs.ComponentID[childOf](w),
		frozen: ecs.ComponentID[frozen](w), health: ecs.ComponentID[health](w), pos: ecs.ComponentID[position](w),
		rot: ecs.ComponentID[rotation](w), follows: ecs.ComponentID[follows](w),
		seeker: ecs.ComponentID[seeker](w),
	}
}

func (s *side) report(p netecs.Problem) { s.problems = append(s.problems, p) }

func (s *side) kinds() []netecs.ProblemKind {
	kinds := []netecs.ProblemKind{}
	for _, p := range s.problems {
		kinds = append(kinds, p.Kind)
	}
	s.problems = nil
	return kinds
}

func get[T any](s *side, e ecs.Entity, id ecs.ID) *T { return (*T)(ecs.Get(s.world, e, id)) }

func (s *side) position(e ecs.Entity) *position { return get[position](s, e, s.pos) }

func (s *side) replicated(e ecs.Entity) *components.Replicated {
	return get[components.Replicated](s, e, s.rep)
}

// pair is a server's world and a client's, joined by a perfect network.
type pair struct {
	t        testing.TB
	schema   *snapshot.Schema
	server   *side
	client   *side
	store    *snapshot.Store
	capture  *netecs.Capture
	view     *snapshot.View
	replica  *replica.Replica
	apply    *netecs.Apply
	tick     tick.Tick
	seq      uint64
	buf      []byte
	spawned  []wire.NetworkID
	departed []wire.NetworkID
	onSpawn  func(ecs.Entity, wire.NetworkID)
	onLeave  func(ecs.Entity, wire.NetworkID)
}

func newPair(t testing.TB) *pair { return newPairOf(t, newSchema(t)) }

// newPairOf is a pair that replicates what a schema says.
func newPairOf(t testing.TB, schema *snapshot.Schema) *pair { return newPairIn(t, schema, newSide()) }

// newPairIn is a pair with a server's world that there is.
func newPairIn(t testing.TB, schema *snapshot.Schema, server *side) *pair {
	p := &pair{t: t, schema: schema, server: server, client: newSide(), buf: make([]byte, 1<<20)}
	cfg := snapshot.Config{}
	p.store = snapshot.NewStore(p.schema, cfg)
	p.view = snapshot.NewView(p.store, cfg)
	p.replica = replica.New(p.schema, cfg, 0)
	p.capture = netecs.NewCapture(p.server.world, p.store, p.schema, serverTag, p.server.report)
	p.apply = netecs.NewApply(p.client.world, p.replica, p.schema, clientTag, netecs.Hooks{
		Spawned: func(e ecs.Entity, id wire.NetworkID) {
			p.spawned = append(p.spawned, id)
			if p.onSpawn != nil {
				p.onSpawn(e, id)
			}
		},
		Despawned: func(e ecs.Entity, id wire.NetworkID) {
			p.departed = append(p.departed, id)
			if p.onLeave != nil {
				p.onLeave(e, id)
			}
		},
	}, p.client.report)
	return p
}

// send captures one tick and lets the client receive it.
func (p *pair) send() {
	p.tick++
	p.capture.Run(p.tick)
	p.deliver()
}

// deliver lets the client receive the last capture.
func (p *pair) deliver() {
	p.view.Observe()
	for p.view.Pending() {
		p.seq++
		n := p.view.Write(p.buf, p.seq)
		if n == 0 {
			break
		}
		if err := p.replica.Read(p.buf[:n]); err != nil {
			p.t.Fatal(err)
		}
		p.view.Acked(p.seq)
	}
}

// step is one tick on both sides.
func (p *pair) step() {
	p.send()
	p.apply.Run()
}

// follow is a step after which both worlds are the same.
func (p *pair) follow() {
	p.step()
	p.same()
}

// same requires that the client's world is what the server's store says.
func (p *pair) same() {
	if h, ok := p.t.(interface{ Helper() }); ok {
		h.Helper()
	}
	d, differs := netecs.FirstDifference(p.store, nil, p.client.world, p.schema)
	if differs {
		p.t.Fatalf("tick %d: %s", p.tick, d)
	}
	require.Equal(p.t, netecs.DigestStore(p.store, p.schema, nil), netecs.Digest(p.client.world, p.schema))
}

// atClient is the client's entity for a server's.
func (p *pair) atClient(e ecs.Entity) ecs.Entity {
	id, ok := p.capture.ID(e)
	require.True(p.t, ok)
	shown, ok := p.apply.Entity(id)
	require.True(p.t, ok)
	back, ok := p.apply.ID(shown)
	require.True(p.t, ok)
	require.Equal(p.t, id, back)
	return shown
}
