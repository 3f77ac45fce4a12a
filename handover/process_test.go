package handover_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// asServer is set for a process that is a server of the test.
const asServer = "NETCODE_TEST_HANDOVER"

// TestMain lets the test's own program be a server in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	if err := serveProcess(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type (
	// question is Config.Ask of one process to another, and its answer. The test carries it, as a backend would.
	question struct {
		To      string
		ID      handover.ID
		Arrived bool
	}
	// order runs a frame of a server's process at a time.
	order struct {
		Now    time.Duration
		Move   string     // begins to move the player to this server
		Void   []question // of the other server
		Answer []question // to this server
	}
	// report is the state of a server's process after a frame.
	report struct {
		Address      string
		Active, Held int // heroes
		Gold         uint32
		Asks         []question // for the other server
		Answers      []question // of Void
		Ended        []string   // outcomes of moves
	}
)

// processKey is the key of the servers' tokens. Time is virtual: only the sockets need real time.
var processKey = secure.Key{5}

func wallAt(now time.Duration) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(now)
}

func processToken(server string, now time.Duration) ([]byte, error) {
	return secure.Issue(processKey, secure.Token{User: "player 7", Servers: []string{server}, Issued: wallAt(now), Expires: wallAt(now + time.Minute)})
}

func processConfig() netcode.Config {
	return netcode.Config{Logger: quiet, SilenceTimeout: 5 * time.Second}
}

// serveProcess is a server that runs a frame for each order.
func serveProcess(in io.Reader, out io.Writer) error {
	var do order
	var say report
	now := func() time.Duration { return do.Now }
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		return err
	}
	say.Address = socket.LocalAddr().String()
	wall := func() time.Time { return wallAt(do.Now) }
	conn, err := secure.Listen(socket, secure.Config{Key: processKey, Admit: secure.Tokens(say.Address), Now: now, Wall: wall, Logger: quiet})
	if err != nil {
		return err
	}
	server, err := netcode.NewServer(newProtocol(), processConfig())
	if err != nil {
		return err
	}
	w, group := ecs.New(), systems.NewServer(server, conn, now)
	answers := map[handover.ID]func(bool){}
	mover := handover.Attach(group, handover.Config{Key: [32]byte{7}, Ask: func(to string, id handover.ID, answer func(bool)) {
		say.Asks = append(say.Asks, question{To: to, ID: id})
		answers[id] = answer
	}})
	mover.OnApprove(func(a *netcode.Approval) { a.Accept(a.User) })
	mover.OnEnd(func(_ netcode.ClientID, outcome handover.Outcome, _ error) {
		say.Ended = append(say.Ended, outcome.String())
	})
	spawn := generic.NewMap3[components.Replicated, components.Owner, hero](w)
	server.OnConnect(func(client netcode.ClientID) {
		if !mover.Arriving(client) {
			spawn.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &hero{Player: 7, Gold: 107})
		}
	})
	heroes := generic.NewFilter2[components.Owner, hero]()
	loop := systems.NewRunner(w, group, rate)
	orders, reports := json.NewDecoder(in), json.NewEncoder(out)
	for {
		if err := reports.Encode(&say); err != nil {
			return err
		}
		say, do = report{Address: say.Address}, order{}
		if err := orders.Decode(&do); err != nil {
			return nil // The test is over.
		}
		for _, q := range do.Void {
			q.Arrived = mover.Void(q.ID)
			say.Answers = append(say.Answers, q)
		}
		for _, q := range do.Answer {
			answers[q.ID](q.Arrived)
		}
		if do.Move != "" {
			token, err := processToken(do.Move, do.Now)
			if err != nil {
				return err
			}
			for client := range server.Clients {
				if err := mover.Move(client, handover.Destination{Server: do.Move, Token: token}); err != nil {
					return err
				}
			}
		}
		loop.Step()
		query := heroes.Query(w)
		for query.Next() {
			owner, h := query.Get()
			say.Gold = h.Gold
			if mover.Held(owner.Client) {
				say.Held++
			} else {
				say.Active++
			}
		}
	}
}

// serverProcess is a server in a process of its own.
type serverProcess struct {
	cmd     *exec.Cmd
	orders  *json.Encoder
	reports *json.Decoder
	last    report
	next    order
	ended   []string
	dead    bool
}

// processes are two servers and a player, who take turns: no frame of one begins before that of another has ended.
type processes struct {
	*testing.T
	now     time.Duration
	servers [2]*serverProcess
	loop    *systems.Runner
	player  *handover.Client
}

func newProcesses(t *testing.T) *processes {
	r := &processes{T: t}
	for i := range r.servers {
		s := &serverProcess{cmd: exec.CommandContext(t.Context(), os.Args[0])}
		s.cmd.Env = append(os.Environ(), asServer+"=1")
		s.cmd.Stderr = os.Stderr
		in, err := s.cmd.StdinPipe()
		require.NoError(t, err)
		out, err := s.cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, s.cmd.Start())
		t.Cleanup(func() { r.kill(s) })
		s.orders, s.reports = json.NewEncoder(in), json.NewDecoder(out)
		require.NoError(t, s.reports.Decode(&s.last))
		r.servers[i] = s
	}
	r.player = handover.NewClient(func(to handover.Destination, done func(*handover.Session, error)) { done(r.open(to)) })
	r.loop = systems.NewRunner(nil, r.player, rate)
	token, err := processToken(r.servers[0].last.Address, 0)
	require.NoError(t, err)
	r.player.Start(handover.Destination{Server: r.servers[0].last.Address, Token: token})
	return r
}

// open makes a session of the player over encrypted UDP.
func (r *processes) open(to handover.Destination) (*handover.Session, error) {
	address, err := udp.Resolve(to.Server)
	if err != nil {
		return nil, err
	}
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		return nil, err
	}
	now := func() time.Duration { return r.now }
	conn, err := secure.Dial(socket, secure.ClientConfig{Token: to.Token, Now: now, Wall: func() time.Time { return wallAt(r.now) }})
	if err != nil {
		return nil, err
	}
	client, err := netcode.NewClient(newProtocol(), processConfig())
	if err != nil {
		return nil, err
	}
	s := &handover.Session{Systems: systems.NewClient(client, conn, now), World: ecs.New(), Server: address, Close: func() { _ = conn.Close() }}
	s.Systems.Add(tick.PreUpdate, systems.Func(func(*ecs.World) { _ = input.Set(client, &stick{Move: 1}) }))
	return s, nil
}

// kill ends a process with SIGKILL.
func (r *processes) kill(s *serverProcess) {
	if !s.dead {
		s.dead = true
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// frame runs a frame of one server. Its questions and answers go to the other one: a dead one does not have the player.
func (r *processes) frame(s, other *serverProcess) {
	if s.dead {
		return
	}
	s.next.Now = r.now
	require.NoError(r, s.orders.Encode(&s.next))
	s.next, s.last = order{}, report{}
	require.NoError(r, s.reports.Decode(&s.last))
	s.ended = append(s.ended, s.last.Ended...)
	if other.dead {
		s.next.Answer = append(s.next.Answer, s.last.Asks...)
	} else {
		other.next.Void = append(other.next.Void, s.last.Asks...)
	}
	other.next.Answer = append(other.next.Answer, s.last.Answers...)
}

// until runs frames until something holds, after the servers' and before the player's.
func (r *processes) until(text string, limit time.Duration, holds func() bool) {
	r.Helper()
	for end := r.now + limit; ; time.Sleep(2 * time.Millisecond) { // In these the sockets work.
		require.Less(r, r.now, end, text)
		r.now += time.Second / rate
		a, b := r.servers[0], r.servers[1]
		r.frame(a, b)
		r.frame(b, a)
		require.LessOrEqual(r, r.active(a)+r.active(b), 1, "the player is on both servers")
		if holds() {
			return
		}
		r.loop.Step()
	}
}

// active returns the number of heroes that play on a server.
func (r *processes) active(s *serverProcess) int {
	if s.dead {
		return 0
	}
	return s.last.Active
}

// at reports whether the player plays on a server alone and sees itself there.
func (r *processes) at(s *serverProcess) bool {
	shown := r.player.Shown()
	if s.dead || s.last.Active != 1 || r.player.Moving() || shown == nil || shown.Server.String() != s.last.Address {
		return false
	}
	query, sees := generic.NewFilter2[components.Owner, hero]().Query(shown.World), 0
	for query.Next() {
		if owner, h := query.Get(); owner.Client == shown.Systems.Client.ID() && h.Gold == 107 {
			sees++
		}
	}
	return sees == 1 && s.last.Gold == 107
}

// TestAServerProcessIsKilledInAMove moves a player over encrypted UDP from one process to another. On its way back one of the two is
// killed: the player stays, or arrives.
func TestAServerProcessIsKilledInAMove(t *testing.T) {
	for _, c := range []struct {
		name   string
		moment func(old, new *serverProcess, moving bool) bool
		victim int // 0: the new server, 1: the old one
		home   int
	}{
		{"the new one before it has anything", func(old, _ *serverProcess, moving bool) bool { return moving && old.last.Held == 0 }, 0, 1},
		{"the new one when the player is given out", func(old, _ *serverProcess, _ bool) bool { return old.last.Held == 1 }, 0, 1},
		{"the old one when the player is given out", func(old, _ *serverProcess, _ bool) bool { return old.last.Held == 1 }, 1, 0},
		{"the old one when the player has come", func(old, new *serverProcess, _ bool) bool { return old.last.Held == 1 && new.last.Active == 1 }, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // They wait for sockets.
			r := newProcesses(t)
			first, second := r.servers[0], r.servers[1]
			r.until("it plays", 30*time.Second, func() bool { return r.at(first) })
			first.next.Move = second.last.Address
			r.until("it moves", 30*time.Second, func() bool { return r.at(second) && first.last.Held == 0 })
			require.Equal(t, []string{"moved"}, first.ended)
			second.next.Move = first.last.Address
			r.until("the moment comes", 30*time.Second, func() bool { return c.moment(second, first, r.player.Moving()) })
			r.kill(r.servers[c.victim])
			// Patience and Lease are longer than this: the client's word ends the move.
			r.until("it plays on", 9*time.Second, func() bool {
				return r.at(r.servers[c.home]) && (c.home == 0 || len(second.ended) > 0)
			})
			if c.home == 1 {
				require.Equal(t, []string{"stayed"}, second.ended)
			}
			for end := r.now + 6*time.Second; r.now < end; { // Longer than SilenceTimeout.
				r.until("it plays", time.Second, func() bool { return true })
				r.loop.Step()
			}
			require.True(t, r.at(r.servers[c.home]))
		})
	}
}
