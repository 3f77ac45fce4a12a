package guide_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// newWorld returns an empty world, of the ECS of this build.
func newWorld() *ecs.World { return ecs.New() }

// Walk is the input of a player who wanders between servers.
type Walk struct{ X, Y float32 }

// begin guide
func movable(group *systems.ServerSystems, world *ecs.World, secret [32]byte, save func(user string)) *handover.Server {
	server := group.Server
	mover := handover.Attach(group, handover.Config{Key: secret})
	mover.OnApprove(func(a *netcode.Approval) { a.Accept(a.User) }) // in place of server.OnApprove
	avatars := generic.NewMap3[components.Replicated, components.Owner, Position](world)
	server.OnConnect(func(client netcode.ClientID) {
		if mover.Arriving(client) {
			return // its avatar is on its way
		}
		avatars.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Position{})
	})
	server.OnDisconnect(func(client netcode.ClientID, _ *netcode.CloseError) {
		if !mover.Moved(client) {
			save(server.Identity(client)) // it has left the game
		}
	})
	positions := generic.NewMap1[Position](world)
	mover.OnArrive(func(a *handover.Arrival) {
		at := positions.Get(a.Entities[0])
		at.X = 0                  // it comes in by the gate of this world
		for t := range a.Missed { // its inputs while it was on its way
			if walk, ok := input.At[Walk](server, a.Client, t); ok {
				at.X, at.Y = at.X+walk.X, at.Y+walk.Y
			}
		}
	})
	return mover
}

// end guide

// begin guide
func throughTheGate(mover *handover.Server, server *netcode.Server, client netcode.ClientID, key secure.Key, to string) error {
	token, err := secure.Issue(key, secure.Token{
		User: server.Identity(client), Servers: []string{to}, Expires: time.Now().Add(time.Minute),
	})
	if err != nil {
		return err
	}
	return mover.Move(client, handover.Destination{Server: to, Token: token})
}

// end guide

// begin guide
// openSession makes the game for one server: a client, a world, systems.
func openSession(protocol *netcode.Protocol, to handover.Destination) (*handover.Session, error) {
	address, err := udp.Resolve(to.Server)
	if err != nil {
		return nil, err
	}
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return nil, err
	}
	conn, err := secure.Dial(socket, secure.ClientConfig{Token: to.Token})
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	client, err := netcode.NewClient(protocol, netcode.Config{})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	world := newWorld() // as in the first game
	group := systems.NewClient(client, conn, systems.WallClock())
	group.Add(tick.PreUpdate, systems.Func(func(*ecs.World) {
		_ = input.Set(client, &Walk{X: 0.1}) // in both sessions, so that no input is lost
	}))
	group.Add(tick.PostLateUpdate, systems.Func(func(w *ecs.World) {
		if handover.Shown(client) {
			_ = w // draw it
		}
	}))
	return &handover.Session{Systems: group, World: world, Server: address, Close: func() { _ = conn.Close() }}, nil
}

func travel(protocol *netcode.Protocol, first handover.Destination) (*systems.Runner, *handover.Client) {
	player := handover.NewClient(func(to handover.Destination, done func(*handover.Session, error)) {
		done(openSession(protocol, to))
	})
	player.Start(first)
	return systems.NewRunner(nil, player, 60), player // run it as any loop
}

// end guide

// begin guide
func tellUndelivered(mover *handover.Server, player *handover.Client, server *netcode.Server, again func(to netcode.ClientID, c Chat)) {
	mover.OnUndelivered(func(u *handover.Undelivered) {
		if c, ok := extend.ReadPosted[Chat](server, &u.Message); ok && u.Sent {
			again(u.Client, c) // by another way, if it matters
		}
	})
	player.OnUndelivered(func(of *handover.Session, u *handover.Undelivered) {
		if c, ok := extend.ReadPosted[Chat](of.Systems.Client, &u.Message); ok && u.Sent {
			again(0, c)
		}
	})
}

// end guide

// TestAPlayerGoesThroughTheGate moves a player between two servers over encrypted UDP on real sockets.
func TestAPlayerGoesThroughTheGate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.key")
	key := secure.Key{1, 2, 3}
	require.NoError(t, writeKey(file, key))
	protocol := netcode.NewProtocol()
	netcode.Replicate[Position](protocol)
	netcode.Replicate[components.Owner](protocol)
	input.Register[Walk](protocol)
	netcode.Handle[Chat](protocol, nil, netcode.Over(netcode.Reliable))
	handover.Register(protocol)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // It only ends a test that hangs.
	defer cancel()
	var addresses [2]string
	var loops [2]*systems.Runner
	var movers [2]*handover.Server
	var saved atomic.Int32
	ended := make(chan handover.Outcome, 1)
	for i := range loops {
		addresses[i] = "127.0.0.1:" + freePort(t)
		world := ecs.New()
		loop, conn, err := publicServer(addresses[i], addresses[i], file, protocol, world)
		require.NoError(t, err)
		defer conn.Close()
		loops[i] = loop
		movers[i] = movable(loop.Group.(*systems.ServerSystems), world, [32]byte{9}, func(string) { saved.Add(1) })
		movers[i].OnEnd(func(_ netcode.ClientID, outcome handover.Outcome, _ error) { ended <- outcome })
		go func() { _ = loop.Run(ctx) }()
	}
	token, err := secure.Issue(key, secure.Token{User: "ann", Servers: addresses[:1], Expires: time.Now().Add(time.Minute)})
	require.NoError(t, err)
	loop, player := travel(protocol, handover.Destination{Server: addresses[0], Token: token})
	tellUndelivered(movers[0], player, loops[0].Group.(*systems.ServerSystems).Server, func(netcode.ClientID, Chat) {})
	shown := make(chan string, 2)
	player.OnSwitch(func(_, to *handover.Session) { shown <- to.Server.String() }) // The first session is shown already.
	at := generic.NewFilter1[Position]()
	for avatars := 0; avatars == 0; {
		loop.Step()
		query := at.Query(player.Shown().World)
		avatars = query.Count()
		query.Close()
		require.NoError(t, ctx.Err())
	}
	go func() { _ = loop.Run(ctx) }()
	require.True(t, loops[0].Do(func() {
		server := loops[0].Group.(*systems.ServerSystems).Server
		for client := range server.Clients {
			require.NoError(t, throughTheGate(movers[0], server, client, key, addresses[1]))
		}
	}))
	select {
	case outcome := <-ended:
		require.Equal(t, handover.Moved, outcome)
	case <-ctx.Done():
		t.Fatal("the player did not arrive")
	}
	require.Equal(t, addresses[1], <-shown)
	avatars := 0
	require.True(t, loop.Do(func() {
		query := at.Query(player.Shown().World)
		avatars = query.Count()
		query.Close()
	}))
	require.Equal(t, 1, avatars)
	require.Zero(t, saved.Load(), "a player that moved has left the game")
}
