package supervisor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/local"
	"github.com/arche-netcode/netcode/fleet/supervisor"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

// This program is the game too: a supervisor of a test starts it.
func TestMain(m *testing.M) {
	if program := os.Getenv(asSupervisor); program != "" {
		_ = os.Unsetenv(asSupervisor)
		fmt.Println("ended:", runAlone(program))
		return
	}
	switch err := game(); {
	case errors.Is(err, local.ErrAlone):
		os.Exit(m.Run())
	case err != nil:
		fmt.Println("ended:", err)
		os.Exit(1)
	}
}

// asSupervisor is the environment variable with which this program is a supervisor of a game, for a test that kills it.
const asSupervisor = "NETCODE_TEST_SUPERVISOR"

func runAlone(program string) error {
	s, err := supervisor.New(supervisor.Config{Command: []string{program}, Listen: "127.0.0.1:0", Start: patience, Health: patience, Out: io.Discard})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, s) }()
	fmt.Printf("http://%s\n", l.Addr())
	return s.Run(context.Background())
}

// where is told to a player that has connected: its server, its match and its ticket.
type where struct{ Server, Match, Ticket string }

func (w *where) Serialize(s *wire.Serializer) {
	s.String(&w.Server, 64)
	s.String(&w.Match, 64)
	s.String(&w.Ticket, 64)
}

// moved tells a player the connect token of its next server. Server.Move will do it by itself.
type moved struct{ Token string }

func (m *moved) Serialize(s *wire.Serializer) { s.String(&m.Token, 2000) }

// order is a command of a test to the game.
type order struct{ What string }

func (o *order) Serialize(s *wire.Serializer) { s.String(&o.What, 64) }

type body struct{ X int32 }

type bodyOfAnother struct{ X, Y float32 }

// protocol is that of a build.
func protocol(build string, onWhere func(*netcode.Context, *where), onMoved func(*netcode.Context, *moved), onOrder func(*netcode.Context, *order)) *netcode.Protocol {
	p := netcode.NewProtocol()
	if build == "breaking" {
		netcode.Replicate[bodyOfAnother](p, netcode.Named("body"))
	} else {
		netcode.Replicate[body](p, netcode.Named("body"))
	}
	netcode.Handle(p, onWhere, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle(p, onMoved, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle(p, onOrder, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	return p
}

// mark stands at the end of a copy of this program, before the name of its build.
const mark = "\nNETCODE TEST BUILD "

// buildOf returns the build of this program.
func buildOf() string {
	file, err := os.Executable()
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	if at := bytes.LastIndex(text, []byte(mark)); at >= len(text)-100 {
		return string(text[at+len(mark):])
	}
	return ""
}

// writeBuild writes a copy of this program as the game.
func writeBuild(t *testing.T, to, build string) {
	t.Helper()
	text, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to+".new", append(bytes.Clone(text), mark+build...), 0o755))
	require.NoError(t, os.Rename(to+".new", to))
}

// game is a server of the fleet.
func game() error {
	life, err := local.Open(context.Background())
	if err != nil {
		return err
	}
	build := buildOf()
	if build == "crashing" {
		return errors.New("the build crashes")
	}
	socket, err := udp.Listen(life.Listen(), udp.Config{})
	if err != nil {
		return err
	}
	conn, err := secure.Listen(socket, secure.Config{Key: life.Key(), Admit: secure.Tokens(life.Address()), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	var member *fleet.Member
	p := protocol(build, nil, nil, func(_ *netcode.Context, o *order) {
		switch o.What {
		case "crash":
			os.Exit(3)
		case "stall":
			select {}
		case "over":
			member.EndMatch(member.Matches()[0].ID)
		}
	})
	server, err := netcode.NewServer(p, netcode.Config{Clients: 128, SilenceTimeout: patience})
	if err != nil {
		return err
	}
	world := ecs.New()
	loop := systems.NewRunner(world, systems.NewServer(server, conn, systems.WallClock()), 60)
	member = fleet.Attach(loop, server, life, fleet.Config{
		Health: 200 * time.Millisecond, Drain: time.Minute,
		OnDrain: func(time.Duration) {
			fmt.Println("this line has no reader if the supervisor is gone")
			_ = netcode.Send(server, netcode.ToAll(), &where{Server: "draining"})
		},
		OnMatch: func(m fleet.Match) { fmt.Printf("match %s with %s\n", m.ID, m.Data) },
		Move: func(client netcode.ClientID, token []byte) error {
			return netcode.Send(server, netcode.To(client), &moved{base64.StdEncoding.EncodeToString(token)})
		},
	})
	server.OnConnect(func(client netcode.ClientID) {
		ticket, _ := member.TicketOf(client)
		_ = netcode.Send(server, netcode.To(client), &where{life.Name(), member.MatchOf(client), string(ticket.Data)})
	})
	fmt.Println("serves", life.Name())
	return member.Run(context.Background())
}

// player is a client of the game, run by the test.
type player struct {
	t      *testing.T
	client *netcode.Client
	conn   *secure.Client
	loop   *systems.ClientSystems
	run    *systems.Runner
	world  *ecs.World
	where  where
	token  []byte // Of its next server.
	lost   error
}

func join(t *testing.T, token []byte, config ...netcode.Config) *player {
	p := &player{t: t, world: ecs.New()}
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	p.conn, err = secure.Dial(socket, secure.ClientConfig{Token: token})
	require.NoError(t, err)
	t.Cleanup(p.leave)
	p.client, err = netcode.NewClient(protocol("", func(_ *netcode.Context, w *where) { p.where = *w }, func(_ *netcode.Context, m *moved) { p.token, _ = base64.StdEncoding.DecodeString(m.Token) }, nil), append(config, netcode.Config{HandshakeTimeout: patience, SilenceTimeout: patience})[0])
	require.NoError(t, err)
	p.client.OnDisconnect(func(_ netcode.ClientID, why *netcode.CloseError) { p.lost = why })
	p.loop = systems.NewClient(p.client, p.conn, systems.WallClock())
	p.run = systems.NewRunner(p.world, p.loop, 60)
	servers, err := secure.TokenServers(token)
	require.NoError(t, err)
	at, err := udp.Resolve(servers[0])
	require.NoError(t, err)
	require.NoError(t, p.client.Connect(at))
	return p
}

// until runs frames of players until done.
func until(t *testing.T, what string, done func() bool, players ...*player) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(2 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "never: %s", what)
		for _, p := range players {
			p.run.Step()
		}
	}
}

// enter joins, and waits until the server has told where the player is.
func enter(t *testing.T, token []byte) *player {
	t.Helper()
	p := join(t, token)
	until(t, "it is in", func() bool { return p.where.Server != "" || p.lost != nil || p.conn.Err() != nil }, p)
	return p
}

// order sends a command to the game; frames must follow.
func (p *player) order(what string) {
	require.NoError(p.t, netcode.Send(p.client, netcode.ToServer(), &order{what}))
}

// leave closes in order, so that the server need not wait for its silence.
func (p *player) leave() {
	p.client.Close()
	for deadline := time.Now().Add(patience); !p.client.Closed() && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		p.run.Step()
	}
	_ = p.conn.Close()
}

// lines keeps what the servers print.
type lines struct{ text chan string }

func (l *lines) Write(b []byte) (int, error) {
	select {
	case l.text <- strings.TrimSpace(string(b)):
	default:
	}
	return len(b), nil
}
