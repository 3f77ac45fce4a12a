package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// The queue that a message is put into without a question is that of the end it is for, whoever shares a place with it, and
// none after that end is gone.
func TestDoors(t *testing.T) {
	var d recipientCache
	pool := peer.NewPool(1200)
	links := map[wire.ClientID]*connection{}
	for _, id := range []wire.ClientID{0, 1, 2, 1 + numRecipients, numRecipients} {
		links[id] = newDoor(id, pool)
		require.Nil(t, d.to(To(id)))
	}
	for range 2 {
		for id, l := range links {
			d.open(l)
			require.Same(t, l.Outgoing, d.to(To(id)))
			for other, o := range links {
				if queue := d.to(To(other)); queue != nil {
					require.Same(t, o.Outgoing, queue)
				}
			}
			for _, to := range []Recipient{{}, ToAll(), ToAllBut(id), ToSelf(), ToOwner(NetworkID{Index: uint32(id)}), ToSeers(NetworkID{Index: uint32(id)}), ToMany(make([]ClientID, id))} {
				require.Nil(t, d.to(to), "%+v", to)
			}
		}
	}
	d.open(links[1])
	d.shut(1 + numRecipients)
	require.Same(t, links[1].Outgoing, d.to(To(1)), "another one's place")
	again := newDoor(1, pool)
	d.open(again)
	require.Same(t, again.Outgoing, d.to(To(1)))
	d.shut(1)
	require.Nil(t, d.to(To(1)))
}

// newDoor makes a connection that messages can be sent on.
func newDoor(id wire.ClientID, pool *peer.Pool) *connection {
	return &connection{Link: link.Link{Remote: id, Outgoing: peer.NewOutgoing(peer.OutgoingConfig{}, pool)}}
}

// A recipient is what it was made of.
func TestRecipientKeepsItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client := ClientID(rapid.Uint32().Draw(t, "client"))
		entity := NetworkID{Index: rapid.Uint32().Draw(t, "index"), Generation: rapid.Uint32().Draw(t, "generation")}
		require.Equal(t, client, To(client).client())
		require.Equal(t, client, ToAllBut(client).client())
		require.Equal(t, entity, ToOwner(entity).entity())
		require.Equal(t, entity, ToSeers(entity).entity())
	})
}

func TestStateNames(t *testing.T) {
	for s, name := range map[State]string{Disconnected: "Disconnected", Connecting: "Connecting", Connected: "Connected", Closing: "Closing", 9: "State(9)"} {
		require.Equal(t, name, s.String())
	}
}

func TestExtrapolatedByIsRefusedWhereItMakesNoSense(t *testing.T) {
	still := func(extrapolated []uint32, v *quantize.Baselines) {}
	require.Panics(t, func() { ExtrapolatedBy("none", nil) })
	require.Panics(t, func() { Replicate[goldenPosition](NewProtocol(), ExtrapolatedBy("a b", still)) })
	require.PanicsWithValue(t, "netcode: Handle[netcode.goldenChat]: ExtrapolatedBy is for components: of messages nothing is extrapolated",
		func() { Handle[goldenChat](NewProtocol(), nil, ExtrapolatedBy("still", still)) })
}

type goldenPosition struct {
	X float32 `net:"min=-512,max=512,step=0.002"`
	Y float32
}

type goldenChat struct {
	Number uint32
}
