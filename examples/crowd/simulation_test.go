package main

import (
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
)

// simulated is a world after so many ticks of the simulation.
func simulated(hz, entities, ticks int, seed uint64, churn ...int) (*ecs.World, *Motion) {
	w := ecs.NewWorld()
	m := &Motion{Due: func() bool { return true }, Systems: newSimulation(hz, entities, append(churn, 4)[0], seed)}
	m.Initialize(&w)
	for range ticks {
		m.Update(&w)
	}
	return &w, m
}

// bodies lists the state of all bodies in the order of the world.
func bodies(w *ecs.World) (all []any) {
	query := generic.NewFilter4[Position, Rotation, Velocity, Spin]().Query(w)
	for query.Next() {
		pos, rot, vel, spin := query.Get()
		all = append(all, query.Entity(), *pos, *rot, *vel, *spin)
	}
	return all
}

func TestSimulationIsDeterministic(t *testing.T) {
	first, _ := simulated(30, 200, 300, 7)
	second, _ := simulated(30, 200, 300, 7)
	other, _ := simulated(30, 200, 300, 8)
	require.Equal(t, bodies(first), bodies(second))
	require.NotEqual(t, bodies(first), bodies(other))
}

func TestSimulationStaysInBoundsAndVaries(t *testing.T) {
	const entities = 300
	w, m := simulated(30, entities, 0, 3)
	seen, everRested, everMoved := map[ecs.Entity]bool{}, 0, 0
	all := generic.NewFilter4[Position, Rotation, Velocity, components.Replicated]()
	resting := generic.NewFilter1[Resting]()
	for range 20 * 30 {
		m.Update(w)
		count := 0
		query := all.Query(w)
		for query.Next() {
			pos, rot, vel, _ := query.Get()
			require.True(t, max(pos.X, -pos.X, pos.Y, -pos.Y) <= halfWidth, "%+v", pos)
			require.True(t, pos.Z >= 0 && pos.Z <= ceiling, "%+v", pos)
			require.True(t, max(vel.X, -vel.X, vel.Y, -vel.Y, vel.Z, -vel.Z) < 31.9375, "%+v", vel)
			require.InDelta(t, 1, rot.Q.X*rot.Q.X+rot.Q.Y*rot.Q.Y+rot.Q.Z*rot.Q.Z+rot.Q.W*rot.Q.W, 1e-5)
			seen[query.Entity()] = true
			count++
		}
		require.True(t, count == entities || count == entities-1)
		query1 := resting.Query(w)
		everRested += query1.Count()
		everMoved += count - query1.Count()
		query1.Close()
	}
	require.Greater(t, len(seen), entities+20, "bodies come and go")
	require.Greater(t, everRested, 20*30*entities/20, "bodies rest at times")
	require.Greater(t, everMoved, 20*30*entities/3, "bodies move")
}

// Any churn is met to the change, in any second, and leaves as many bodies as there were.
func TestPopulationChurns(t *testing.T) {
	for _, churn := range []int{0, 1, 7, 30, 31, 500} {
		p := &Population{Entities: 40, Churn: churn, Hz: 30, Seed: 1}
		w := ecs.NewWorld()
		p.Initialize(&w)
		for second := 1; second <= 3; second++ {
			for range 30 {
				p.Update(&w)
				require.Contains(t, []int{39, 40}, len(p.bodies))
			}
			require.EqualValues(t, churn*second, p.count)
		}
	}
}

func TestSimulationAllocatesNothing(t *testing.T) {
	w, m := simulated(30, 1000, 600, 1)
	alloctest.Zero(t, 300, func() { m.Update(w) })
}

func TestMotionStops(t *testing.T) {
	w, m := simulated(30, 100, 50, 1)
	m.Stop()
	before := bodies(w)
	m.Update(w)
	require.Equal(t, before, bodies(w))
}

func TestMotionWaitsForItsTick(t *testing.T) {
	w, m := simulated(30, 100, 50, 1)
	m.Due = func() bool { return false }
	before := bodies(w)
	m.Update(w)
	require.Equal(t, before, bodies(w))
}
