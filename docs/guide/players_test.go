package guide_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// The code between the marks is that of players.md.

// begin guide
func connectAs(client *netcode.Client, server transport.Addr, ticket string) error {
	return client.ConnectWith(server, []byte(ticket)) // at most wire.MaxPayload bytes, 400
}

func approve(server *netcode.Server, accounts map[string]string) { // account by ticket
	server.OnApprove(func(a *netcode.Approval) {
		switch account, ok := accounts[string(a.Payload)]; {
		case a.User != "": // proved by a connect token
			a.Accept(a.User)
		case ok:
			a.Accept(account) // the identity of this player
		default:
			a.Refuse("sign in first") // the client gets the text
		}
	})
}

// end guide

// begin guide
func approveLater(server *netcode.Server, loop *systems.Runner, lookUp func(ticket string) (account string, err error)) {
	server.OnApprove(func(a *netcode.Approval) {
		ticket := string(a.Payload)
		go func() { // it may take a second; the client waits, and takes no place
			account, err := lookUp(ticket)
			loop.Do(func() { // in the server's goroutine again
				if err != nil {
					a.Refuse(err.Error())
					return
				}
				a.Accept(account)
			})
		}()
	})
}

// end guide

// begin guide
func returning(group *systems.ServerSystems, world *ecs.World, save func(account string)) {
	server := group.Server                 // made with netcode.Config{Keep: 2 * time.Minute}
	group.Away.Then = systems.KeepEntities // the default; DespawnEntities or HandOver
	avatars := generic.NewMap3[components.Replicated, components.Owner, Position](world)
	server.OnConnect(func(client netcode.ClientID) {
		if server.Returned(client) {
			return // its avatar waits for it, under the same id
		}
		avatars.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Position{})
	})
	server.OnLeave(func(client netcode.ClientID) { // for good: not within Keep, closed, kicked
		save(server.Identity(client))
	})
}

// end guide

// begin guide
func reconnect(client *netcode.Client, menu func(text string), again func()) {
	client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
		switch {
		case errors.Is(reason, errs.ReasonNotApproved):
			menu(reason.Detail) // the text of Refuse, or that the server did not decide in its time
		case errors.Is(reason, errs.ReasonPending):
			menu("the server could not decide in time") // in the HandshakeTimeout of this client
		case errors.Is(reason, errs.ReasonTakenOver):
			menu("you play on another device now")
		case errors.Is(reason, errs.ReasonAlreadyConnected): // with Config.RefuseSecond
			menu("you play already")
		case errors.Is(reason, errs.ReasonTimeout):
			again() // ConnectWith, with a good ticket: everything is as it was
		}
	})
}

// end guide

func TestGuidePlayers(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	var saved, told []string
	tickets, retries := []string{"ticket 1", "forged", "ticket 1", "ticket 2"}, 0
	n := nettest.New(t, nettest.Config{
		Protocol: p, Link: transport.Link{Delay: 20 * time.Millisecond}, Server: netcode.Config{Keep: 2 * time.Minute},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			approve(s.Server, map[string]string{"ticket 1": "anna", "ticket 2": "bert"})
			returning(s, w, func(account string) { saved = append(saved, account) })
		},
		Payload: func(i int) []byte { return []byte(tickets[i]) },
		SetupClient: func(_ int, c *systems.ClientSystems, _ *ecs.World) {
			reconnect(c.Client, func(text string) { told = append(told, text) }, func() { retries++ })
		},
	})
	anna := n.Join()
	require.True(t, n.RunUntil(time.Second, n.Connected))
	forger := n.Join()
	n.Run(time.Second)
	require.Equal(t, netcode.Disconnected, forger.State())
	require.Equal(t, []string{"sign in first"}, told)
	n.Remove(forger)

	avatars := func() (owners []netcode.ClientID) {
		filter := generic.NewFilter1[components.Owner]()
		for query := filter.Query(n.Server.World); query.Next(); {
			owners = append(owners, query.Get().Client)
		}
		return owners
	}
	n.Remove(anna) // Its process ends.
	n.Run(15 * time.Second)
	require.Nil(t, extend.OfServer(n.Server).Session(1))
	anna = n.Join()
	n.Join()
	require.True(t, n.RunUntil(time.Second, n.Connected))
	require.EqualValues(t, 1, anna.ID())
	require.Equal(t, []netcode.ClientID{1, 2}, avatars())
	n.AssertConverge()

	anna.Close()
	n.Run(3 * time.Second)
	require.Equal(t, []string{"anna"}, saved)
	require.Equal(t, []netcode.ClientID{2}, avatars())
	require.Zero(t, retries)
	require.NoError(t, connectAs(anna.Client, n.Address(), "ticket 2"))
	n.Run(time.Second)
	require.Equal(t, []string{"sign in first", "you play on another device now"}, told)
	require.EqualValues(t, 2, anna.ID())
}

func TestGuideApproveLater(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	long := netcode.Config{HandshakeTimeout: time.Hour} // The goroutines run when they run.
	server, err := netcode.NewServer(p, long)
	require.NoError(t, err)
	network := memory.NewNetwork()
	socket, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	var now time.Duration
	clock := func() time.Duration { return now }
	loops := []*systems.Runner{systems.NewRunner(nil, systems.NewServer(server, socket, clock), 60)}
	approveLater(server, loops[0], func(ticket string) (string, error) {
		if ticket != "anna" {
			return "", errors.New("no such account")
		}
		return ticket, nil
	})
	var clients []*netcode.Client
	var told []string
	for _, ticket := range []string{"anna", "forged"} {
		client, err := netcode.NewClient(p, long)
		require.NoError(t, err)
		own, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		reconnect(client, func(text string) { told = append(told, text) }, func() {})
		require.NoError(t, connectAs(client, socket.LocalAddr(), ticket))
		clients, loops = append(clients, client), append(loops, systems.NewRunner(nil, systems.NewClient(client, own, clock), 60))
	}
	for clients[0].State() != netcode.Connected || len(told) == 0 {
		now += time.Second / 60
		for _, loop := range loops {
			loop.Step()
		}
		runtime.Gosched()
	}
	require.Equal(t, []string{"no such account"}, told)
	require.Equal(t, "anna", server.Identity(clients[0].ID()))
}
