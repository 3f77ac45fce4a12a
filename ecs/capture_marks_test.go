package netecs_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
)

// markedPair is a pair of which some components are captured by marks alone.
func markedPair(t testing.TB, rows ...int) *pair {
	schema := newSchema(t)
	for _, row := range rows {
		schema.SetOptions(row, snapshot.RowOptions{Marked: true, Every: schema.Options(row).Every})
	}
	return newPairIn(t, schema, newSide(16, 2))
}

// A value that a client writes is marked by the code that writes it into the world.
func TestWriteIsMarked(t *testing.T) {
	p := markedPair(t, rowVelocity)
	s := p.server
	e := ecs.Spawn(s.world, nil, s.rep, s.vel)
	p.step()
	id, _ := p.capture.ID(e)
	lanes := append([]uint32{}, p.store.Row(id, rowVelocity)...)
	lanes[0] = 0x40400000
	require.True(t, p.capture.Write(id, rowVelocity, lanes))
	p.follow()
	require.Equal(t, float32(3), get[velocity](s, e, s.vel).X)
	require.Equal(t, 1, p.store.Changed())
}

// Where every write is marked, the same bytes go out as without marks, whatever game code does.
func TestMarksGiveTheSameBytes(t *testing.T) {
	all := []int{rowChildOf, rowFrozen, rowHealth, rowPosition, rowRotation, rowVelocity, rowSeeker}
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			twins := []*markedRun{newMarkedRun(markedPair(t)), newMarkedRun(markedPair(t, all...))}
			for range 80 {
				var sent [][]byte
				for _, m := range twins {
					m.turn(seed)
					sent = append(sent, m.send())
				}
				require.Equal(t, sent[0], sent[1])
			}
			for _, m := range twins {
				m.p.apply.Run()
				m.p.same()
			}
		})
	}
}

// markedRun is one of several that do the same.
type markedRun struct {
	p      *pair
	bodies []ecs.Entity
	ticks  uint64
}

func newMarkedRun(p *pair) *markedRun {
	p.schema.SetOptions(rowVelocity, snapshot.RowOptions{Marked: p.schema.Options(rowVelocity).Marked, Every: 3})
	// The pace is read when a capture is made.
	p.capture = netecs.NewCapture(p.server.world, p.store, p.schema, serverTag+1, p.server.report)
	return &markedRun{p: p}
}

func (m *markedRun) turn(seed uint64) {
	m.ticks++
	r, s := rand.New(rand.NewPCG(seed, m.ticks)), m.p.server
	if len(m.bodies) < 3 || r.IntN(4) == 0 {
		m.bodies = append(m.bodies, ecs.Spawn(s.world, nil, s.rep, s.pos, s.vel, s.seeker))
	}
	k := r.IntN(len(m.bodies))
	e, other := m.bodies[k], m.bodies[r.IntN(len(m.bodies))]
	switch r.IntN(12) {
	case 0:
		s.world.RemoveEntity(e)
		m.bodies = append(m.bodies[:k], m.bodies[k+1:]...)
	case 1:
		if ecs.Has(s.world, e, s.frozen) {
			ecs.Exchange(s.world, e, nil, []ecs.ID{s.frozen}, nil)
		} else {
			ecs.Exchange(s.world, e, []ecs.ID{s.frozen}, nil, nil)
		}
	case 2:
		if e == other {
			break // Arche panics when an entity goes that is its own target
		}
		if !ecs.Has(s.world, e, s.child) {
			ecs.Exchange(s.world, e, []ecs.ID{s.child}, nil, nil)
		}
		ecs.SetTarget(s.world, e, s.child, other)
		netecs.Mark[childOf](m.p.capture, e)
	}
	for _, e := range m.bodies {
		if !s.world.Alive(e) || r.IntN(3) > 0 {
			continue
		}
		*s.position(e) = position{X: float32(r.IntN(100)), Y: s.position(e).Y}
		netecs.Mark[position](m.p.capture, e)
		if r.IntN(2) == 0 {
			get[velocity](s, e, s.vel).Y = r.Float32()
			netecs.Mark[velocity](m.p.capture, e)
		}
		if r.IntN(4) == 0 {
			get[seeker](s, e, s.seeker).Target = other
			netecs.Mark[seeker](m.p.capture, e)
		}
	}
}

// send captures one tick and gives the bytes that tell the client.
func (m *markedRun) send() (sent []byte) {
	p := m.p
	p.tick++
	p.capture.Run(p.tick)
	p.view.Observe()
	for p.view.Pending() {
		p.seq++
		n := p.view.Write(p.buf, p.seq)
		if n == 0 {
			break
		}
		sent = append(sent, p.buf[:n]...)
		require.NoError(p.t, p.replica.Read(p.buf[:n]))
		p.view.Acked(p.seq)
	}
	return sent
}

func TestMarkingAllocatesNothing(t *testing.T) {
	p := markedPair(t, rowPosition)
	s := p.server
	var bodies []ecs.Entity
	for range 100 {
		bodies = append(bodies, ecs.Spawn(s.world, nil, s.rep, s.pos, s.vel))
	}
	turn := 0
	run := func() {
		turn++
		e := bodies[turn%100]
		s.position(e).X = float32(turn % 77)
		netecs.Mark[position](p.capture, e)
		p.tick++
		p.capture.Run(p.tick)
	}
	for range 300 {
		run()
	}
	alloctest.Zero(t, 200, run)
	require.Equal(t, 1, p.store.Changed())
}

// Of the marked components that game code wrote, exactly those that it marked are sent, in two archetypes and in any order.
func TestMarkedRowsAreSentAndNoOthers(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			p := markedPair(t, rowPosition)
			s, sent := p.server, map[ecs.Entity]float32{} // X of each entity as of its last capture
			var bodies []ecs.Entity
			for range 40 {
				if len(bodies) < 3 || r.IntN(8) == 0 {
					for range 1 + r.IntN(20) {
						e := ecs.Spawn(s.world, nil, s.rep, s.pos)
						if r.IntN(2) == 0 {
							ecs.Exchange(s.world, e, []ecs.ID{s.vel}, nil, nil)
						}
						bodies, sent[e] = append(bodies, e), 0
					}
				}
				for _, k := range r.Perm(len(bodies))[:r.IntN(len(bodies)+1)] {
					e := bodies[k]
					s.position(e).X = float32(r.IntN(5)) // often the value of an earlier tick
					if r.IntN(2) == 0 {
						netecs.Mark[position](p.capture, e)
						sent[e] = s.position(e).X
					}
				}
				for _, e := range bodies {
					if _, known := p.capture.ID(e); !known {
						sent[e] = s.position(e).X // a new entity is captured whole
					}
				}
				p.step()
				for k, e := range bodies {
					require.InDelta(t, sent[e], p.client.position(p.atClient(e)).X, 0.002, "body %d", k)
				}
			}
			require.Empty(t, s.kinds())
		})
	}
}

// A marked entity that game code moved in the same tick is captured where it is by then.
func TestMarkedIsFoundWhereItIs(t *testing.T) {
	for name, change := range map[string]func(s *side, bodies []ecs.Entity){
		"another took its place": func(s *side, bodies []ecs.Entity) { s.world.RemoveEntity(bodies[0]) },
		"it went elsewhere":      func(s *side, bodies []ecs.Entity) { ecs.Exchange(s.world, bodies[3], []ecs.ID{s.local}, nil, nil) },
		"it went elsewhere and another came": func(s *side, bodies []ecs.Entity) {
			ecs.Exchange(s.world, bodies[1], []ecs.ID{s.local}, nil, nil)
			ecs.Spawn(s.world, nil, s.rep, s.pos, s.vel)
		},
		"all went elsewhere": func(s *side, bodies []ecs.Entity) {
			for _, e := range bodies {
				ecs.Exchange(s.world, e, []ecs.ID{s.local}, nil, nil)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := markedPair(t, rowPosition)
			s := p.server
			var bodies []ecs.Entity
			for range 5 {
				bodies = append(bodies, ecs.Spawn(s.world, nil, s.rep, s.pos, s.vel))
			}
			p.step()
			change(s, bodies)
			for k, e := range bodies {
				if s.world.Alive(e) {
					s.position(e).X = float32(10 + k)
					netecs.Mark[position](p.capture, e)
				}
			}
			p.follow()
			for k, e := range bodies {
				if s.world.Alive(e) {
					require.InDelta(t, 10+k, p.client.position(p.atClient(e)).X, 0.002, "body %d", k)
				}
			}
			require.Empty(t, s.kinds())
		})
	}
}

// A marked value that cannot be sent is reported. The other fields of the component are sent.
func TestFaultsOfMarkedRows(t *testing.T) {
	p := markedPair(t, rowPosition)
	s := p.server
	e := ecs.Spawn(s.world, nil, s.rep, s.pos)
	p.step()
	*s.position(e) = position{X: 1e9, Y: 5}
	netecs.Mark[position](p.capture, e)
	p.step()
	require.Len(t, s.problems, 1)
	require.Equal(t, e, s.problems[0].Local)
	require.Equal(t, []netecs.ProblemKind{netecs.OutOfRange}, s.kinds())
	require.InDelta(t, 5, p.client.position(p.atClient(e)).Y, 0.002)
}

// A type has the row that it was registered with, or none.
func TestRowOf(t *testing.T) {
	schema := newSchema(t)
	require.Equal(t, rowPosition, schema.RowOf(reflect.TypeFor[position]()))
	require.Equal(t, -1, schema.RowOf(reflect.TypeFor[localOnly]()))
}
