package snapshot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// hungerWide is a row of which two nearly fill a packet of hungerPayload bytes.
type hungerWide struct{ Lanes [24]float32 }

const (
	hungerPayload = 250
	hungerTicks   = 60
)

// hungerGame is a group that nearly fills a packet and changes in each tick, and
// others before it.
type hungerGame struct {
	*duo
	r      *rand.Rand
	pair   []wire.NetworkID
	others []wire.NetworkID
}

func newHungerGame(t *testing.T, others, payload int) *hungerGame {
	d := newDuoOf(t, format.NewSchema([]*quantize.Plan{compile[simHealth](t), compile[hungerWide](t)}), Config{Window: 16, SentPackets: 64, Payload: payload})
	g := &hungerGame{duo: d, r: rand.New(rand.NewPCG(1, 2))}
	d.game(1, func() {
		for range others {
			g.others = append(g.others, d.store.Spawn())
			d.store.Set(g.others[len(g.others)-1], 0, []uint32{1})
		}
		for range 2 {
			id := d.store.Spawn()
			g.pair = append(g.pair, id)
			d.store.SetGroup(id, 5)
		}
		g.change()
	})
	require.Empty(t, d.store.LargeGroups(), "it fits a packet")
	d.flush(payload, nil)
	require.True(t, d.view.Synced())
	return g
}

// change makes the group say other things.
func (g *hungerGame) change() {
	for _, id := range g.pair {
		g.changeRow(id)
	}
}

func (g *hungerGame) changeRow(id wire.NetworkID) {
	var lanes [24]uint32
	for i := range lanes {
		lanes[i] = math.Float32bits(100 * g.r.Float32())
	}
	g.store.Set(id, 1, lanes[:])
}

// stir makes all others say other things.
func (g *hungerGame) stir() {
	for _, id := range g.others {
		g.store.Set(id, 0, []uint32{g.r.Uint32()})
	}
}

// seen reports whether the client was shown the group as of a tick.
func (g *hungerGame) seen(s tick.Tick) bool {
	a, b := g.replica.Entity(g.pair[0].Index).Tick == s, g.replica.Entity(g.pair[1].Index).Tick == s
	require.Equal(g.t, a, b)
	return a
}

// Each packet begins with despawns, since none is ever acknowledged: a group
// that has no room beside them comes without, again and again.
func TestAGroupIsNotStarvedByDespawns(t *testing.T) {
	g := newHungerGame(t, 85, hungerPayload)
	seen, packets := 0, 0
	for s := tick.Tick(2); s < 2+hungerTicks; s++ {
		g.game(s, func() {
			g.change()
			for _, id := range g.others {
				g.store.Despawn(id)
			}
		})
		g.view.Lost(g.seq)
		before := g.view.Stats().Despawns
		g.deliver(g.packet(hungerPayload))
		if g.view.Stats().Despawns > before {
			packets++
		}
		if g.seen(s) {
			seen++
		}
	}
	require.GreaterOrEqual(t, seen, hungerTicks/3, "the group")
	require.Greater(t, packets, hungerTicks/2, "the despawns")
	require.Zero(t, g.view.Stats().TornGroups)
}

// Messages take half of each packet but of one behind a packet without rows, as a
// server does it, and there is a budget of one packet: the group takes its turn.
func TestAGroupIsNotStarvedByMessages(t *testing.T) {
	g := newHungerGame(t, 100, hungerPayload)
	seen, others, room := 0, 0, hungerPayload/2
	for s := tick.Tick(2); s < 2+hungerTicks; s++ {
		g.game(s, func() {
			g.change()
			g.stir()
		})
		g.view.Plan(hungerPayload)
		p := g.packet(room)
		if room = hungerPayload / 2; p == nil {
			room = hungerPayload
			continue
		}
		if g.ack(p); g.seen(s) {
			seen++
		}
		for _, id := range g.others {
			if g.replica.Entity(id.Index).Tick == s {
				others++
			}
		}
	}
	require.GreaterOrEqual(t, seen, hungerTicks/12, "the group")
	require.GreaterOrEqual(t, others, hungerTicks*5, "the others")
	require.Zero(t, g.view.Stats().TornGroups)
}

// Where messages take some of each packet whatever happens, the group waits, and
// nothing else does.
func TestAGroupThatMessagesLeaveNoRoomHoldsNothingUp(t *testing.T) {
	g := newHungerGame(t, 10, hungerPayload)
	others := 0
	for s := tick.Tick(2); s < 2+hungerTicks; s++ {
		g.game(s, func() {
			g.change()
			g.stir()
		})
		for range 3 {
			if p := g.packet(hungerPayload / 2); p != nil {
				g.ack(p)
			}
		}
		for _, id := range g.others {
			if g.replica.Entity(id.Index).Tick == s {
				others++
			}
		}
	}
	require.Greater(t, others, hungerTicks*len(g.others)/3)
	g.flush(hungerPayload, nil)
	require.True(t, g.view.Synced())
}
