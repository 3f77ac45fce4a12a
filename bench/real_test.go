package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// Each line has its anchor of the same run, something is lost, and the decoders hold what the store has.
func TestRealIsVerified(t *testing.T) {
	for _, exact := range []string{"-exact=false", "-exact=true"} {
		all := results(t, "-run", "real", "-e", "70", "-c", "9", "-frac", "0.5", "-loss", "0.1", "-jitter", "2", "-t", "1ms", exact)
		require.GreaterOrEqual(t, len(all), 3)
		for _, line := range all[:3] {
			require.InDelta(t, line.Value / *line.Anchor, *line.Ratio, 1e-9)
			require.Equal(t, 4.0, line.Params["classes"])
		}
		require.Equal(t, "real", all[0].Scenario)
		require.Equal(t, "real.bytes", all[1].Scenario)
		require.Equal(t, 8.0, all[0].Params["decoders"])
		rows := 3.0
		require.Equal(t, (8+2)*70*rows, all[0].Params["rows_compared"], "two clients of each class, and two of the perfect network")
		require.InDelta(t, 0.1, all[0].Params["lost"], 0.05)
		require.Equal(t, 35.0*9, all[0].Params["records"])
		require.Zero(t, all[0].Params["allocs_per_tick"])
		require.Greater(t, *all[1].Ratio, 1.0, "what is lost makes baselines older")
	}
}

// A network without loss and jitter is what it says.
func TestRealPerfectNetworkLosesNothing(t *testing.T) {
	s := realScene{entities: 40, clients: 5, moving: 1}
	r := newRealRun(s, realNetwork{loss: 0.5, jitter: 3, classes: 4, seed: 2}.perfect())
	require.NoError(t, r.play(30, false))
	require.NoError(t, r.measure(50))
	require.Zero(t, r.counted.lost)
	require.Zero(t, r.counted.resent)
	require.EqualValues(t, 50*5, r.counted.sent, "a packet for each client and tick")
	require.EqualValues(t, 50*5*40, r.counted.records)
	require.Len(t, r.sends, 50)
	require.NoError(t, r.heal())
	require.Equal(t, 2*40*3, r.compared)
}

// Packets arrive after half of the round trip and the lateness of their tick, and the acknowledgement after the other half.
func TestRealNetworkDelays(t *testing.T) {
	s := realScene{entities: 4, clients: 4, moving: 1}
	for _, jitter := range []int{0, 2} {
		r := newRealRun(s, realNetwork{jitter: jitter, classes: 4, seed: 3})
		first := map[*realClient]int{}
		for range 30 {
			require.NoError(t, r.turn(true))
			for _, c := range r.clients {
				if len(c.acked) > 0 && first[c] == 0 {
					first[c] = r.now - 1
				}
			}
		}
		for i, c := range r.clients {
			require.GreaterOrEqual(t, first[c], realTrips()[i])
			require.LessOrEqual(t, first[c], realTrips()[i]+jitter)
		}
		require.NoError(t, r.heal())
	}
}

// A row that differs, an entity that is missing, and one too many are all noticed.
func TestRealNoticesAWrongDecoder(t *testing.T) {
	r := newRealRun(realScene{entities: 10, clients: 2, moving: 1}, realNetwork{loss: 0.3, jitter: 1, classes: 1, seed: 1})
	require.NoError(t, r.play(20, false))
	require.NoError(t, r.heal())
	c, store := r.clients[0], r.game.store
	require.NoError(t, r.compare(c))
	r.game.body.write(r.game.body.entities[3], position{Y: 77}, rotation{Q: [4]float32{0, 0, 0, 1}}, velocity{})
	r.game.capture.Run(store.Tick() + 1)
	r.serve()
	require.ErrorContains(t, r.compare(c), "it holds")
	require.NoError(t, r.heal())
	store.Begin(store.Tick() + 1)
	id := store.Spawn()
	store.Commit()
	c.view.Observe()
	require.ErrorContains(t, r.compare(c), "it lacks entity")
	store.Begin(store.Tick() + 1)
	store.Despawn(id)
	store.Commit()
	c.view.Observe()
	require.NoError(t, r.compare(c))
	c.view.Hide(idOf(r, 5))
	require.ErrorContains(t, r.compare(c), "may see 9")

	for _, c := range r.clients {
		c.view.Resync(1, c.server.Next())
		c.server = peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 1), TickInterval: realTick}) // whose numbers the client has had
	}
	require.Error(t, r.heal())
}

func TestRealRefusesNetworks(t *testing.T) {
	for args, want := range map[string]string{
		"-loss 1": "-loss 1: it must be a number from 0 to 0.9", "-loss -0.1": "-loss", "-loss NaN": "-loss", "-jitter 17": "-jitter 17: it must be", "-jitter -1": "-jitter",
		"-classes 0": "-classes 0: it must be a whole number from 1 to 4", "-classes 5": "-classes", "-seed x": "-seed",
	} {
		err := run(append([]string{"-run", "real"}, strings.Fields(args)...), &strings.Builder{})
		require.ErrorContains(t, err, want)
		require.Equal(t, 2, usage.Status(err))
	}
}

// idOf is the id of the entity of a number in the order of the store.
func idOf(r *realRun, number int) wire.NetworkID {
	for id := range r.game.store.All {
		if number == 0 {
			return id
		}
		number--
	}
	return wire.NetworkID{}
}
