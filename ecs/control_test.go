package netecs_test

import (
	"math"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// controlIDs are the control components of a world.
type controlIDs struct{ owner, group, priority, rate ecs.ID }

func controlsOf(s *side) controlIDs {
	return controlIDs{
		ecs.ComponentID[components.Owner](s.world), ecs.ComponentID[components.Group](s.world),
		ecs.ComponentID[components.Priority](s.world), ecs.ComponentID[components.Rate](s.world),
	}
}

// What control components say reaches the store in the same capture, by whatever way they came or went, and whether
// they are registered or not.
func TestControlsAreObeyed(t *testing.T) {
	for name, schema := range map[string]*snapshot.Schema{
		"known to the capture only": newSchema(t),
		"registered": schemaOf(t, components.Group{}, components.Owner{}, components.Priority{},
			components.Rate{}, position{}),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPairOf(t, schema)
			s, w, c := p.server, p.server.world, controlsOf(p.server)
			e := w.NewEntity(s.rep, c.owner)
			get[components.Owner](s, e, c.owner).Client = 3
			is := func(what string, owner wire.ClientID, group uint32, weight uint16) {
				p.tick++
				p.capture.Run(p.tick)
				id := p.id(e)
				require.Equal(t, owner, p.store.Owner(id), what)
				require.Equal(t, group, p.store.Group(id), what)
				require.Equal(t, weight, p.store.Priority(id), what)
			}
			is("born with an owner", 3, 0, 256)
			get[components.Owner](s, e, c.owner).Client = 4
			is("written", 4, 0, 256)
			w.Add(e, c.group, c.priority, s.pos)
			get[components.Group](s, e, c.group).ID = 77
			get[components.Priority](s, e, c.priority).Weight = 2.5
			is("added", 4, 77, 640)
			require.Equal(t, []uint32{p.id(e).Index}, p.store.Members(77))
			p.store.SetOwner(p.id(e), 9)
			is("what was not written stands", 9, 77, 640)
			w.Remove(e, c.owner, c.group)
			is("removed", 0, 0, 640)
			require.Empty(t, p.store.Members(77))
			p.store.SetOwner(p.id(e), 8)
			w.Add(e, s.local)
			is("what no component says is left alone", 8, 0, 640)
			w.Exchange(e, []ecs.ID{c.owner}, []ecs.ID{c.priority})
			is("exchanged", 0, 0, 256)

			get[components.Owner](s, e, c.owner).Client = 5
			is("again", 5, 0, 256)
			old := p.id(e)
			w.RemoveEntity(e)
			p.tick++
			p.capture.Run(p.tick)
			e = w.NewEntity(s.rep)
			is("another life", 0, 0, 256)
			require.Equal(t, old.Index, p.id(e).Index)
			require.Empty(t, s.kinds())
		})
	}
}

func TestPriorityIsClampedAndReported(t *testing.T) {
	p := newPair(t)
	s, c := p.server, controlsOf(p.server)
	e := s.world.NewEntity(s.rep, c.priority)
	for _, x := range []struct {
		weight float32
		want   uint16
		kind   netecs.ProblemKind
	}{
		{1, 256, 0}, {0, 1, 0}, {1e-9, 1, 0}, {1.0 / 256, 1, 0}, {255, 65280, 0}, {3.999, 1024, 0},
		{255.01, 65280, netecs.OutOfRange}, {-1, 1, netecs.OutOfRange}, {math.MaxFloat32, 65280, netecs.OutOfRange},
		{float32(math.NaN()), 256, netecs.NotFinite}, {float32(math.Inf(1)), 256, netecs.NotFinite},
	} {
		s.world.RemoveEntity(e)
		e = s.world.NewEntity(s.rep, c.priority) // a problem is reported once for each entity
		get[components.Priority](s, e, c.priority).Weight = x.weight
		p.step()
		require.Equal(t, x.want, p.store.Priority(p.id(e)), "%g", x.weight)
		if x.kind == 0 {
			require.Empty(t, s.problems)
			continue
		}
		require.Len(t, s.problems, 1)
		detail := ""
		if x.kind == netecs.OutOfRange {
			detail = "a priority is 0 to 255"
		}
		require.Equal(t, netecs.Problem{Kind: x.kind, Entity: p.id(e), Local: e, Component: "Priority", Field: "Weight", Detail: detail}, s.problems[0])
		get[components.Priority](s, e, c.priority).Weight = x.weight * 2
		p.step()
		require.Len(t, s.kinds(), 1, "once")
	}
}

func TestControlsAllocateNothing(t *testing.T) {
	p := newPair(t)
	s, c := p.server, controlsOf(p.server)
	var all []ecs.Entity
	for range 1000 {
		e := s.world.NewEntity(s.rep, s.pos, c.owner, c.group, c.priority, c.rate)
		get[components.Rate](s, e, c.rate).Every = 2
		all = append(all, e)
	}
	n, changed := 0, 0 // most are in one group, and have their turns in the same ticks
	run := func() {
		n++
		for i, e := range all {
			if i%10 == n%10 {
				s.position(e).X += 0.01
				get[components.Owner](s, e, c.owner).Client++
				get[components.Group](s, e, c.group).ID = uint32(n * 7 % 13)
				get[components.Priority](s, e, c.priority).Weight = float32(n % 9)
			}
		}
		p.tick++
		p.capture.Run(p.tick)
		changed += p.store.Changed()
		p.store.ClearHandovers() // The server takes them each tick.
	}
	for range 500 {
		run()
	}
	alloctest.Zero(t, 200, run)
	require.Positive(t, changed)
}
