package supervisor_test

import (
	"bytes"
	"context"
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
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/local"
	"github.com/arche-netcode/netcode/fleet/supervisor"
	"github.com/arche-netcode/netcode/handover"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
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

// order is a command of a test to the game.
type order struct{ What string }

func (o *order) Serialize(s *wire.Serializer) { s.String(&o.What, 64) }

type body struct{ X int32 }

type bodyOfAnother struct{ X, Y float32 }

// bag is the entity of a player: it goes with it from server to server.
type bag struct {
	Name  wire.Text16 // Its user.
	Gold  uint32      // One for each order "dig".
	Moves uint32      // Counted by the servers to which it came.
}

// protocol is that of a build.
func protocol(build string) *netcode.Protocol {
	p := netcode.NewProtocol()
	if build == "breaking" {
		netcode.Replicate[bodyOfAnother](p, netcode.Named("body"))
	} else {
		netcode.Replicate[body](p, netcode.Named("body"))
	}
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[bag](p)
	netcode.Handle[where](p, nil, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[order](p, nil, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	handover.Register(p)
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
	server, err := netcode.NewServer(protocol(build), netcode.Config{Clients: 128, SilenceTimeout: patience})
	if err != nil {
		return err
	}
	h := &hall{server: server, world: ecs.New(), life: life}
	h.attach(systems.NewServer(server, conn, systems.WallClock()))
	fmt.Println("serves", life.Name())
	return h.member.Run(context.Background())
}

// hall is the game of one process.
type hall struct {
	server *netcode.Server
	world  *ecs.World
	life   *local.Lifecycle
	member *fleet.Member
	mover  *handover.Server
}

// attach attaches the game to its fleet, so that a drain moves its players.
func (h *hall) attach(group *systems.ServerSystems) {
	h.member = fleet.Attach(systems.NewRunner(h.world, group, 60), h.server, h.life, fleet.Config{
		Health: 200 * time.Millisecond, Drain: time.Minute,
		OnDrain: func(time.Duration) {
			fmt.Println("this line has no reader if the supervisor is gone")
			_ = netcode.Send(h.server, netcode.ToAll(), &where{Server: "draining"})
		},
		OnMatch: func(m fleet.Match) { fmt.Printf("match %s with %s\n", m.ID, m.Data) },
		Move: func(client netcode.ClientID, token []byte) error {
			servers, err := secure.TokenServers(token)
			if err != nil {
				return err
			}
			return h.mover.Move(client, handover.Destination{Server: servers[0], Token: token})
		},
	})
	h.mover = handover.Attach(group, handover.Config{Key: h.life.Shared(), Patience: patience, Lease: patience})
	h.mover.OnApprove(h.member.Approve)
	h.mover.OnEnd(func(client netcode.ClientID, outcome handover.Outcome, err error) {
		fmt.Println(client, outcome, err)
		if outcome == handover.Stayed {
			h.member.MoveAgain(client)
		}
	})
	bags := generic.NewMap3[components.Replicated, components.Owner, bag](h.world)
	h.server.OnConnect(func(client netcode.ClientID) {
		ticket, _ := h.member.TicketOf(client)
		_ = netcode.Send(h.server, netcode.To(client), &where{h.life.Name(), h.member.MatchOf(client), string(ticket.Data)})
		if !h.mover.Arriving(client) { // Else its bag is on its way.
			bags.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &bag{Name: wire.NewText[[16]byte](h.server.Identity(client))})
		}
	})
	h.mover.OnArrive(func(a *handover.Arrival) {
		for _, e := range a.Entities {
			_, _, b := bags.Get(e)
			b.Moves++
		}
	})
	netcode.On(h.server, h.obey)
}

// obey does what a test orders.
func (h *hall) obey(ctx *netcode.Context, o *order) {
	switch o.What {
	case "crash":
		os.Exit(3)
	case "stall":
		select {}
	case "over":
		h.member.EndMatch(h.member.Matches()[0].ID)
	case "dig":
		for query := generic.NewFilter2[components.Owner, bag]().Query(h.world); query.Next(); {
			if owner, b := query.Get(); owner.Client == ctx.Sender {
				b.Gold++
			}
		}
	}
}

// seat is a session of a player at one server.
type seat struct {
	client *netcode.Client
	conn   *secure.Client
	world  *ecs.World
	where  where
}

// player is a client of the game, run by the test. Its seat is the one that is shown.
type player struct {
	*seat
	t     *testing.T
	mover *handover.Client
	run   *systems.Runner
	seats map[*netcode.Client]*seat
	lost  error // The end of a session that was shown.
	fails []error
}

func join(t *testing.T, token []byte, config ...netcode.Config) *player {
	t.Helper()
	p := &player{t: t, seats: map[*netcode.Client]*seat{}}
	p.mover = handover.NewClient(func(to handover.Destination, done func(*handover.Session, error)) {
		done(p.open(to, append(config, netcode.Config{HandshakeTimeout: patience, SilenceTimeout: patience})[0]))
	})
	p.mover.OnSwitch(func(_, to *handover.Session) { p.seat = p.seats[to.Systems.Client] })
	p.mover.OnFail(func(err error) { p.fails = append(p.fails, err) })
	p.run = systems.NewRunner(nil, p.mover, 60)
	servers, err := secure.TokenServers(token)
	require.NoError(t, err)
	p.mover.Start(handover.Destination{Server: servers[0], Token: token})
	require.Empty(t, p.fails)
	t.Cleanup(p.leave)
	return p
}

// open makes a session of the game.
func (p *player) open(to handover.Destination, config netcode.Config) (*handover.Session, error) {
	at, err := udp.Resolve(to.Server)
	if err != nil {
		return nil, err
	}
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		return nil, err
	}
	s := &seat{world: ecs.New()}
	if s.conn, err = secure.Dial(socket, secure.ClientConfig{Token: to.Token}); err != nil {
		return nil, err
	}
	if s.client, err = netcode.NewClient(protocol(""), config); err != nil {
		return nil, err
	}
	p.seats[s.client] = s
	netcode.On(s.client, func(_ *netcode.Context, w *where) { s.where = *w })
	s.client.OnDisconnect(func(_ netcode.ClientID, why *netcode.CloseError) {
		if handover.Shown(s.client) {
			p.lost = why
		}
	})
	return &handover.Session{
		Systems: systems.NewClient(s.client, s.conn, systems.WallClock()), World: s.world, Server: at, Close: func() { _ = s.conn.Close() },
	}, nil
}

// bags returns the bags of the world that a player sees, by their names. It fails if there are two of a name.
func (p *player) bags() map[string]bag {
	all := map[string]bag{}
	for query := generic.NewFilter1[bag]().Query(p.world); query.Next(); {
		b := *query.Get()
		require.NotContains(p.t, all, b.Name.String(), "it is twice in one world")
		all[b.Name.String()] = b
	}
	return all
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
	p.mover.Close()
	for deadline := time.Now().Add(patience); !p.mover.Closed() && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		p.run.Step()
	}
	p.mover.Finalize(nil)
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
