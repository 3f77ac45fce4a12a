package guide_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/agones"
	"github.com/arche-netcode/netcode/fleet/local"
	"github.com/arche-netcode/netcode/fleet/supervisor"
	"github.com/arche-netcode/netcode/handover"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// This program is the server of the page too, when a fleet starts it.
func TestMain(m *testing.M) {
	world := ecs.New()
	switch err := fleetServer(context.Background(), fleetProtocol(), world); {
	case errors.Is(err, local.ErrAlone):
		os.Exit(m.Run())
	case err != nil:
		log.Fatal(err)
	}
}

// fleetProtocol returns the protocol of the page, whose players move.
func fleetProtocol() *netcode.Protocol {
	p := protocol()
	handover.Register(p)
	return p
}

// begin guide
// fleetServer is a server of a fleet: netcode fleet starts it.
func fleetServer(ctx context.Context, protocol *netcode.Protocol, world *ecs.World) error {
	life, err := local.Open(ctx) // local.ErrAlone: nobody started it as one of a fleet
	if err != nil {
		return err
	}
	socket, err := udp.Listen(life.Listen(), udp.Config{})
	if err != nil {
		return err
	}
	conn, err := secure.Listen(socket, secure.Config{Key: life.Key(), Admit: secure.Tokens(life.Address())})
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	server, err := netcode.NewServer(protocol, netcode.Config{Keep: 20 * time.Second})
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	group := systems.NewServer(server, conn, systems.WallClock())
	member, mover := attachMoving(systems.NewRunner(world, group, 60), group, life, fleet.Config{
		Empty:   30 * time.Second, // a match without players is over then
		Drain:   2 * time.Minute,  // players have this time after SIGTERM
		OnMatch: func(match fleet.Match) { log.Printf("build the level %s for match %s", match.Data, match.ID) },
		OnOver:  func(match fleet.Match) { log.Printf("remove the level of match %s", match.ID) },
	})
	server.OnConnect(func(client netcode.ClientID) {
		ticket, _ := member.TicketOf(client)
		log.Printf("%s plays in match %s for team %s", server.Identity(client), ticket.Match, ticket.Data)
		if !mover.Arriving(client) {
			log.Printf("spawn the body of %s", server.Identity(client)) // else it comes along
		}
	})
	return member.Run(ctx) // until SIGTERM, Ctrl-C, or an order of the fleet
}

// end guide

// begin guide
// attachMoving attaches a server to its fleet, so that a drain moves its players to other servers.
func attachMoving(loop *systems.Runner, group *systems.ServerSystems, life *local.Lifecycle, config fleet.Config) (member *fleet.Member, mover *handover.Server) {
	config.Move = func(client netcode.ClientID, token []byte) error {
		servers, err := secure.TokenServers(token)
		if err != nil {
			return err
		}
		return mover.Move(client, handover.Destination{Server: servers[0], Token: token})
	}
	member = fleet.Attach(loop, group.Server, life, config)
	mover = handover.Attach(group, handover.Config{Key: life.Shared()})
	mover.OnApprove(member.Approve) // both took Server.OnApprove: the later one asks the first one
	mover.OnEnd(func(client netcode.ClientID, outcome handover.Outcome, _ error) {
		if outcome == handover.Stayed {
			member.MoveAgain(client)
		}
	})
	return member, mover
}

// end guide

// begin guide
// askFleet asks netcode fleet for a place: in a new match, or in that of an earlier answer.
func askFleet(ctx context.Context, url, bearer string, ask supervisor.Request) (answer supervisor.Answer, err error) {
	body, err := json.Marshal(ask) // {"user":"ann","match":"","data":"sand","ticket":"red"}
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/match", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+bearer)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated { // 503 and 429: try again after a second
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return answer, fmt.Errorf("the fleet: %s: %s", response.Status, text)
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// end guide

// begin guide
// openAgones is the beginning of the same server on Kubernetes. key comes from a Secret, which the allocator has too.
func openAgones(ctx context.Context, key secure.Key, listen string) (*agones.Lifecycle, *secure.Server, error) {
	life, err := agones.Open(ctx, agones.Config{Counter: "players", List: "players"})
	if err != nil {
		return nil, nil, err
	}
	socket, err := udp.Listen(listen, udp.Config{}) // ":7654", the containerPort
	if err != nil {
		return nil, nil, err
	}
	conn, err := secure.Listen(socket, secure.Config{Key: key, Admit: secure.Tokens(life.Address())})
	return life, conn, err // for fleet.Attach, with fleet.Config.Single: a new pod for each match
}

// end guide

// The servers of the page play: a match is asked for, two users join it, and the fleet ends in order.
func TestTheFleetOfThePage(t *testing.T) {
	var lines bytes.Buffer
	s, err := supervisor.New(supervisor.Config{Command: os.Args[:1], Servers: 2, Listen: "127.0.0.1:0", Out: &lines, Logger: slog.New(slog.DiscardHandler), Start: time.Minute, Health: time.Minute})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	backend := httptest.NewServer(s)
	defer backend.Close()
	var first supervisor.Answer
	for deadline := time.Now().Add(time.Minute); first.Match == ""; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no server was ready: %v", err)
		first, err = askFleet(ctx, backend.URL, "", supervisor.Request{User: "ann", Data: "sand", Ticket: "red"})
	}
	second, err := askFleet(ctx, backend.URL, "", supervisor.Request{User: "bob", Match: first.Match, Ticket: "blue"})
	require.NoError(t, err)
	require.Equal(t, first.Server, second.Server)
	for _, a := range []supervisor.Answer{first, second} {
		conn, address, err := playerSocket(a.Token)
		require.NoError(t, err)
		require.Equal(t, first.Address, address)
		client, err := netcode.NewClient(fleetProtocol(), netcode.Config{})
		require.NoError(t, err)
		at, err := udp.Resolve(address)
		require.NoError(t, err)
		require.NoError(t, client.Connect(at))
		world := ecs.New()
		loop := systems.NewRunner(world, systems.NewClient(client, conn, systems.WallClock()), 60)
		for deadline := time.Now().Add(time.Minute); client.State() != netcode.Connected; time.Sleep(time.Millisecond) {
			require.True(t, time.Now().Before(deadline), "%v %v", client.Err(), conn.Err())
			loop.Step()
		}
		require.NoError(t, loop.Close(ctx))
		require.NoError(t, conn.Close())
	}
	_, err = askFleet(ctx, backend.URL, "", supervisor.Request{User: "eve", Match: "of another fleet"})
	require.ErrorContains(t, err, "404 Not Found")
	stop()
	require.NoError(t, <-done)
	require.Contains(t, lines.String(), "build the level sand for match "+first.Match)
	require.Contains(t, lines.String(), "ann plays in match "+first.Match+" for team red")
	require.Contains(t, lines.String(), "bob plays in match "+first.Match+" for team blue")
}

// The server on Kubernetes takes tokens for the address that Agones gave it.
func TestTheServerOnAgones(t *testing.T) {
	sidecar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gameserver" {
			_, _ = io.WriteString(w, `{"object_meta":{"name":"game-1"},"status":{"state":"Scheduled","address":"203.0.113.7","ports":[{"name":"game","port":7001}]}}`)
		}
	}))
	defer sidecar.Close()
	t.Setenv("AGONES_SDK_HTTP_PORT", sidecar.URL[len("http://127.0.0.1:"):])
	key, err := secure.NewKey()
	require.NoError(t, err)
	life, conn, err := openAgones(t.Context(), key, "127.0.0.1:0")
	require.NoError(t, err)
	require.Equal(t, "203.0.113.7:7001", life.Address())
	require.NoError(t, conn.Close())
}
