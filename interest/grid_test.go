package interest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

func TestGridHysteresis(t *testing.T) {
	g := NewGrid(GridConfig{Position: positions(), Enter: 10, Leave: 12})
	w := newWorld(t, g, Despawn)
	w.join(1)
	var id wire.NetworkID
	w.step(func() { id = w.spawnAt(0, 0, 0) })
	w.requireSees(1)
	g.Look(1, 0, 0, 0)
	w.step(nil)
	w.requireSees(1, id)
	for _, at := range []struct {
		x       float32
		visible bool
	}{{12, true}, {12.01, false}, {12, false}, {10.5, false}, {10, true}, {11.9, true}, {-12, true}, {-13, false}, {-11, false}, {0, true}} {
		w.step(func() { w.move(id, at.x, 0, 0) })
		require.Equal(t, at.visible, w.views[1].Visible(id), "%+v", at)
	}
	g.Look(1, 11, 0, 0)
	w.step(nil)
	w.requireSees(1, id)
	g.Look(1, float32(math.NaN()), 0, 0)
	w.step(nil)
	w.requireSees(1)
}

// On any path, what is visible is what distances between whole numbers say, one entity and one client at a time.
func TestGridEqualsItsModel(t *testing.T) {
	type pair struct {
		client wire.ClientID
		id     wire.NetworkID
	}
	rapid.Check(t, func(rt *rapid.T) {
		config := GridConfig{Position: positions(), Unplaced: rapid.Bool().Draw(rt, "unplaced")}
		enter := rapid.IntRange(1, 60).Draw(rt, "enter")
		leave := enter + rapid.IntRange(0, 20).Draw(rt, "more")
		config.Enter, config.Leave = float32(enter), float32(leave)
		if rapid.Bool().Draw(rt, "weights") {
			config.Near, config.Far = 512, 64
		}
		g := NewGrid(config)
		w := newWorld(t, g, Despawn)
		width := rapid.SampledFrom([]int{20, 100, 400, 100_000}).Draw(rt, "width")
		flat := rapid.Bool().Draw(rt, "flat")
		place := func() [3]int {
			axis := rapid.IntRange(-width, width)
			at := [3]int{axis.Draw(rt, "x"), axis.Draw(rt, "y"), 0}
			if !flat {
				at[2] = axis.Draw(rt, "z")
			}
			return at
		}
		entities, eyes, follows, visible := map[wire.NetworkID][3]int{}, map[wire.ClientID][3]int{}, map[wire.ClientID]wire.NetworkID{}, map[pair]bool{}
		for range rapid.IntRange(1, 20).Draw(rt, "ticks") {
			w.step(func() {
				w.churn(rt)
				for range rapid.IntRange(0, 6).Draw(rt, "moves") {
					client := wire.ClientID(rapid.IntRange(1, 3).Draw(rt, "client"))
					if what := rapid.IntRange(0, 5).Draw(rt, "what"); what == 0 || len(w.living) == 0 {
						at := place()
						g.Look(client, float32(at[0]), float32(at[1]), float32(at[2]))
						eyes[client] = at
						delete(follows, client)
					} else if id := rapid.SampledFrom(w.living).Draw(rt, "id"); what == 1 {
						g.Follow(client, id)
						follows[client] = id
					} else if what == 2 {
						w.store.Remove(id, rowPosition)
						delete(entities, id)
					} else {
						at := place()
						w.move(id, float32(at[0]), float32(at[1]), float32(at[2]))
						entities[id] = at
					}
				}
				if len(w.clients) < 3 {
					w.join(wire.ClientID(len(w.clients) + 1))
				}
			})
			for _, client := range w.clients {
				if at, placed := entities[follows[client]]; placed && w.store.Alive(follows[client]) {
					eyes[client] = at
				}
				eye, looks := eyes[client]
				w.requireModel(client, func(id wire.NetworkID) bool {
					p, at, placed := pair{client, id}, [3]int{}, false
					if at, placed = entities[id]; !placed {
						visible[p] = false // when it gets a position, Enter counts
						return config.Unplaced
					}
					d := int64(0)
					for axis := range 3 {
						d += int64(at[axis]-eye[axis]) * int64(at[axis]-eye[axis])
					}
					visible[p] = looks && (d <= int64(enter*enter) || visible[p] && d <= int64(leave*leave))
					return visible[p]
				})
			}
		}
	})
}

// Weights follow the distance in eight rings. They are measured when an entity comes into sight, and every eight ticks.
func TestGridWeights(t *testing.T) {
	g := NewGrid(GridConfig{Position: positions(), Enter: 80, Leave: 80, Near: 512, Far: 64})
	explicit := NewExplicit()
	w := newWorld(t, Any(g, explicit), Despawn)
	v := w.join(1)
	weight := func(id wire.NetworkID) float64 { of, _ := v.Ranking(id); return of * snapshot.NormalWeight }
	g.Look(1, 0, 0, 0)
	var id wire.NetworkID
	w.step(func() { id = w.spawnAt(0, 0, 0) })
	require.EqualValues(t, 512, weight(id))
	for i, want := range []float64{448, 384, 320, 256, 192, 128, 64} {
		w.step(func() { w.move(id, float32(15+10*i), 0, 0) })
		for range measureEvery {
			w.step(nil)
		}
		require.Equal(t, want, weight(id), "ring %d", i+1)
	}
	w.step(func() { w.move(id, 90, 0, 0) })
	w.requireSees(1)
	w.step(func() { w.move(id, 79, 0, 0) })
	w.requireSees(1, id)
	require.EqualValues(t, 64, weight(id), "set anew with the life")
	explicit.Show(1, id)
	w.step(func() { w.move(id, 1000, 0, 0) })
	w.requireSees(1, id)
	require.EqualValues(t, snapshot.NormalWeight, weight(id), "the grid does not see it")
}

func TestGridConfigsThatMakeNoSense(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []GridConfig{
		{Enter: 1}, {Position: positions(), Near: 1}, {Position: positions(), Leave: 1}, {Position: positions(), Enter: -1}, {Position: positions(), Enter: 2, Leave: 1},
		{Position: positions(), Enter: inf}, {Position: positions(), Enter: nan}, {Position: positions(), Enter: 1, Leave: nan},
		{Position: positions(), Enter: 1, Leave: inf},
	} {
		require.Panics(t, func() { NewGrid(c) }, "%+v", c)
	}
}

func TestScales(t *testing.T) {
	for _, leave := range []float32{math.SmallestNonzeroFloat32, 1e-20, 0.1, 1, 1.5, 100, 12345, 1e30, math.MaxFloat32} {
		s := scaleFor(leave)
		n := s.length(leave)
		require.True(t, n >= leaveSteps && n < 2*leaveSteps, "%v: %d", leave, n)
		p, ok := s.point(leave, -leave, float32(math.Inf(1)))
		require.True(t, ok)
		require.EqualValues(t, n, p.x)
		require.True(t, int64(p.y) == -n || int64(p.y) == -n-1, "it is rounded down")
		require.EqualValues(t, reach, p.z)
	}
	_, ok := scaleFor(1).point(0, float32(math.NaN()), 0)
	require.False(t, ok)
}

func TestCellBoundsHoldEveryPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		axis := rapid.Int32Range(-reach, reach)
		p, eye := point{axis.Draw(t, "x"), axis.Draw(t, "y"), axis.Draw(t, "z")}, point{axis.Draw(t, "ex"), axis.Draw(t, "ey"), axis.Draw(t, "ez")}
		if rapid.Bool().Draw(t, "close") {
			small := rapid.Int32Range(-9000, 9000)
			eye = point{p.x/2 + small.Draw(t, "cx"), p.y/2 + small.Draw(t, "cy"), p.z/2 + small.Draw(t, "cz")}
			p = point{p.x / 2, p.y / 2, p.z / 2}
		}
		least, most := cellOf(p).bounds(eye)
		d := squared(p, eye)
		require.True(t, least <= d && d <= most, "%d..%d, %d", least, most, d)
		require.GreaterOrEqual(t, least, int64(0))
	})
}

// A position may come from anywhere in the rows.
func TestPositionOf(t *testing.T) {
	w := newWorld(t, All(), Despawn)
	var id wire.NetworkID
	w.step(func() { id = w.spawnAt(1, 2, 3); w.spawn() })
	of := positions()
	x, y, z, ok := of(w.store, id)
	require.Equal(t, []any{float32(1), float32(2), float32(3), true}, []any{x, y, z, ok})
	_, _, _, ok = of(w.store, w.living[1])
	require.False(t, ok)
	_, _, _, ok = of(w.store, wire.NetworkID{Index: 1000, Generation: 1})
	require.False(t, ok)
	require.Panics(t, func() { PositionOf(testSchema(), func(*int) (x, y, z float32) { return }) })
	type tag struct{}
	require.Panics(t, func() { MaskOf[tag](w.store.Schema()) })
}

// Between two prepares an index may come to be another's: who is there now was never seen, and is where it is.
func TestGridThatMissesCaptures(t *testing.T) {
	g := NewGrid(GridConfig{Position: positions(), Enter: 10, Leave: 20})
	w := newWorld(t, g, Despawn)
	w.join(1)
	g.Look(1, 0, 0, 0)
	var near, gone, far wire.NetworkID
	w.step(func() { near, gone, far = w.spawnAt(5, 0, 0), w.spawnAt(5, 0, 0), w.spawnAt(50, 0, 0) })
	w.requireSees(1, near, gone)
	w.capture(func() { w.kill(near); w.kill(gone); w.kill(far) })
	w.capture(func() { near, gone, far = w.spawnAt(15, 0, 0), w.spawn(), w.spawnAt(5, 0, 0) })
	w.step(nil)
	require.Equal(t, []uint32{0, 1, 2}, []uint32{near.Index, gone.Index, far.Index})
	w.requireSees(1, far)
}

// Nobody moved, and still it is another that is to be shown.
func TestGridOfAnotherInTheSamePlace(t *testing.T) {
	g := NewGrid(GridConfig{Position: positions(), Enter: 10})
	w := newWorld(t, g, Despawn)
	w.join(1)
	g.Look(1, 0, 0, 0)
	w.step(func() { w.spawnAt(5, 0, 0) })
	w.capture(func() { w.kill(w.living[0]) })
	w.step(func() { w.spawnAt(5, 0, 0) })
	require.EqualValues(t, 2, w.living[0].Generation)
	w.requireSees(1, w.living[0])
}
