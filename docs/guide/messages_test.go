package guide_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/wire"
)

// What messages.md shows is what stands between the marks.

// begin guide
type Chat struct{ Text string }

func (m *Chat) Serialize(s *wire.Serializer) { s.String(&m.Text, 200) } // writes, reads and measures

func chats(protocol *netcode.Protocol, show func(from netcode.ClientID, text string)) { // on both sides
	netcode.Handle(protocol, func(ctx *netcode.Context, m *Chat) {
		if server, ok := ctx.End.(*netcode.Server); ok { // it runs there: pass on what a client said
			_ = netcode.Send(server, netcode.ToAllBut(ctx.Sender), m)
			return
		}
		show(ctx.Sender, m.Text) // it runs on a client
	}, netcode.Over(netcode.ReliableOrdered), netcode.AtStage(netcode.StageUpdate))
}

// end guide

// begin guide
type Opened struct{ By netcode.ClientID } // plain data needs no method

func opens(protocol *netcode.Protocol, group *systems.ClientSystems, play func(door ecs.Entity)) {
	netcode.Handle(protocol, func(ctx *netcode.Context, m *Opened) {
		if door, ok := group.Entity(ctx.Entity); ok { // what the message is about
			play(door)
		}
	}, netcode.FromServer(), netcode.Over(netcode.Reliable))
}

func open(server *netcode.Server, door netcode.NetworkID, by netcode.ClientID) error {
	// To every client that sees the door, and not before the door exists there.
	return netcode.Send(server, netcode.ToSeers(door), &Opened{By: by}, netcode.About(door))
}

// end guide

// begin guide
type Aimed struct {
	At netcode.NetworkID `net:"entity"` // the zero NetworkID for a client that may not see that entity
}

// end guide

// begin guide
type Price struct{ Item uint16 }

type Coins struct{ Count uint32 }

var errNotForSale = errors.New("not for sale")

func shop(protocol *netcode.Protocol, prices map[uint16]uint32) { // on both sides; the client gives nil for the function
	netcode.Answer(protocol, func(_ *netcode.Context, q *Price, r *Coins) error {
		price, ok := prices[q.Item]
		if !ok {
			return errNotForSale // its text travels
		}
		r.Count = price
		return nil
	})
}

func ask(ctx context.Context, client *netcode.Client, item uint16, tell func(price uint32)) error {
	return netcode.Call(ctx, client, 0, &Price{item}, func(r *Coins, err error) { // 0 is the server
		var refused *netcode.CallError
		switch {
		case errors.As(err, &refused):
			log.Print("the server says: ", refused.Text)
		case err != nil:
			log.Print(err) // netcode.ErrDeadline, ctx's error, or why the connection ended
		default:
			tell(r.Count)
		}
	}, netcode.Within(3*time.Second))
}

// end guide

// begin guide
type Level struct{ Packed []byte }

func (m *Level) Serialize(s *wire.Serializer) { s.Bytes(&m.Packed, 30<<10) }

func levels(protocol *netcode.Protocol, load func(level []byte)) { // on both sides
	var deflate wire.Deflate // keeps its memory: one for each goroutine
	var level []byte
	netcode.Handle(protocol, func(_ *netcode.Context, m *Level) {
		var err error
		if level, err = wire.AppendDecompressed(level[:0], m.Packed, 256<<10, &deflate); err != nil {
			return // damaged, or more than 256 KiB, which is found out before anything is decompressed
		}
		load(level)
	}, netcode.FromServer(), netcode.Over(netcode.Reliable))
}

func sendLevel(server *netcode.Server, to netcode.ClientID, level []byte, deflate *wire.Deflate) error {
	return netcode.Send(server, netcode.To(to), &Level{wire.AppendCompressed(nil, level, deflate)})
}

// end guide

// A level that is too large to travel as it is arrives in a few packets, with loss.
func TestGuideLargeMessages(t *testing.T) {
	p := netcode.NewProtocol()
	var got []byte
	levels(p, func(level []byte) { got = append(got, level...) })
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 1, Link: lossy(0.2)})
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	n.Run(500 * time.Millisecond)
	var level []byte
	for i := range 6000 {
		level = fmt.Appendf(level, "tile %d is grass\n", i/7)
	}
	var deflate wire.Deflate
	require.Error(t, netcode.Send(n.Server.Server, netcode.To(1), &Level{level}))
	packed := len(wire.AppendCompressed(nil, level, &deflate))
	require.Less(t, packed, len(level)/8)
	require.NoError(t, sendLevel(n.Server.Server, 1, level, &deflate))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return got != nil }))
	require.Equal(t, level, got)
}

func TestGuideMessages(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	var heard []string
	chats(p, func(from netcode.ClientID, text string) {
		require.Zero(t, from, "the server passes it on")
		heard = append(heard, text)
	})
	shop(p, map[uint16]uint32{3: 20})
	var door netcode.NetworkID
	var group *systems.ClientSystems
	opened := 0
	late := &systems.ClientSystems{}
	opens(p, late, func(ecs.Entity) { opened++ })
	netcode.Handle[Aimed](p, nil)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Seed: 1, Link: lossy(0.2),
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { door = id })
		},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) { group = c },
	})
	*late = *group
	require.ErrorIs(t, netcode.Send(n.Clients[0].Client, netcode.ToServer(), &Chat{"early"}), netcode.ErrNotConnected)
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	require.NoError(t, netcode.Send(n.Clients[0].Client, netcode.ToServer(), &Chat{"hello"}))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return len(heard) == 1 }))
	require.Equal(t, []string{"hello"}, heard, "the other client, once")

	build := generic.NewMap2[components.Replicated, Position](&n.Server.World)
	build.New()
	require.True(t, n.RunUntil(time.Second, func() bool { return !door.IsZero() }))
	require.NoError(t, open(n.Server.Server, door, 1))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return opened == 2 }))

	var price uint32
	client := n.Clients[1].Client
	require.NoError(t, ask(context.Background(), client, 3, func(c uint32) { price = c }))
	require.NoError(t, ask(context.Background(), client, 4, func(uint32) { t.Error("it is not for sale") }))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return price == 20 }))
	n.Run(time.Second)
}
