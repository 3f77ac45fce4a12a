package guide_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transfer"
	"github.com/arche-netcode/netcode/wire"
)

// The code between the marks is that of messages.md.

// begin guide
type Chat struct {
	From netcode.ClientID // set by the server
	Text string
}

func (m *Chat) Serialize(s *wire.Serializer) { // writes, reads and measures
	s.Uint32((*uint32)(&m.From))
	s.String(&m.Text, 200)
}

func chats(protocol *netcode.Protocol, show func(from netcode.ClientID, text string)) { // on both sides
	netcode.Handle(protocol, func(ctx *netcode.Context, m *Chat) {
		if server, ok := ctx.End.(*netcode.Server); ok { // it runs there: pass on what a client said
			m.From = ctx.Sender // known from the connection, whatever the client wrote there
			_ = netcode.Send(server, netcode.ToAllBut(ctx.Sender), m)
			return
		}
		show(m.From, m.Text) // it runs on a client, where ctx.Sender is 0: the server sent it
	}, netcode.Over(netcode.ReliableOrdered), netcode.AtStage(tick.Update))
}

// end guide

// begin guide
type Opened struct{ By netcode.ClientID } // plain data needs no method

func player(protocol *netcode.Protocol, socket systems.Socket, now func() time.Duration, play func(door ecs.Entity)) (*systems.ClientSystems, error) {
	var group *systems.ClientSystems // the handler uses it when a message comes, and it is made below
	netcode.Handle(protocol, func(ctx *netcode.Context, m *Opened) {
		if door, ok := group.Entity(ctx.Entity); ok { // what the message is about
			play(door)
		}
	}, netcode.FromServer(), netcode.Over(netcode.Reliable))
	client, err := netcode.NewClient(protocol, netcode.Config{}) // freezes the protocol: all handlers come before it
	if err != nil {
		return nil, err
	}
	group = systems.NewClient(client, socket, now)
	return group, nil
}

func open(server *netcode.Server, door netcode.NetworkID, by netcode.ClientID) error {
	// To every client that sees the door, and not before the door exists there.
	return netcode.Send(server, netcode.ToSeers(door), &Opened{By: by}, netcode.About(door))
}

// end guide

func playersOf(protocol *netcode.Protocol, groups map[netcode.Endpoint]*systems.ClientSystems, play func(group *systems.ClientSystems, door ecs.Entity)) {
	netcode.Handle(protocol, func(ctx *netcode.Context, m *Opened) {
		group := groups[ctx.End] // groups[client] = systems.NewClient(client, …), for each client of this process
		if door, ok := group.Entity(ctx.Entity); ok {
			play(group, door)
		}
	}, netcode.FromServer(), netcode.Over(netcode.Reliable))
}

type Aimed struct {
	At netcode.NetworkID `net:"entity"` // the zero NetworkID for a client that may not see that entity
}

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
		var refused *errs.CallError
		switch {
		case errors.As(err, &refused):
			log.Print("the server says: ", refused.Text)
		case err != nil:
			log.Print(err) // errs.ErrDeadline, ctx's error, or why the connection ended
		default:
			tell(r.Count)
		}
	}, netcode.Within(3*time.Second))
}

// end guide

func bots(clients []*netcode.Client) { // after netcode.Answer[Price, Coins](protocol, nil)
	for offer, client := range clients {
		netcode.OnCall(client, func(_ *netcode.Context, _ *Price, r *Coins) error {
			r.Count = uint32(offer)
			return nil
		})
	}
}

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

// The client of the page over transport/memory, with a bad link around both ends, as testing.md shows it.
func screens(protocol *netcode.Protocol, clients []*netcode.Client, show func(screen int, text string)) {
	netcode.Handle[Chat](protocol, nil, netcode.Over(netcode.ReliableOrdered)) // before the ends are made
	for screen, client := range clients {
		netcode.On(client, func(_ *netcode.Context, m *Chat) { show(screen, m.Text) })
	}
}

func TestGuideMemoryAndTheHandlerOfOneClient(t *testing.T) {
	build := func(onOpened func(*netcode.Context, *Opened)) *netcode.Protocol {
		p := netcode.NewProtocol()
		netcode.Replicate[Position](p)
		if onOpened != nil {
			netcode.Handle(p, onOpened, netcode.FromServer(), netcode.Over(netcode.Reliable))
		}
		return p
	}
	var now time.Duration
	clock := func() time.Duration { return now }
	here, there, err := badLink(clock)
	require.NoError(t, err)
	server, err := netcode.NewServer(build(func(*netcode.Context, *Opened) {}), netcode.Config{})
	require.NoError(t, err)
	serverGroup := systems.NewServer(server, here, clock)
	opened := 0
	clientGroup, err := player(build(nil), there, clock, func(ecs.Entity) { opened++ })
	require.NoError(t, err)
	var door netcode.NetworkID
	serverGroup.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { door = id })
	worlds := []*ecs.World{ecs.New(), ecs.New()}
	loops := []*systems.Runner{systems.NewRunner(worlds[0], serverGroup, 60), systems.NewRunner(worlds[1], clientGroup, 60)}
	require.NoError(t, clientGroup.Client.Connect(here.LocalAddr()))
	makeDoor := generic.NewMap2[components.Replicated, Position](worlds[0])
	makeDoor.New()
	told := false
	for range 600 {
		now += time.Second / 60
		for _, loop := range loops {
			loop.Step()
		}
		if !told && clientGroup.Client.State() == netcode.Connected && !door.IsZero() {
			told = true
			require.NoError(t, open(server, door, 1))
		}
	}
	require.Equal(t, 1, opened)
}

func TestGuideMessages(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	var heard []string
	chats(p, func(from netcode.ClientID, text string) { heard = append(heard, fmt.Sprint(from, ": ", text)) })
	shop(p, map[uint16]uint32{3: 20})
	var door netcode.NetworkID
	groups := map[netcode.Endpoint]*systems.ClientSystems{}
	opened := map[*systems.ClientSystems]int{}
	playersOf(p, groups, func(group *systems.ClientSystems, door ecs.Entity) {
		_, ok := group.ID(door)
		require.True(t, ok, "an entity of its own world")
		opened[group]++
	})
	netcode.Handle[Aimed](p, nil)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 2, Seed: 1, Link: lossy(0.2),
		Setup: func(s *systems.ServerSystems, _ *ecs.World) {
			s.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { door = id })
		},
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) { groups[c.Client] = c },
	})
	require.ErrorIs(t, netcode.Send(n.Clients[0], netcode.ToServer(), &Chat{Text: "early"}), errs.ErrNotConnected)
	require.True(t, n.RunUntil(3*time.Second, n.Connected))
	require.NoError(t, netcode.Send(n.Clients[0], netcode.ToServer(), &Chat{From: 99, Text: "hello"}))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return len(heard) == 1 }))
	require.Equal(t, []string{fmt.Sprint(n.Clients[0].ID(), ": hello")}, heard, "the other client, once, and by the true name")

	build := generic.NewMap2[components.Replicated, Position](n.Server.World)
	build.New()
	require.True(t, n.RunUntil(time.Second, func() bool { return !door.IsZero() }))
	require.NoError(t, open(n.Server.Server, door, 1))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return len(opened) == 2 }))
	require.Equal(t, map[*systems.ClientSystems]int{n.Clients[0].Systems: 1, n.Clients[1].Systems: 1}, opened)

	var price uint32
	client := n.Clients[1].Client
	require.NoError(t, ask(context.Background(), client, 3, func(c uint32) { price = c }))
	require.NoError(t, ask(context.Background(), client, 4, func(uint32) { t.Error("it is not for sale") }))
	require.True(t, n.RunUntil(3*time.Second, func() bool { return price == 20 }))
	n.Run(time.Second)
}

// begin guide
func transfers(p *netcode.Protocol) { // on both sides
	transfer.Register(p, transfer.Config{FromClient: 2 << 20}) // from the server 16 MiB by default, from clients none
}

func receiveLevels(client *netcode.Client, load func(level []byte), bar func(part float64)) {
	transfer.On(client, transfer.Handler{
		Moved:  func(_ *transfer.Receiving, received, all int) { bar(float64(received) / float64(all)) },
		Done:   func(_ *transfer.Receiving, data []byte) { load(data) }, // data is yours
		Failed: func(r *transfer.Receiving, err error) { fmt.Println(r.Name(), err) },
	})
}

func sendMap(server *netcode.Server, to netcode.ClientID, level []byte) error {
	sending, err := transfer.Send(server, to, "level", level) // level must not change until it is over
	if err != nil {
		return err
	}
	sending.OnEnd(func(err error) {
		if err != nil {
			fmt.Println("client", to, "has no level:", err)
		}
	})
	return nil
}

// end guide

func TestGuideTransfers(t *testing.T) {
	p := netcode.NewProtocol()
	transfers(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Link: lossy(0.2), Server: netcode.Config{SendBudget: -1}})
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	level, part := make([]byte, 600<<10), 0.0
	level[len(level)-1] = 7
	var loaded []byte
	receiveLevels(n.Clients[0].Client, func(data []byte) { loaded = data }, func(p float64) { part = p })
	require.NoError(t, sendMap(n.Server.Server, n.Clients[0].ID(), level))
	require.True(t, n.RunUntil(30*time.Second, func() bool { return loaded != nil }))
	require.Equal(t, level, loaded)
	require.InDelta(t, 1, part, 0)
}
