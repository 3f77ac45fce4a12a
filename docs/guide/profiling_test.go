package guide_test

import (
	"testing"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// The code between the marks, and in state_test.go, is that of profiling.md and testing.md.

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	return p
}

func walkers(w *ecs.World, frame int) {
	if frame == 1 {
		for range 100 {
			ecs.Spawn(w, nil, ecs.ComponentID[components.Replicated](w), ecs.ComponentID[Position](w))
		}
	}
	if frame > 120 {
		return // it comes to rest
	}
	id := ecs.ComponentID[Position](w)
	for query := ecs.Select(w, ecs.All(id)); query.Next(); {
		(*Position)(query.Get(id)).X += float32(frame % 7)
	}
}

func badLink(now func() time.Duration) (server, client transport.Conn, err error) {
	network := memory.NewNetwork()
	link := transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.05}
	a, err := network.Listen(transport.Addr{}) // some address: server.LocalAddr() is what a client connects to
	if err != nil {
		return nil, nil, err
	}
	b, err := network.Listen(transport.Addr{})
	if err != nil {
		return nil, nil, err
	}
	return transport.Condition(a, link, 1, now), transport.Condition(b, link, 2, now), nil // each for what it receives; 1 and 2 are seeds
}

// begin guide
func TestMyGame(t *testing.T) {
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(),
		Clients:  3,
		Seed:     1, // the same seed gives the same bytes
		Link:     transport.Link{Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.2},
		Game:     walkers, // func(w *ecs.World, frame int), on the server, in each frame
	})
	n.Run(3 * time.Second) // of virtual time; walkers stop after 2 s
	n.AssertConverge()     // every client's world is the server's
}

// end guide

// begin guide
func TestMyGameAmongLiars(t *testing.T) {
	p := protocol()
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 3, Seed: 1, Game: walkers})
	liar := adversary.NewClient(adversary.Config{Protocol: p, Conn: n.Listen(), Remote: n.Address(), Now: n.Now, Seed: 1})
	n.Each(liar.Step)
	n.RunUntil(time.Second, liar.Connected)
	liar.Messages(10)  // random legal messages of the game, of every type and in every stage
	liar.AckAhead(100) // of a packet that the server never sent: it ends the session
	n.Run(time.Second)
	if liar.Told("AckAhead") != 1 || liar.Reason() == nil {
		t.Fatal("the lie was not told, or not noticed")
	}
	n.AssertConverge() // the three others notice nothing

	server := adversary.NewServer(adversary.Config{Protocol: p, Conn: n.Listen(), Now: n.Now, Seed: 2})
	n.Each(server.Step)
	c := n.JoinAt(server.Address())
	server.Bend(server.FlipBits(3)) // a right checksum over damaged state
	n.RunUntil(5*time.Second, func() bool { return c.Err() != nil })
	if server.Told("Bend") == 0 || c.Err() == nil {
		t.Fatal("the client believes all that it is told")
	}
}

// end guide
