package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
)

// A player's input acts in its tick, with an input delay as many ticks later. With the inputs of others a client predicts a world that
// all of them push much better. Once the network is healed all worlds are equal.
func TestAWorldThatSeveralPlayersPushIsPredicted(t *testing.T) {
	var out, errs bytes.Buffer
	status := run(strings.Fields("-json -rtt 150ms -loss 5 -delay 0,3 -seconds 3 -players 2"), &out, &errs)
	require.Equal(t, statusFine, status, "%s%s", out.String(), errs.String())
	var rows []row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.Len(t, rows, 4)
	for i := 0; i < len(rows); i += 2 {
		relayed, unknown := rows[i], rows[i+1]
		require.True(t, relayed.Relayed)
		require.False(t, unknown.Relayed)
		require.True(t, relayed.Converged && unknown.Converged)
		require.Zero(t, relayed.Doubled+relayed.Lost+unknown.Doubled+unknown.Lost)
		require.Less(t, relayed.Mispredictions, .7*unknown.Mispredictions)
		require.Less(t, relayed.Others.Mean, .9*unknown.Others.Mean)
	}
	require.Less(t, rows[2].Replayed, rows[0].Replayed, "an input delay makes replays shorter")
}

// The same components give the same step, whatever was simulated before and in which order the world has them.
func TestAStepDependsOnComponentsAlone(t *testing.T) {
	world := func(reverse bool) (places []Place, motions []Motion) {
		w := ecs.NewWorld()
		m := generic.NewMap3[components.Replicated, Place, Motion](&w)
		entities := make([]ecs.Entity, 4)
		for i := range entities {
			if reverse {
				i = len(entities) - 1 - i
			}
			r := &components.Replicated{}
			r.ID.Index, r.ID.Generation = uint32(i), 1
			entities[i] = m.NewWith(r, &Place{X: float32(i) * 1.5, Y: float32(i%2) * .7}, &Motion{X: 3 - float32(i)*2, Spin: float32(i)})
		}
		var list []*body
		space := newField()
		for range 30 {
			list = list[:0]
			if reverse { // A space that was used, without its bodies, is as good as a new one.
				space = newField()
			}
			for _, e := range entities {
				r, place, motion := m.Get(e)
				list = append(list, &body{id: r.ID, place: place, motion: motion})
			}
			if reverse {
				list[0], list[3] = list[3], list[0]
			}
			for _, b := range list {
				b.build(b.id.Index > 0)
			}
			simulate(space, list, 1./30)
		}
		for _, e := range entities {
			_, place, motion := m.Get(e)
			places, motions = append(places, *place), append(motions, *motion)
		}
		return places, motions
	}
	places, motions := world(false)
	require.NotEqual(t, Place{}, places[0], "they push each other")
	for _, reverse := range []bool{false, true} {
		p, m := world(reverse)
		require.Equal(t, places, p)
		require.Equal(t, motions, m)
	}
}

func TestUsage(t *testing.T) {
	var out bytes.Buffer
	for _, args := range []string{"-players 0", "-delay 9", "-loss 101", "-rtt 2s", "-none"} {
		require.Equal(t, statusUsage, run(strings.Fields(args), &out, &out), args)
	}
	require.Equal(t, statusFine, run([]string{"-h"}, &out, &out))
}
