package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// flying is a page of bodies whose acknowledgements take five ticks. at returns the place of a body in a tick.
func flying(t *testing.T, ticks tick.Tick, at func(i int, s tick.Tick) uint32) (d *duo, bits int) {
	type place struct {
		X float32 `net:"min=0,max=1000,step=0.01"`
	}
	d = newDuoOf(t, format.NewSchema([]*quantize.Plan{compile[place](t)}), Config{Window: 64, SentPackets: 64})
	var ids []wire.NetworkID
	var sent []*simPacket
	for s := tick.Tick(1); s <= ticks; s++ {
		d.game(s, func() {
			for i := range format.PageEntities {
				if s == 1 {
					ids = append(ids, d.store.Spawn())
				}
				d.store.Set(ids[i], 0, []uint32{at(i, s)})
			}
		})
		p := d.packet(1000)
		require.NotNil(t, p)
		if s > ticks/2 {
			bits += 8 * len(p.payload)
		}
		if sent = append(sent, p); len(sent) > 5 {
			d.ack(sent[0])
			sent = sent[1:]
		}
	}
	for _, p := range sent {
		d.ack(p)
	}
	for _, id := range ids {
		require.Equal(t, d.store.Row(id, 0), d.replica.Row(id.Index, 0))
	}
	return d, bits
}

// TestAPageThatFliesStraightHasADistantN plays bodies with a steady speed, whose places are rounded: with the tick before R as N, the error of
// rounding counts six times. A body took 5.7 bits when N always was the newest complete tick before R.
func TestAPageThatFliesStraightHasADistantN(t *testing.T) {
	const ticks = 400
	d, bits := flying(t, ticks, func(i int, s tick.Tick) uint32 {
		return uint32(1000 + float64(s)*(3.3+float64(i)*.13))
	})
	g := d.view.pages[0]
	require.True(t, g.far)
	require.Less(t, float64(bits)/(ticks/2)/format.PageEntities, 5.4, "bits a body")
}

// TestAPageThatTurnsHasANearN plays bodies that change their speed all the time, after they flew straight.
func TestAPageThatTurnsHasANearN(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x, speed [format.PageEntities]float64
	d, _ := flying(t, 1100, func(i int, s tick.Tick) uint32 {
		switch {
		case s == 1:
			x[i], speed[i] = 50000, 3.3+float64(i)*.13
		case s > 400:
			speed[i] += 12 * r.NormFloat64()
			speed[i] += (50000 - x[i]) / 2000
		}
		x[i] = min(max(x[i]+speed[i], 0), 100000)
		return uint32(x[i])
	})
	require.False(t, d.view.pages[0].far)
}

// TestAPageOfFewRecordsTriesNothing plays a page with few bodies: what a trial tells is worth less than what it costs.
func TestAPageOfFewRecordsTriesNothing(t *testing.T) {
	d, _ := flying(t, 200, func(i int, s tick.Tick) uint32 {
		if i >= fewRecords-1 {
			return 5
		}
		return uint32(1000 + float64(s)*(3.3+float64(i)*.13))
	})
	g := d.view.pages[0]
	require.Equal(t, tick.Tick(nearDistance), g.ref-g.near)
	require.Zero(t, g.cost, "it was measured")
}
