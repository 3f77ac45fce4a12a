package handover_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// spy is what a player could keep of its moves.
type spy struct {
	pass    []byte
	carried []handover.Carry
	receipt []byte
}

// watch makes the clients of a rig keep what they get.
func (s *spy) watch(r *rig) {
	r.watch = func(client *netcode.Client) {
		netcode.On(client, func(_ *netcode.Context, m *handover.Offer) { s.pass = slices.Clone(m.Pass) })
		netcode.On(client, func(_ *netcode.Context, m *handover.Carry) {
			s.carried = append(s.carried, handover.Carry{ID: m.ID, Tick: m.Tick, Sealed: slices.Clone(m.Sealed)})
		})
		netcode.On(client, func(_ *netcode.Context, m *handover.Arrived) { s.receipt = slices.Clone(m.Receipt) })
	}
}

// thief is a client without a mover.
func (r *rig) thief(n *node, payload []byte) (*netcode.Client, *systems.Runner) {
	conn, err := r.network.Listen(transport.Addr{})
	require.NoError(r.t, err)
	client, err := netcode.NewClient(r.p, netcode.Config{Random: r.bytes(), Logger: quiet})
	require.NoError(r.t, err)
	if r.watch != nil {
		r.watch(client)
	}
	loop := systems.NewRunner(nil, systems.NewClient(client, conn, r.clock), rate)
	require.NoError(r.t, client.ConnectWith(n.address, payload))
	r.guests = append(r.guests, loop)
	return client, loop
}

func TestNothingIsAcceptedTwice(t *testing.T) {
	var kept spy
	r := newRig(t, 4, 2, 1, late)
	kept.watch(r)
	r.quiet = true
	r.start()
	require.True(t, r.run(5*time.Second, r.joined))
	r.begin()
	r.wait(4 * time.Second)
	require.Equal(t, 1, r.model.moved[handover.Moved])
	first := kept

	// The same pass, while the player is there and after it has gone.
	thief, _ := r.thief(r.nodes[1], first.pass)
	r.wait(2 * time.Second)
	require.ErrorIs(t, thief.Err(), peer.ReasonNotApproved)
	require.Equal(t, netcode.Connected, r.players[0].mover.Shown().Systems.Client.State())

	// What was carried once, in the same session and in a later one.
	shown := r.players[0].mover.Shown().Systems.Client
	require.NoError(t, netcode.Send(shown, netcode.ToServer(), &handover.Bring{ID: first.carried[0].ID, Sealed: first.carried[0].Sealed}))
	r.wait(time.Second)
	client, ok := r.nodes[1].clientOf(0)
	require.True(t, ok)
	require.NoError(t, r.nodes[1].mover.Move(client, handover.Destination{Server: r.nodes[0].address.String()}))
	r.wait(4 * time.Second)
	require.Equal(t, 2, r.model.moved[handover.Moved])
	active, held := r.model.count(0)
	require.Equal(t, 1, active+held)
}

// TestWhatIsSealedCannotBeChanged changes each part of what a player carries, and its receipt.
func TestWhatIsSealedCannotBeChanged(t *testing.T) {
	for at := range 3 {
		var kept spy
		r := newRig(t, 5, 2, 0, late)
		kept.watch(r)
		r.quiet = true
		r.start()
		atOld, _ := r.thief(r.nodes[0], []byte("player 0"))
		require.True(t, r.run(5*time.Second, func() bool { return len(r.nodes[0].clients()) == 1 }))
		r.wait(time.Second)
		r.begin()
		require.True(t, r.run(time.Second, func() bool { return kept.pass != nil }))
		atNew, _ := r.thief(r.nodes[1], kept.pass)
		var nonce [2]uint64
		netcode.On(atNew, func(_ *netcode.Context, m *handover.Here) { nonce = m.Nonce })
		require.True(t, r.run(3*time.Second, func() bool { return nonce != [2]uint64{} }))
		require.NoError(t, netcode.Send(atOld, netcode.ToServer(), &handover.Ready{ID: r.id(kept.pass), Nonce: nonce}))
		require.True(t, r.run(3*time.Second, func() bool { return len(kept.carried) == 1 }))
		c := kept.carried[0]
		sealed := slices.Clone(c.Sealed)
		if at == 0 {
			sealed[len(sealed)/2] ^= 1
		}
		require.NoError(t, netcode.Send(atNew, netcode.ToServer(), &handover.Bring{ID: c.ID, Sealed: sealed}))
		r.wait(time.Second)
		if at == 0 {
			require.ErrorIs(t, atNew.Err(), peer.ReasonMalformed)
			require.Zero(t, r.nodes[1].mover.Stats().Arrived)
			continue
		}
		require.EqualValues(t, 1, r.nodes[1].mover.Stats().Arrived)
		receipt := slices.Clone(kept.receipt)
		if at == 1 {
			receipt[len(receipt)-20] ^= 1
		}
		require.True(t, r.nodes[0].mover.Held(1))
		require.NoError(t, netcode.Send(atOld, netcode.ToServer(), &handover.Left{ID: c.ID, Receipt: receipt}))
		r.wait(time.Second)
		if at == 1 { // Its session ends, and the new server is asked.
			require.ErrorIs(t, atOld.Err(), peer.ReasonMalformed)
		} else {
			require.Nil(t, atOld.Err())
		}
		require.EqualValues(t, 1, r.nodes[0].mover.Stats().Moved)
	}
}

// TestAClientThatSaysTheServerDied says that the new server is dead while it plays there. It is asked.
func TestAClientThatSaysTheServerDied(t *testing.T) {
	var kept spy
	r := newRig(t, 6, 2, 0, late)
	kept.watch(r)
	r.quiet = true
	r.start()
	atOld, _ := r.thief(r.nodes[0], []byte("player 0"))
	require.True(t, r.run(5*time.Second, func() bool { return len(r.nodes[0].clients()) == 1 }))
	r.wait(time.Second)
	r.begin()
	require.True(t, r.run(time.Second, func() bool { return kept.pass != nil }))
	atNew, _ := r.thief(r.nodes[1], kept.pass)
	var nonce [2]uint64
	netcode.On(atNew, func(_ *netcode.Context, m *handover.Here) { nonce = m.Nonce })
	require.True(t, r.run(3*time.Second, func() bool { return nonce != [2]uint64{} }))
	require.NoError(t, netcode.Send(atOld, netcode.ToServer(), &handover.Ready{ID: r.id(kept.pass), Nonce: nonce}))
	require.True(t, r.run(3*time.Second, func() bool { return len(kept.carried) == 1 }))
	require.NoError(t, netcode.Send(atNew, netcode.ToServer(), &handover.Bring{ID: kept.carried[0].ID, Sealed: kept.carried[0].Sealed}))
	require.NoError(t, netcode.Send(atOld, netcode.ToServer(), &handover.Cancel{ID: kept.carried[0].ID, Text: "dead"}))
	r.wait(2 * time.Second)
	copies := 0
	for _, n := range r.nodes {
		query := n.query()
		copies += query.Count()
		query.Close()
	}
	require.Equal(t, 1, copies, "the player is twice in the game")
}

func FuzzSealed(f *testing.F) {
	f.Add(handover.SealedPass("player"))
	f.Add(handover.AppendCarried([]byte("data"), []byte("saved")))
	f.Add(handover.AppendCarried(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		handover.ParseSealed(b)
		if handover.Opens([32]byte{7}, b) {
			t.Fatal("bytes of a fuzzer open a seal")
		}
	})
}
