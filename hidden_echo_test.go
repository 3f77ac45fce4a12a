package netcode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Catalogue case 46. Between the capture and the packets of a tick game code hides somebody from a client, shows it somebody or only
// asks what it sees, or saw: what the client wrote in that tick is not sent back to it for that, which would tell.
func TestCase46AskingForTheSightOfAClientSendsNothingBack(t *testing.T) {
	for i, ask := range []func(r *rig, other wire.NetworkID){
		func(*rig, wire.NetworkID) {},
		func(r *rig, other wire.NetworkID) { require.True(t, r.server.Hide(2, other)) },
		func(r *rig, other wire.NetworkID) { require.False(t, r.server.Visible(2, other)) },
		func(r *rig, other wire.NetworkID) { require.Zero(t, r.server.VisibleRows(2, other)) },
		func(r *rig, other wire.NetworkID) { require.False(t, r.server.Keeps(2, other)) },
		func(r *rig, other wire.NetworkID) {
			require.ErrorIs(t, netcode.Send(r.server.Server, netcode.To(2), &chat{}, netcode.About(other)), netcode.ErrNotVisible)
		},
		func(r *rig, other wire.NetworkID) {
			require.True(t, rewind.At(r.server.Server, 2, func(past *rewind.View) { require.False(t, past.Has(other)) }))
		},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p := writtenProtocol()
			netcode.Handle[chat](p, nil)
			r := newRig(t, p, netcode.Config{})
			r.joined(p, netcode.Config{})
			th := newThief(t, r, p)
			own, other := r.spawn(1), r.spawn(2)
			require.True(t, r.server.SetOwner(own, 2))
			require.True(t, r.server.Hide(2, other))
			wrote := map[wire.NetworkID][]uint32{}
			r.server.game = func(store *snapshot.Store) {
				for id, lanes := range wrote {
					store.Set(id, 1, lanes)
				}
			}
			r.run(time.Second)
			var told [2]uint64
			for x := range 40 {
				th.listen(&prying{}) // and what it sends acknowledges that
				th.send(wire.MessageSnapshot, 0, forged(p, r.server.Tick(), []wire.NetworkID{own}, func(s *snapshot.Store, id wire.NetworkID) { r.set(s, id, float32(x+5)) }))
				authority.Writes(r.server.Server, func(_ netcode.ClientID, id netcode.NetworkID, _ int, lanes []uint32) {
					wrote[id] = append([]uint32(nil), lanes...)
				})
				r.run(time.Second / 20)
				stats, ok := r.server.ClientStats(2)
				require.True(t, ok)
				if told[1] = stats.Snapshot.Updates + stats.Snapshot.Spawns; x == 10 {
					require.Equal(t, 1, stats.Known, "it holds its own")
					told[0] = told[1]
					r.server.late = func() { ask(r, other) }
				}
			}
			require.EqualValues(t, 40, authority.StatsOf(r.server).Writes)
			require.Equal(t, told[0], told[1])
		})
	}
}
