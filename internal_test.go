package netcode

import (
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/delta"
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
		list := rapid.SliceOf(rapid.Map(rapid.Uint32(), func(id uint32) ClientID { return ClientID(id) })).Draw(t, "list")
		require.Equal(t, client, To(client).client())
		require.Equal(t, client, ToAllBut(client).client())
		require.Equal(t, entity, ToOwner(entity).entity())
		require.Equal(t, entity, ToSeers(entity).entity())
		if len(list) == 0 {
			require.Empty(t, ToMany(list).many())
			require.Empty(t, ToMany[[]ClientID](nil).many())
			return
		}
		require.Equal(t, list, ToMany(list).many())
		require.Equal(t, list[1:], ToMany(list[1:len(list):len(list)]).many())
	})
	require.Empty(t, To(7).many(), "no list at all")
}

func TestExplainBearsAnyText(t *testing.T) {
	p := NewProtocol()
	Replicate[struct{ X int8 }](p, Named("thing"))
	p.freeze()
	rapid.Check(t, func(t *rapid.T) {
		require.NotEmpty(t, p.types.Canon.Explain(rapid.String().Draw(t, "detail")))
	})
	for _, detail := range []string{"", "-1 x", "0", "0 limits", "1 component thing{X:i16", "99 component x{", "1 component thing{X:i8}"} {
		require.NotEmpty(t, p.types.Canon.Explain(detail), detail)
	}
}

// The server can describe the difference to any protocol that a client claims to have.
func TestDifferenceBearsAnyDigest(t *testing.T) {
	p := NewProtocol()
	Replicate[struct{ X int8 }](p, Named("thing"))
	Handle[struct{ Y int8 }](p, nil, Named("message"))
	p.freeze()
	ours := []uint32{p.types.Canon.Digest.At(0), p.types.Canon.Digest.At(1), p.types.Canon.Digest.At(2)}
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(ours), rapid.Uint32()), 0, 600).Draw(t, "hashes")
		require.NotEmpty(t, p.types.Canon.Difference(peer.NewDigest(hashes)))
		require.NotEmpty(t, p.types.Canon.Difference(peer.NewDigest(append(ours[:2:2], hashes...))))
	})
}

func TestStateNames(t *testing.T) {
	for s, name := range map[State]string{Disconnected: "Disconnected", Connecting: "Connecting", Connected: "Connected", Closing: "Closing", 9: "State(9)"} {
		require.Equal(t, name, s.String())
	}
}

func TestExtrapolatedByIsInTheProtocol(t *testing.T) {
	still := func(extrapolated []uint32, v *quantize.Baselines) {}
	build := func(options ...Option) *Protocol {
		p := NewProtocol()
		Replicate[goldenPosition](p, options...)
		p.freeze()
		return p
	}
	plain, first, second := build(), build(ExtrapolatedBy("still", still)), build(ExtrapolatedBy("other", still))
	require.Equal(t, "still", first.Schema().Plan(0).ExtrapolatedBy())
	require.NotEqual(t, plain.Hash(), first.Hash())
	require.NotEqual(t, first.Hash(), second.Hash())
	require.Contains(t, first.types.Canon.Explain(second.types.Canon.FirstDifference(first.types.Canon.Digest)), "the server has the field ~other, the client ~still")
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

// The canonical description and its hash are part of the wire format: a second implementation has to come to the same.
func TestCanonicalDescriptionIsAsWritten(t *testing.T) {
	p := NewProtocol()
	Handle[goldenChat](p, nil, Named("Chat"))
	Replicate[goldenPosition](p, Named("Position"))
	p.freeze()
	var texts []string
	for _, e := range p.types.Canon.Entries {
		texts = append(texts, e.Text)
	}
	require.Equal(t, []string{
		fmt.Sprintf("limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192;reliable:1024;credit:131072;fragments:80;tables:%016x}", delta.Shipped().Hash()),
		"component Position{X:f32[-512,512,0.002];Y:f32}",
		"message Chat{Number:u32}[both ways;Unreliable 0]",
	}, texts)
	sum := fnv.New64a()
	for _, text := range texts {
		_, _ = sum.Write([]byte(text + "\n"))
	}
	require.Equal(t, sum.Sum64(), p.Hash())
}

// Other tables are another protocol, and the refusal says so.
func TestTablesAreInTheHash(t *testing.T) {
	build := func(symbols ...int) *Protocol {
		p := NewProtocol()
		Replicate[goldenPosition](p, Named("Position"))
		if len(symbols) > 0 {
			trainer := delta.NewTrainer()
			counter := trainer.Table("Position.which0", 4, delta.WhichContexts(2))
			for _, symbol := range symbols {
				counter.Count(0, symbol)
			}
			tables, err := trainer.Build()
			require.NoError(t, err)
			p.UseTables(tables)
		}
		p.freeze()
		return p
	}
	shipped, one, many := build(), build(1, 1, 1, 1), build(2, 2, 2, 2)
	require.NotEqual(t, shipped.Hash(), one.Hash())
	require.NotEqual(t, one.Hash(), many.Hash())
	require.Equal(t, one.Hash(), build(1, 1, 1, 1).Hash())
	says := one.types.Canon.Explain(many.types.Canon.FirstDifference(one.types.Canon.Digest))
	require.Regexp(t, `^limits "netcode" differs: the server codes state with the tables [0-9a-f]{16}\+[0-9a-f]{16}, `+
		`the client with [0-9a-f]{16}\+[0-9a-f]{16}: give UseTables the same file on both sides$`, says)
	says = shipped.types.Canon.Explain(many.types.Canon.FirstDifference(shipped.types.Canon.Digest))
	require.Contains(t, says, "give UseTables the same file on both sides")
}
