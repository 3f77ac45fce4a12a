package netecs_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
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

func TestMarkedComponentTravelsWhenMarked(t *testing.T) {
	p := markedPair(t, rowPosition)
	s := p.server
	e := s.world.NewEntity(s.rep, s.pos, s.vel)
	s.position(e).X = 1
	netecs.Mark[position](p.capture, e) // nobody knows it yet, and it goes whole
	p.step()
	p.same()
	twin := p.twin(e)

	s.position(e).X = 2
	get[velocity](s, e, s.vel).X = 2
	p.step()
	require.InDelta(t, 1, p.client.position(twin).X, 0.002, "nobody marked it")
	require.Equal(t, float32(2), get[velocity](p.client, twin, p.client.vel).X, "what is not by marks goes as ever")

	netecs.Mark[position](p.capture, e)
	netecs.Mark[position](p.capture, e)
	netecs.Mark[localOnly](p.capture, e) // not of the schema
	s.position(e).X = 3                  // after the mark, before the capture
	p.step()
	require.Equal(t, 1, p.store.Changed())
	p.same()
	require.InDelta(t, 3, p.client.position(twin).X, 0.002)

	netecs.Mark[position](p.capture, e)
	s.world.RemoveEntity(e) // what is marked may be gone by then, and its index another's
	f := s.world.NewEntity(s.rep, s.pos)
	s.position(f).X = 7
	p.step()
	p.same()
	require.Empty(t, s.kinds())
}

// A value that a client writes is marked by the code that writes it into the world.
func TestWriteIsMarked(t *testing.T) {
	p := markedPair(t, rowVelocity)
	s := p.server
	e := s.world.NewEntity(s.rep, s.vel)
	p.step()
	id, _ := p.capture.ID(e)
	lanes := append([]uint32{}, p.store.Row(id, rowVelocity)...)
	lanes[0] = 0x40400000
	require.True(t, p.capture.Write(id, rowVelocity, lanes))
	p.step()
	p.same()
	require.Equal(t, float32(3), get[velocity](s, e, s.vel).X)
	require.Equal(t, 1, p.store.Changed())
}

func TestByMarksLooksAtNothingElse(t *testing.T) {
	p := markedPair(t)
	s := p.server
	e := s.world.NewEntity(s.rep, s.pos, s.vel)
	p.capture.ByMarks(true)
	p.step() // the first looks at the world
	p.same()

	f := s.world.NewEntity(s.rep, s.pos)
	s.position(e).X = 2
	get[velocity](s, e, s.vel).X = 2
	netecs.Mark[position](p.capture, e)
	p.step()
	_, known := p.capture.ID(f)
	require.False(t, known, "nobody said that it came")
	require.Equal(t, 1, p.store.Changed())

	p.capture.MarkWorld()
	p.step()
	p.same()
	require.Equal(t, 2, p.store.Changed(), "f's position and e's velocity") //nolint:testifylint // It counts rows.

	s.world.Remove(e, s.vel)
	netecs.Mark[velocity](p.capture, e)
	s.world.RemoveEntity(f)
	netecs.Mark[position](p.capture, f)
	p.step()
	require.Zero(t, p.store.Changed())
	p.capture.MarkWorld()
	p.step()
	p.same()

	s.world.Reset()
	p.step()
	require.Zero(t, p.store.Len(), "a reset is noticed all the same")
}

// The check changes nothing of what is sent: MarkWorld takes along what nobody marked, of that run and of runs before.
func TestCheckMarksChangesNothingOfMarkWorld(t *testing.T) {
	for _, check := range []bool{false, true} {
		p := markedPair(t)
		if check {
			p.capture.CheckMarks()
		}
		p.capture.ByMarks(true)
		s := p.server
		e := s.world.NewEntity(s.rep, s.pos, s.vel)
		p.step()

		s.position(e).X = 2
		p.capture.MarkWorld()
		p.step()
		p.same()
		require.Equal(t, 1, p.store.Changed(), "check: %v", check)
		require.Empty(t, s.problems, "check: %v", check)

		s.position(e).X = 3
		p.step()
		require.Zero(t, p.store.Changed(), "check: %v", check)
		p.step()
		require.Zero(t, p.store.Changed(), "check: %v", check)
		require.Equal(t, check, len(s.kinds()) == 1, "it is reported where it is checked, once")
		get[velocity](s, e, s.vel).X = 4
		p.capture.MarkWorld()
		p.step()
		p.same()
		require.Equal(t, 2, p.store.Changed(), "what was written before goes along, check: %v", check) //nolint:testifylint // It counts rows.
		require.InDelta(t, 3, p.client.position(p.twin(e)).X, 0.002, "check: %v", check)

		s.position(e).X = 5
		netecs.Mark[position](p.capture, e)
		p.step()
		p.same()
		p.step()
		require.Empty(t, s.kinds(), "check: %v", check)
	}
}

func TestCheckMarksFindsUnmarkedWrites(t *testing.T) {
	p := markedPair(t, rowPosition, rowSeeker)
	p.capture.CheckMarks()
	s := p.server
	e := s.world.NewEntity(s.rep, s.pos, s.vel, s.seeker)
	p.step()
	s.position(e).X = 1
	netecs.Mark[position](p.capture, e)
	get[velocity](s, e, s.vel).X = 2
	p.step()
	p.same()
	require.Empty(t, s.problems)

	s.position(e).X = 2
	get[seeker](s, e, s.seeker).Doubt = 2
	p.step()
	s.position(e).X = 3
	p.step()
	require.Equal(t, []netecs.ProblemKind{netecs.UnmarkedWrite, netecs.UnmarkedWrite}, s.kinds(), "once for each component")
	require.InDelta(t, 1, p.client.position(p.twin(e)).X, 0.002, "and it does not travel")

	p.capture.ByMarks(true)
	get[velocity](s, e, s.vel).X = 3
	p.step()
	require.Equal(t, "velocity", s.problems[0].Component)
	require.Len(t, s.kinds(), 1)
	f := s.world.NewEntity(s.rep, s.pos)
	p.step()
	require.Equal(t, f, s.problems[0].Local)
	require.Len(t, s.kinds(), 1)
	p.capture.MarkWorld()
	s.world.RemoveEntity(f)
	p.step()
	require.Empty(t, s.kinds())
}

// Where every write is marked, the same bytes go out as without marks, whatever game code does.
func TestMarksGiveTheSameBytes(t *testing.T) {
	all := []int{rowChildOf, rowFrozen, rowHealth, rowPosition, rowRotation, rowVelocity, rowSeeker}
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			twins := []*markedRun{newMarkedRun(markedPair(t)), newMarkedRun(markedPair(t, all...)), newMarkedRun(markedPair(t))}
			twins[2].p.capture.ByMarks(true)
			for range 80 {
				var sent [][]byte
				for _, m := range twins {
					m.turn(seed)
					sent = append(sent, m.send())
				}
				require.Equal(t, sent[0], sent[1], "components by marks")
				require.Equal(t, sent[0], sent[2], "all by marks")
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
		m.bodies = append(m.bodies, s.world.NewEntity(s.rep, s.pos, s.vel, s.seeker))
		m.p.capture.MarkWorld()
	}
	k := r.IntN(len(m.bodies))
	e, other := m.bodies[k], m.bodies[r.IntN(len(m.bodies))]
	switch r.IntN(12) {
	case 0:
		s.world.RemoveEntity(e)
		m.bodies = append(m.bodies[:k], m.bodies[k+1:]...)
		m.p.capture.MarkWorld()
	case 1:
		if s.world.Has(e, s.frozen) {
			s.world.Remove(e, s.frozen)
		} else {
			s.world.Add(e, s.frozen)
		}
		m.p.capture.MarkWorld()
	case 2:
		if e == other {
			break // Arche panics when an entity goes that is its own target
		}
		if !s.world.Has(e, s.child) {
			s.world.Add(e, s.child)
		}
		s.world.Relations().Set(e, s.child, other)
		m.p.capture.MarkWorld()
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
	for _, only := range []bool{false, true} {
		p := markedPair(t, rowPosition)
		p.capture.ByMarks(only)
		s := p.server
		var bodies []ecs.Entity
		for range 100 {
			bodies = append(bodies, s.world.NewEntity(s.rep, s.pos, s.vel))
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
}

// said is the last capture of an entity.
type said struct {
	at    position
	moves velocity
	hp    int16
	known bool // it has been captured whole
}

// Of what game code wrote, all over two archetypes and in any order, exactly what it marked is sent.
func TestMarkedRowsAreSentAndNoOthers(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			var marked []int
			if seed%2 == 1 {
				marked = []int{rowPosition, rowHealth} // by themselves, without a shadow
			}
			p := markedPair(t, marked...)
			p.capture.ByMarks(true)
			s, model := p.server, map[ecs.Entity]*said{}
			var bodies []ecs.Entity
			for range 40 {
				playMarked(p, r, &bodies, model)
				for k, e := range bodies {
					want, twin := model[e], p.twin(e)
					require.InDelta(t, want.at.X, p.client.position(twin).X, 0.002, "body %d", k)
					if s.world.Has(e, s.vel) {
						require.Equal(t, want.moves, *get[velocity](p.client, twin, p.client.vel), "body %d", k)
						require.Equal(t, want.hp, get[health](p.client, twin, p.client.health).HP, "body %d", k)
					}
				}
				p.same()
			}
			require.Empty(t, s.kinds())
		})
	}
}

// playMarked is a tick of a game that writes more than it marks.
func playMarked(p *pair, r *rand.Rand, bodies *[]ecs.Entity, model map[ecs.Entity]*said) {
	s := p.server
	whole := len(*bodies) == 0 || r.IntN(8) == 0
	if whole {
		for range 1 + r.IntN(150-min(len(*bodies)/2, 149)) {
			e := s.world.NewEntity(s.rep, s.pos)
			if r.IntN(2) == 0 {
				s.world.Add(e, s.vel, s.health)
			}
			*bodies = append(*bodies, e)
			model[e] = &said{}
		}
		for len(*bodies) > 200 && p.marked().IsZero() { // or another one comes to lie in its place, and is captured whole
			k := r.IntN(len(*bodies))
			s.world.RemoveEntity((*bodies)[k])
			(*bodies)[k] = (*bodies)[len(*bodies)-1]
			*bodies = (*bodies)[:len(*bodies)-1]
		}
		p.capture.MarkWorld()
	}
	both := snapshot.Mask{}.With(rowVelocity).With(rowHealth)
	for _, k := range r.Perm(len(*bodies))[:r.IntN(len(*bodies)+1)] {
		e, moving := (*bodies)[k], false
		s.position(e).X = float32(r.IntN(5)) // it comes back to what it was
		if moving = s.world.Has(e, s.vel); moving {
			get[velocity](s, e, s.vel).Y = r.Float32()
			get[health](s, e, s.health).HP = int16(r.IntN(1000))
		}
		written := [][]generic.Comp{nil, generic.T2[velocity, health](), generic.T3[health, position, velocity](), generic.T1[health](), generic.T1[position]()}[r.IntN(5)]
		netecs.NewMarker(p.schema, written...).Mark(p.capture, e)
		rows := snapshot.Mask{}
		for _, t := range written {
			rows = rows.With(p.schema.RowOf(t))
		}
		if rows.Has(rowPosition) {
			netecs.Mark[position](p.capture, e) // twice is once
		}
		model[e].takes(s, e, rows)
	}
	if whole { // who came is captured whole, and what the scan compares too
		for _, e := range *bodies {
			rows := both.With(rowPosition)
			if model[e].known {
				rows = rows.Minus(p.marked())
			}
			model[e].takes(s, e, rows)
			model[e].known = true
		}
	}
	p.step()
}

// takes is the result of a capture of some rows of an entity.
func (d *said) takes(s *side, e ecs.Entity, rows snapshot.Mask) {
	if rows.Has(rowPosition) {
		d.at = *s.position(e)
	}
	if rows.Has(rowVelocity) && s.world.Has(e, s.vel) {
		d.moves = *get[velocity](s, e, s.vel)
	}
	if rows.Has(rowHealth) && s.world.Has(e, s.vel) {
		d.hp = get[health](s, e, s.health).HP
	}
}

// marked are the rows that are captured by marks alone.
func (p *pair) marked() (rows snapshot.Mask) {
	for row := range p.schema.Rows() {
		if p.schema.Options(row).Marked {
			rows = rows.With(row)
		}
	}
	return rows
}

// A mark captures a value, and then the row gets the value of the last scan again. The next scan finds that change: of rows
// that are captured with others, of rows of a scattered table, and of late rows.
func TestScanAfterMarks(t *testing.T) {
	for name, on := range map[string]func(s *side, e, other ecs.Entity){
		"together": func(*side, ecs.Entity, ecs.Entity) {},
		"by itself": func(s *side, e, other ecs.Entity) {
			s.world.Add(e, s.child)
			s.world.Relations().Set(e, s.child, other)
		},
	} {
		for _, every := range []int{0, 4} {
			t.Run(fmt.Sprint(name, ", every ", every), func(t *testing.T) {
				schema := newSchema(t)
				schema.SetOptions(rowVelocity, snapshot.RowOptions{Every: every})
				p := newPairIn(t, schema, newSide(16, 2))
				p.capture.ByMarks(true)
				s := p.server
				e, other := s.world.NewEntity(s.rep, s.vel), s.world.NewEntity(s.rep)
				on(s, e, other)
				for _, v := range []float32{0, 7, 0} { // the scan's, that of a mark, and the scan's again
					get[velocity](s, e, s.vel).Y = v
					if v == 0 {
						p.capture.MarkWorld()
					} else {
						netecs.Mark[velocity](p.capture, e)
					}
					for range 5 {
						p.step()
						if every > 0 && v == 0 {
							p.capture.MarkWorld() // what waits is looked for
						}
					}
					require.Equal(t, v, get[velocity](p.client, p.twin(e), p.client.vel).Y)
				}
				p.same()
				require.Empty(t, s.kinds())
			})
		}
	}
}

// Where game code did not say that the world is another, whoever is marked is found where it is by now.
func TestMarkedIsFoundWhereItIs(t *testing.T) {
	for _, change := range []struct {
		name string
		do   func(s *side, bodies []ecs.Entity)
	}{
		{"another took its place", func(s *side, bodies []ecs.Entity) { s.world.RemoveEntity(bodies[0]) }},
		{"it went elsewhere", func(s *side, bodies []ecs.Entity) { s.world.Add(bodies[3], s.local) }},
		{"it went elsewhere and another came", func(s *side, bodies []ecs.Entity) {
			s.world.Add(bodies[1], s.local)
			s.world.NewEntity(s.rep, s.pos, s.vel)
		}},
		{"all went elsewhere", func(s *side, bodies []ecs.Entity) {
			for _, e := range bodies {
				s.world.Add(e, s.local)
			}
		}},
	} {
		t.Run(change.name, func(t *testing.T) {
			p := markedPair(t)
			p.capture.ByMarks(true)
			s := p.server
			var bodies []ecs.Entity
			for range 5 {
				bodies = append(bodies, s.world.NewEntity(s.rep, s.pos, s.vel))
			}
			p.step()
			change.do(s, bodies)
			marked := 0
			for k, e := range bodies {
				if s.world.Alive(e) {
					s.position(e).X, marked = float32(10+k), marked+1
					netecs.Mark[position](p.capture, e)
				}
			}
			p.step()
			require.Equal(t, marked, p.store.Changed())
			for k, e := range bodies {
				if s.world.Alive(e) {
					require.InDelta(t, 10+k, p.client.position(p.twin(e)).X, 0.002, "body %d", k)
				}
			}
			p.capture.MarkWorld()
			p.step()
			p.same()
			require.Empty(t, s.kinds())
		})
	}
}

// The world's first rate, marked in the tick in which what has to wait for it is, is obeyed in that tick, as where it is compared.
func TestTheFirstRateIsObeyedAtOnce(t *testing.T) {
	const ticks = 16
	for _, marks := range []bool{false, true} {
		waits := 0
		for n := range ticks {
			p := newPairOf(t, schemaOf(t, components.Rate{}, position{}))
			p.capture.ByMarks(marks)
			s := p.server
			rate := ecs.ComponentID[components.Rate](s.world)
			e := s.world.NewEntity(s.rep, s.pos, rate)
			for range 1 + n {
				p.step()
			}
			get[components.Rate](s, e, rate).Every, s.position(e).X = ticks, 5
			netecs.Mark[position](p.capture, e)
			netecs.Mark[components.Rate](p.capture, e)
			p.step()
			if p.client.position(p.twin(e)).X < 4 {
				waits++
			}
		}
		require.Equal(t, ticks-1, waits, "by marks: %v", marks)
	}
}

// A value that cannot be sent is reported for its entity alone. The other fields of the entity are sent.
func TestFaultsOfMarkedRows(t *testing.T) {
	p := markedPair(t)
	p.capture.ByMarks(true)
	s := p.server
	var bodies []ecs.Entity
	for range 9 {
		bodies = append(bodies, s.world.NewEntity(s.rep, s.pos))
	}
	p.step()
	for k, e := range bodies {
		*s.position(e) = position{X: float32(k), Y: float32(1 + k)}
		netecs.Mark[position](p.capture, e)
	}
	s.position(bodies[4]).X = 1e9
	p.step()
	require.Len(t, s.problems, 1)
	require.Equal(t, bodies[4], s.problems[0].Local)
	require.Equal(t, []netecs.ProblemKind{netecs.OutOfRange}, s.kinds())
	require.InDelta(t, 5, p.client.position(p.twin(bodies[4])).Y, 0.002)
	require.InDelta(t, 8, p.client.position(p.twin(bodies[8])).X, 0.002)
}

// A type has the row that it was registered with, or none.
func TestRowOf(t *testing.T) {
	schema := newSchema(t)
	require.Equal(t, rowPosition, schema.RowOf(reflect.TypeFor[position]()))
	require.Equal(t, -1, schema.RowOf(reflect.TypeFor[localOnly]()))
}
