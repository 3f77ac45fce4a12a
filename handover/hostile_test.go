package handover_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// spy keeps all that a player gets in its moves.
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
	require.ErrorIs(t, thief.Err(), errs.ReasonNotApproved)
	require.Equal(t, netcode.Connected, r.players[0].mover.Shown().Systems.Client.State())

	// Bring what was carried once more, and go on.
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

// cheat is a player that speaks the protocol by hand.
type cheat struct {
	spy
	rig          *rig
	atOld, atNew *netcode.Client
	nonce        [2]uint64
}

// newCheat makes a player that plays on the first server.
func newCheat(t *testing.T, change ...func(c *handover.Config)) *cheat {
	c := &cheat{rig: newRig(t, 5, 2, 0, late)}
	c.watch(c.rig)
	c.rig.quiet = true
	if len(change) > 0 {
		c.rig.config = change[0]
	}
	c.rig.start()
	c.login()
	return c
}

// login joins the first server.
func (c *cheat) login() {
	c.atOld, _ = c.rig.thief(c.rig.nodes[0], []byte("player 0"))
	require.True(c.rig.t, c.rig.run(5*time.Second, func() bool { return len(c.rig.nodes[0].clients()) == 1 }))
	c.rig.wait(time.Second)
}

// carry begins to move, and goes on until it has what it carries.
func (c *cheat) carry() handover.Carry {
	r := c.rig
	c.pass, c.carried, c.nonce = nil, nil, [2]uint64{}
	r.begin()
	require.True(r.t, r.run(time.Second, func() bool { return c.pass != nil }))
	c.atNew, _ = r.thief(r.nodes[1], c.pass)
	netcode.On(c.atNew, func(_ *netcode.Context, m *handover.Here) { c.nonce = m.Nonce })
	require.True(r.t, r.run(3*time.Second, func() bool { return c.nonce != [2]uint64{} }))
	require.NoError(r.t, netcode.Send(c.atOld, netcode.ToServer(), &handover.Ready{ID: r.id(c.pass), Nonce: c.nonce}))
	require.True(r.t, r.run(3*time.Second, func() bool { return len(c.carried) == 1 }))
	return c.carried[0]
}

// bring brings what it carries to the new server.
func (c *cheat) bring(id uint64, sealed []byte) {
	require.NoError(c.rig.t, netcode.Send(c.atNew, netcode.ToServer(), &handover.Bring{ID: id, Sealed: sealed}))
}

// heroes counts the heroes on both servers.
func (c *cheat) heroes() (n int) {
	for _, one := range c.rig.nodes {
		query := one.query()
		n += query.Count()
		query.Close()
	}
	return n
}

// TestWhatIsSealedCannotBeChanged changes what a player carries, and its receipt.
func TestWhatIsSealedCannotBeChanged(t *testing.T) {
	c := newCheat(t)
	carried := c.carry()
	sealed := slices.Clone(carried.Sealed)
	sealed[len(sealed)/2] ^= 1
	c.bring(carried.ID, sealed)
	c.rig.wait(time.Second)
	require.ErrorIs(t, c.atNew.Err(), errs.ReasonMalformed)
	require.Zero(t, c.rig.nodes[1].mover.Stats().Arrived)

	c = newCheat(t)
	carried = c.carry()
	c.bring(carried.ID, carried.Sealed)
	c.rig.wait(time.Second)
	require.EqualValues(t, 1, c.rig.nodes[1].mover.Stats().Arrived)
	require.True(t, c.rig.nodes[0].mover.Held(1))
	receipt := slices.Clone(c.receipt)
	receipt[len(receipt)-20] ^= 1
	require.NoError(t, netcode.Send(c.atOld, netcode.ToServer(), &handover.Left{ID: carried.ID, Receipt: receipt}))
	c.rig.wait(time.Second)
	require.ErrorIs(t, c.atOld.Err(), errs.ReasonMalformed)
	require.Equal(t, 1, c.heroes(), "the session has ended, and the new server was asked")
}

// TestWhatWasCarriedIsTakenOnce brings what was carried in an earlier move.
func TestWhatWasCarriedIsTakenOnce(t *testing.T) {
	c := newCheat(t)
	first := c.carry()
	c.bring(first.ID, first.Sealed)
	c.bring(first.ID, first.Sealed)
	c.rig.wait(time.Second)
	require.NoError(t, netcode.Send(c.atOld, netcode.ToServer(), &handover.Left{ID: first.ID, Receipt: c.receipt}))
	c.rig.wait(time.Second)
	require.Equal(t, 1, c.heroes())
	c.atOld.Close()
	c.atNew.Close()
	c.rig.wait(time.Second)
	delete(c.rig.model.of, 0) // It has left the game.
	c.login()                 // The game gives it a new hero. It brings the old one in place of that.
	second := c.carry()
	c.bring(second.ID, first.Sealed)
	c.rig.wait(time.Second)
	require.ErrorIs(t, c.atNew.Err(), errs.ReasonMalformed)
	require.EqualValues(t, 1, c.rig.nodes[1].mover.Stats().Arrived)
}

// TestAClientThatSaysTheServerDied says that the new server is dead, before or after it plays there. The server is asked.
func TestAClientThatSaysTheServerDied(t *testing.T) {
	for _, first := range []bool{true, false} {
		c := newCheat(t)
		carried := c.carry()
		if first {
			c.bring(carried.ID, carried.Sealed)
		}
		require.NoError(t, netcode.Send(c.atOld, netcode.ToServer(), &handover.Cancel{ID: carried.ID, Text: "dead"}))
		c.rig.wait(time.Second)
		if !first {
			c.bring(carried.ID, carried.Sealed)
		}
		c.rig.wait(2 * time.Second)
		require.Equal(t, 1, c.heroes(), "the player is twice in the game")
		require.False(t, c.rig.nodes[0].mover.Held(1))
	}
}

// TestAClientThatSaysNothing keeps silent when it was given what it carries.
func TestAClientThatSaysNothing(t *testing.T) {
	for _, asks := range []bool{true, false} {
		c := newCheat(t, func(config *handover.Config) {
			config.Lease = 3 * time.Second
			if !asks {
				config.Ask = nil
			}
		})
		c.carry()
		c.rig.wait(2 * time.Second)
		require.True(t, c.rig.nodes[0].mover.Held(1))
		c.rig.wait(2 * time.Second)
		require.False(t, c.rig.nodes[0].mover.Held(1))
		require.Equal(t, map[handover.Outcome]int{map[bool]handover.Outcome{true: handover.Stayed, false: handover.Moved}[asks]: 1}, c.rig.model.moved)
	}
	c := newCheat(t, func(config *handover.Config) { config.Patience = time.Second })
	c.rig.begin()
	c.rig.wait(3 * time.Second)
	require.Equal(t, map[handover.Outcome]int{handover.Stayed: 1}, c.rig.model.moved)
	require.Equal(t, 1, c.heroes())
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
