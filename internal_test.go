package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/plain"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

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

type (
	simplePlain    struct{ A uint32 }
	simpleReliable struct{ A uint32 }
	simpleOther    struct{ A uint32 }
	simpleNames    struct {
		Of NetworkID `net:"entity"`
	}
	simpleToServer struct{ A uint32 }
	simpleToClient struct{ A uint32 }
	simpleOwned    struct{ A uint32 }
	simpleQuestion struct{ A uint32 }
	simpleAnswer   struct{ A uint32 }
)

// TestTypesThatSendSimpleSends lists the types for which nothing but the recipient must be checked, by end.
func TestTypesThatSendSimpleSends(t *testing.T) {
	if plain.On {
		t.Skip("netcode_plain: the build has no fast path")
	}
	p := NewProtocol()
	Handle[simplePlain](p, nil)
	Handle[simpleReliable](p, nil, Over(Reliable))
	Handle[simpleOther](p, nil, OnChannel(1))
	Handle[simpleNames](p, nil)
	Handle[simpleToServer](p, nil, FromClient())
	Handle[simpleToClient](p, nil, FromServer())
	Handle[simpleOwned](p, nil, OwnerOnly())
	Answer[simpleQuestion, simpleAnswer](p, nil)
	names := func(simple [1 << 8]bool) (list []string) {
		for id, ok := range simple {
			if of, known := p.types.Messages.Lookup(wire.MessageType(id)); known && ok {
				list = append(list, of.Codec.GoType().Name())
			}
		}
		return list
	}
	s, err := NewServer(p, Config{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"simplePlain", "simpleToClient", "simpleOwned"}, names(s.simple))
	c, err := NewClient(p, Config{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"simplePlain", "simpleToServer"}, names(c.simple))
	s, err = NewServer(p, Config{History: 1})
	require.NoError(t, err)
	require.Empty(t, names(s.simple), "what is sent is recorded")
}
