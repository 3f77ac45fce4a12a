package nats_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/fleet/nats/resume"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
)

// begin guide
func join(ctx context.Context, url, name, address string, messages *nats.Messages, takeOver func(*nats.Orphan)) (*nats.Node, error) {
	return nats.Start(ctx, nats.Config{
		Server:   name,    // unlike all others
		Address:  address, // where players reach this process
		URL:      url,     // of a NATS cluster, a flag of the program; empty: NATS runs in this process
		Embed:    nats.Embed{Listen: "127.0.0.1:0"},
		Messages: messages,
		Orphan:   takeOver, // a match whose process died: see below
		OnError:  func(err error) { log.Print(err) },
	})
}

// end guide

// begin guide
type match struct {
	server *netcode.Server
	world  ecs.World
	fleet  *nats.Match
	loop   *systems.Runner
}

// newMatch makes a match: a new one, or one that goes on with what an orphan has left.
func newMatch(ctx context.Context, node *nats.Node, id string, orphan *nats.Orphan, socket systems.Socket) (*match, error) {
	m := &match{world: ecs.NewWorld()}
	config := netcode.Config{TickRate: 30}
	setup := nats.MatchConfig{ID: id, Checkpoint: time.Second}
	if orphan != nil {
		checkpoint, err := orphan.Load(ctx)
		if err != nil {
			return nil, err
		}
		if checkpoint != nil {
			setup.Restore, config.FirstTick = checkpoint, checkpoint.Tick+1
		}
	}
	var err error
	if m.server, err = netcode.NewServer(gameProtocol(), config); err != nil {
		return nil, err
	}
	setup.Group = systems.NewServer(m.server, socket, systems.WallClock())
	if orphan != nil {
		m.fleet, err = orphan.Open(setup)
	} else {
		m.fleet, err = node.Open(ctx, setup)
	}
	if err != nil {
		return nil, err
	}
	m.server.OnConnect(func(client netcode.ClientID) {
		if len(m.fleet.Returned(client)) == 0 { // who comes back has its avatar again
			m.spawn(client)
		}
	})
	m.loop = systems.NewRunner(&m.world, m.fleet, 60) // the match in the place of its group
	return m, nil
}

// end guide

func (m *match) spawn(netcode.ClientID) {}

func gameProtocol() *netcode.Protocol {
	// begin guide
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	resume.Register(p) // on both sides: clients are told how much was lost
	// end guide
	return p
}

// begin guide
type Score struct{ Team, Points uint32 } // plain data needs no method

// fleetMessages are the messages between servers.
func fleetMessages(show func(match string, m *Score)) *nats.Messages {
	p := nats.NewMessages()
	nats.Handle(p, func(ctx *nats.Context, m *Score) { show(ctx.Match.ID(), m) }, tick.Update)
	return p
}

func tellAll(m *match, points uint32) error {
	return nats.Publish(m.fleet, nats.ToAll(), &Score{1, points})
}

func tellPlayer(m *match, user string, points uint32) error {
	if where, ok := m.fleet.Node().Player(user); !ok {
		return errors.New(user + " plays nowhere")
	} else if where.Match == m.fleet.ID() {
		return nil // here
	}
	return nats.Publish(m.fleet, nats.ToPlayer(user), &Score{1, points})
}

// end guide

// begin guide
// where answers GET /match/{id} with the address of a match, for players. A public game answers with a connect token.
func where(node *nats.Node) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /match/{id}", func(w http.ResponseWriter, r *http.Request) {
		m, ok := node.Match(r.PathValue("id"))
		if !ok || m.Address == "" { // nobody has taken it over yet
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprint(w, m.Address)
	})
	return mux
}

// end guide

// begin guide
// follow connects a client to a match, wherever that runs, and again whenever the connection ends.
func follow(client *netcode.Client, loop *systems.Runner, url, user string, lost func(time.Duration)) {
	resume.Of(client).OnResumed(lost) // what the player has seen since the checkpoint, and did not happen
	find := func() {
		for {
			if address, err := get(url); err == nil {
				if to, err := udp.Resolve(address); err == nil {
					loop.Do(func() { _ = client.ConnectWith(to, []byte(user)) })
					return
				}
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	client.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { go find() })
	go find()
}

// end guide

func get(url string) (string, error) {
	answer, err := http.Get(url) //nolint:noctx // The test's own server.
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 300))
	if answer.StatusCode != http.StatusOK {
		err = errors.Join(err, errors.New(answer.Status))
	}
	return string(text), err
}

// The guide's code works: two processes, a player that finds a match, a message to it.
func TestTheGuidesFleet(t *testing.T) {
	t.Parallel()
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	scores := make(chan string, 10)
	messages := func() *nats.Messages {
		return fleetMessages(func(match string, m *Score) { scores <- fmt.Sprint(match, m.Points) })
	}
	first, err := join(t.Context(), "", "first", socket.LocalAddr().String(), messages(), nil)
	require.NoError(t, err)
	defer func() { _ = first.Close() }()
	second, err := join(t.Context(), first.NATS(), "second", "127.0.0.1:1", messages(), func(*nats.Orphan) {})
	require.NoError(t, err)
	defer func() { _ = second.Close() }()
	red, err := newMatch(t.Context(), first, "red", nil, socket)
	require.NoError(t, err)
	red.server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	blue, err := newMatch(t.Context(), second, "blue", nil, systems.Offline{})
	require.NoError(t, err)
	backend := httptest.NewServer(where(second))
	defer backend.Close()
	client, err := netcode.NewClient(gameProtocol(), netcode.Config{})
	require.NoError(t, err)
	end, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	clientLoop := systems.NewRunner(nil, systems.NewClient(client, end, systems.WallClock()), 60)
	follow(client, clientLoop, backend.URL+"/match/red", "anna", func(time.Duration) {})
	told := false
	eventually(t, "a player is there, and gets a message of another match", func() bool {
		red.loop.Step()
		blue.loop.Step()
		clientLoop.Step()
		if _, ok := second.Player("anna"); ok && !told {
			told = true
			require.NoError(t, tellPlayer(blue, "anna", 3))
			require.NoError(t, tellPlayer(red, "anna", 4), "who is here needs no NATS")
			require.Error(t, tellPlayer(blue, "nobody", 5))
		}
		select {
		case got := <-scores:
			require.Equal(t, "red3", got)
			return true
		default:
			return false
		}
	})
	require.NoError(t, tellAll(red, 7))
	got := map[string]bool{}
	eventually(t, "both matches get it", func() bool {
		red.loop.Step()
		blue.loop.Step()
		select {
		case text := <-scores:
			got[text] = true
		default:
		}
		return got["red7"] && got["blue7"]
	})
}
