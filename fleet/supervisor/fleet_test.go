package supervisor_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/fleet/supervisor"
	"github.com/arche-netcode/netcode/transport/secure"
)

// patience ends a test that hangs.
const patience = time.Minute

// hosted is a supervisor that runs, with its program.
type hosted struct {
	*supervisor.Supervisor
	t       testing.TB
	program string
	backend *httptest.Server
	lines   lines
	stop    func()
}

// host runs a fleet. Only what a test asks for has a time that a slow machine could exceed.
func host(t *testing.T, c supervisor.Config) *hosted {
	h := &hosted{t: t, program: filepath.Join(t.TempDir(), "game"), lines: lines{make(chan string, 1<<12)}}
	writeBuild(t, h.program, "first")
	c.Command, c.Out, c.Logger = []string{h.program}, &h.lines, slog.New(slog.DiscardHandler)
	c.Listen, c.Poll = "127.0.0.1:0", 20*time.Millisecond
	for _, d := range []*time.Duration{&c.Start, &c.Health, &c.Drain} {
		if *d == 0 {
			*d = patience
		}
	}
	h.open(c)
	t.Cleanup(h.close)
	h.wait("all are ready", func(f supervisor.Fleet) bool { return count(f, "ready") == c.Servers })
	return h
}

func (h *hosted) open(c supervisor.Config) {
	s, err := supervisor.New(c)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	h.Supervisor, h.backend = s, httptest.NewServer(s)
	h.stop = func() {
		cancel()
		require.NoError(h.t, <-done)
		h.backend.Close()
	}
}

// close ends the fleet, and prints what it did if the test failed.
func (h *hosted) close() {
	log := h.Fleet().Log
	h.stop()
	require.Empty(h.t, h.Fleet().Servers, "all have ended")
	if h.t.Failed() {
		h.t.Log(strings.Join(log, "\n"))
		for len(h.lines.text) > 0 {
			h.t.Log(<-h.lines.text)
		}
	}
}

func count(f supervisor.Fleet, state string) (n int) {
	for _, s := range f.Servers {
		if s.State == state {
			n++
		}
	}
	return n
}

func (h *hosted) wait(what string, done func(supervisor.Fleet) bool) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); !done(h.Fleet()); time.Sleep(5 * time.Millisecond) {
		require.True(h.t, time.Now().Before(deadline), "never: %s: %+v", what, h.Fleet())
	}
}

// match asks for a match as a backend does.
func (h *hosted) match(r supervisor.Request) (a supervisor.Answer, status int) {
	h.t.Helper()
	text, err := json.Marshal(r)
	require.NoError(h.t, err)
	answer, err := http.Post(h.backend.URL+"/match", "application/json", bytes.NewReader(text))
	require.NoError(h.t, err)
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusCreated {
		require.NoError(h.t, json.NewDecoder(answer.Body).Decode(&a))
	}
	return a, answer.StatusCode
}

func (h *hosted) mustMatch(r supervisor.Request) supervisor.Answer {
	h.t.Helper()
	a, status := h.match(r)
	require.Equal(h.t, http.StatusCreated, status)
	return a
}

// refusedBy returns why an attempt with a token fails.
func refusedBy(t *testing.T, token []byte) error {
	t.Helper()
	p := enter(t, token)
	require.Empty(t, p.where.Server)
	if err := p.conn.Err(); err != nil {
		return err
	}
	return p.lost
}

// Two players get into one match, a third one into another at the other server. Their tokens are good once, for their match, at the process
// that they were issued for.
func TestATokenIsForOneMatchOnce(t *testing.T) {
	t.Parallel()
	h := host(t, supervisor.Config{Servers: 2})
	ask := h.mustMatch(supervisor.Request{User: "ann", Data: "sand", Ticket: "red"})
	ann := enter(t, ask.Token)
	require.Equal(t, where{ask.Server, ask.Match, "red"}, ann.where)
	bobs := h.mustMatch(supervisor.Request{User: "bob", Match: ask.Match, Ticket: "blue"})
	bob := enter(t, bobs.Token)
	require.Equal(t, where{ask.Server, ask.Match, "blue"}, bob.where)
	other := h.mustMatch(supervisor.Request{User: "carl"})
	require.NotEqual(t, ask.Server, other.Server, "the server with the fewest matches")
	require.NotEqual(t, ask.Match, other.Match)
	h.wait("it reports", func(f supervisor.Fleet) bool { return f.Servers[0].Players+f.Servers[1].Players == 2 })

	require.ErrorIs(t, refusedBy(t, ask.Token), secure.ErrTokenUsed)

	// A token with the address of another server, as whoever steals one may try: each process has its own key.
	stolen := bytes.Replace(bytes.Clone(h.mustMatch(supervisor.Request{User: "eve", Match: ask.Match}).Token), []byte(ask.Address), []byte(other.Address), 1)
	if len(ask.Address) == len(other.Address) {
		eve := join(t, stolen, netcode.Config{HandshakeTimeout: time.Second})
		until(t, "it has no answer", func() bool { return eve.lost != nil }, eve)
		require.Empty(t, eve.where)
	}

	// The match is over: its tokens are good no more, and it is no match of the fleet.
	late := h.mustMatch(supervisor.Request{User: "dora", Match: ask.Match})
	ann.order("over")
	until(t, "it is over", func() bool { f := h.Fleet(); return f.Servers[0].Matches+f.Servers[1].Matches == 1 }, ann)
	require.ErrorContains(t, refusedBy(t, late.Token), "it is over")
	_, status := h.match(supervisor.Request{User: "dora", Match: ask.Match})
	require.Equal(t, http.StatusNotFound, status)
	select {
	case line := <-h.lines.text:
		require.Regexp(t, `^game-\d: `, line)
	default:
		require.Fail(t, "nothing was printed")
	}
}

// A server that crashes is restarted. Its matches and their tokens died with it.
func TestAServerThatCrashesIsRestarted(t *testing.T) {
	t.Parallel()
	h := host(t, supervisor.Config{Servers: 1, Restart: time.Millisecond})
	before := h.Fleet().Servers[0].Name
	ask := h.mustMatch(supervisor.Request{User: "ann"})
	p := enter(t, ask.Token)
	p.order("crash")
	until(t, "it is another one", func() bool {
		f := h.Fleet()
		return len(f.Servers) == 1 && f.Servers[0].Name != before && f.Servers[0].State == "ready"
	}, p)
	_, status := h.match(supervisor.Request{User: "bob", Match: ask.Match})
	require.Equal(t, http.StatusNotFound, status, "the match died with it")
	require.Equal(t, "ann", enter(t, h.mustMatch(supervisor.Request{User: "ann", Ticket: "ann"}).Token).where.Ticket)
	var metrics bytes.Buffer
	h.WriteMetrics(&metrics)
	require.Contains(t, metrics.String(), "\nnetcode_fleet_crashes_total 1\n")
}

// A server that gets SIGTERM, as from Kubernetes, drains: it takes nobody new, ends in order when its players have left, and is followed.
func TestSIGTERMDrains(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	t.Parallel()
	h := host(t, supervisor.Config{Servers: 1})
	first := h.Fleet().Servers[0]
	ask := h.mustMatch(supervisor.Request{User: "ann"})
	p := enter(t, ask.Token)
	late := h.mustMatch(supervisor.Request{User: "bob", Match: ask.Match})
	process, err := os.FindProcess(first.Process)
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGTERM))
	until(t, "it drains", func() bool { return h.Fleet().Servers[0].State == "draining" }, p)
	bob := join(t, late.Token)
	until(t, "nobody new", func() bool { return bob.lost != nil }, p, bob)
	require.ErrorContains(t, bob.lost, "drains")
	_, status := h.match(supervisor.Request{User: "bob"})
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NoError(t, p.lost, "it may finish")
	p.leave()
	h.wait("another follows", func(f supervisor.Fleet) bool { return count(f, "ready") == 1 && f.Servers[0].Name != first.Name })
	require.Contains(t, strings.Join(h.Fleet().Log, "\n"), first.Name+" ended in order")
}

// The servers of a supervisor that is killed drain: their players are told, though nobody reads what the servers print.
func TestServersOutliveTheirSupervisor(t *testing.T) {
	t.Parallel()
	h := &hosted{t: t, program: filepath.Join(t.TempDir(), "game")}
	writeBuild(t, h.program, "first")
	chief := exec.Command(os.Args[0])
	chief.Env = append(os.Environ(), asSupervisor+"="+h.program)
	out, err := chief.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, chief.Start())
	t.Cleanup(func() { _ = chief.Process.Kill(); _ = chief.Wait() })
	line := bufio.NewScanner(out)
	require.True(t, line.Scan())
	h.backend = &httptest.Server{URL: line.Text()}
	var ask supervisor.Answer
	for deadline := time.Now().Add(patience); ask.Match == ""; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
		ask, _ = h.match(supervisor.Request{User: "ann"})
	}
	p := enter(t, ask.Token)
	require.Equal(t, ask.Match, p.where.Match)
	require.NoError(t, chief.Process.Kill())
	until(t, "it drains", func() bool { require.NoError(t, p.lost); return p.where.Server == "draining" }, p)
}

// A server whose ticks stand still is killed and restarted.
func TestAServerThatStandsStillIsKilled(t *testing.T) {
	t.Parallel()
	h := host(t, supervisor.Config{Servers: 1, Health: 2 * time.Second, Restart: time.Millisecond})
	p := join(t, h.mustMatch(supervisor.Request{User: "ann"}).Token)
	until(t, "it is in, or it was too slow for this machine", func() bool { return p.where.Server != "" || p.lost != nil }, p)
	if p.lost == nil {
		p.order("stall")
	}
	until(t, "it is killed", func() bool { return strings.Contains(strings.Join(h.Fleet().Log, "\n"), "its ticks stand still") }, p)
	h.wait("it is another one", func(f supervisor.Fleet) bool { return count(f, "ready") == 1 && f.Servers[0].Name != "game-1" })
}

// Matches are spread over the servers, each has a server and an id of its own, and a full fleet says so.
func TestMatchesAreSpread(t *testing.T) {
	t.Parallel()
	const servers, each, callers = 3, 100, 6
	h := host(t, supervisor.Config{Servers: servers, Matches: each})
	var mu sync.Mutex
	ids, at := map[string]bool{}, map[string]int{}
	var group sync.WaitGroup
	begun := time.Now()
	for caller := range callers {
		group.Go(func() {
			for range servers * each / callers {
				a, status := h.match(supervisor.Request{User: fmt.Sprint("user", caller)})
				mu.Lock()
				if status == http.StatusCreated {
					ids[a.Match] = true
					at[a.Server]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	t.Logf("%.0f matches a second, from POST /match to the answer", float64(len(ids))/time.Since(begun).Seconds())
	require.Len(t, ids, servers*each)
	require.Equal(t, []int{each, each, each}, slices.Collect(maps.Values(at)))
	_, status := h.match(supervisor.Request{User: "one too many"})
	require.Equal(t, http.StatusServiceUnavailable, status)
	h.wait("each server has been told", func(f supervisor.Fleet) bool {
		return !slices.ContainsFunc(f.Servers, func(s supervisor.Server) bool { return s.Matches != each })
	})
}

// A program that always crashes is started with pauses that grow.
func TestRestartsBackOff(t *testing.T) {
	t.Parallel()
	h := &hosted{t: t, program: filepath.Join(t.TempDir(), "game"), lines: lines{make(chan string, 1<<12)}}
	writeBuild(t, h.program, "crashing")
	h.open(supervisor.Config{Command: []string{h.program}, Servers: 1, Listen: "127.0.0.1:0", Restart: 100 * time.Millisecond, Poll: 20 * time.Millisecond, Out: &h.lines, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(h.close)
	starts := func() (n int) {
		for _, line := range h.Fleet().Log {
			if strings.Contains(line, " started at port ") {
				n++
			}
		}
		return n
	}
	begun := time.Now()
	h.wait("three starts", func(supervisor.Fleet) bool { return starts() >= 3 })
	require.GreaterOrEqual(t, time.Since(begun), 300*time.Millisecond, "100 and 200 ms of pauses")
	require.Contains(t, strings.Join(h.Fleet().Log, "\n"), "ended: exit status 1")
	_, status := h.match(supervisor.Request{User: "ann"})
	require.Equal(t, http.StatusServiceUnavailable, status)
	writeBuild(t, h.program, "first") // The cure.
	h.wait("it is cured", func(f supervisor.Fleet) bool { return count(f, "ready") == 1 && f.Rollout == "" })
}

// A new build replaces all servers one by one, while bots play. Each is moved with its bag: no session that is shown ends, no bag is
// missing from a picture, none is lost, and none is at two servers.
func TestARolloutMovesPlayers(t *testing.T) {
	t.Parallel()
	h := host(t, supervisor.Config{Servers: 4})
	old := map[string]bool{}
	for _, s := range h.Fleet().Servers {
		old[s.Name] = true
	}
	const bots = 200
	players, matches := h.joinMatches(bots)
	t.Cleanup(func() { leaveAll(players) })
	digs := func(i int) int { return i%5 + 1 }
	for i, p := range players {
		for range digs(i) {
			p.order("dig")
		}
	}
	seesItsGold := func(more int) func() bool {
		return func() bool {
			for i, p := range players {
				if p.bags()[nameOf(i)].Gold != uint32(digs(i)+more) {
					return false
				}
			}
			return true
		}
	}
	until(t, "all have dug", seesItsGold(0), players...)

	begun := time.Now()
	writeBuild(t, h.program, "second")
	until(t, "all servers are replaced", func() bool {
		for i, p := range players {
			require.NoError(t, p.lost, "bot %d was disconnected", i)
			require.Empty(t, p.fails, "bot %d", i)
			require.Contains(t, p.bags(), nameOf(i), "it is in its picture at all times")
		}
		f := h.Fleet()
		return f.Rollout == "" && count(f, "ready") == 4 && len(f.Servers) == 4 && !slices.ContainsFunc(f.Servers, func(s supervisor.Server) bool { return old[s.Name] })
	}, players...)
	t.Logf("%d bots, four servers replaced in %v", bots, time.Since(begun).Round(10*time.Millisecond))

	until(t, "all are counted once", func() bool {
		n := 0
		for _, s := range h.Fleet().Servers {
			n += s.Players
		}
		return n == bots
	}, players...)
	require.Empty(t, h.Fleet().Failed)
	checkMoved(t, old, players, matches)
	for _, p := range players {
		p.order("dig")
	}
	until(t, "all dig on at their new servers", seesItsGold(1), players...)
}

// nameOf returns the user of a bot.
func nameOf(bot int) string { return fmt.Sprint("bot ", bot) }

// joinMatches lets bots join, three of a match. It returns when all are in.
func (h *hosted) joinMatches(bots int) (players []*player, matches []string) {
	for i := range bots {
		r := supervisor.Request{User: nameOf(i)}
		if i%3 > 0 {
			r.Match = matches[i/3]
		}
		a := h.mustMatch(r)
		if i%3 == 0 {
			matches = append(matches, a.Match)
		}
		players = append(players, join(h.t.(*testing.T), a.Token))
	}
	until(h.t.(*testing.T), "all are in", func() bool {
		return !slices.ContainsFunc(players, func(p *player) bool { return p.where.Server == "" || len(p.bags()) == 0 })
	}, players...)
	return players, matches
}

// leaveAll closes all players at the same time.
func leaveAll(players []*player) {
	for _, p := range players {
		p.mover.Close()
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if !slices.ContainsFunc(players, func(p *player) bool { return !p.mover.Closed() }) {
			return
		}
		for _, p := range players {
			p.run.Step()
		}
	}
}

// checkMoved checks that each bot is at a new server in its match, and that its bag is at that server alone, and was moved.
func checkMoved(t *testing.T, old map[string]bool, players []*player, matches []string) {
	at, bagsAt, total := map[string]string{}, map[string][]string{}, 0
	for i, p := range players {
		require.False(t, old[p.where.Server], "bot %d is at %s", i, p.where.Server)
		require.Equal(t, matches[i/3], p.where.Match, "it plays on in its match")
		if at[p.where.Match] == "" {
			at[p.where.Match] = p.where.Server
		}
		require.Equal(t, at[p.where.Match], p.where.Server, "with those of its match")
		require.NotZero(t, p.bags()[nameOf(i)].Moves)
		bagsAt[p.where.Server] = append(bagsAt[p.where.Server], nameOf(i))
	}
	seen := map[string]bool{}
	for _, p := range players { // Each server's whole world, as one of its players sees it.
		if server := p.where.Server; !seen[server] {
			seen[server] = true
			require.ElementsMatch(t, bagsAt[server], slices.Collect(maps.Keys(p.bags())), "at %s", server)
			total += len(p.bags())
		}
	}
	require.Equal(t, len(players), total, "each bag is in one world")
}

// A build with which players cannot play, and one that crashes, replace nothing. The next one is tried.
func TestABuildIsRejected(t *testing.T) {
	t.Parallel()
	h := host(t, supervisor.Config{Servers: 2})
	p := enter(t, h.mustMatch(supervisor.Request{User: "ann"}).Token)
	before := h.Fleet()
	for _, wrong := range [][2]string{{"breaking", "players of the running build cannot play with it"}, {"crashing", "ended before it was ready"}} {
		build, why := wrong[0], wrong[1]
		writeBuild(t, h.program, build)
		until(t, "it is rejected", func() bool { f := h.Fleet(); return strings.Contains(f.Failed, why) && len(f.Servers) == 2 }, p)
		f := h.Fleet()
		require.Equal(t, before.Build, f.Build)
		require.Equal(t, [2]string{before.Servers[0].Name, before.Servers[1].Name}, [2]string{f.Servers[0].Name, f.Servers[1].Name})
		require.NoError(t, p.lost)
	}
	p.order("crash") // The restart has the running build.
	until(t, "it is restarted", func() bool {
		f := h.Fleet()
		return count(f, "ready") == 2 && (f.Servers[0].Name != before.Servers[0].Name || f.Servers[1].Name != before.Servers[1].Name)
	}, p)
	for _, s := range h.Fleet().Servers {
		require.Equal(t, before.Build, s.Build)
	}
	writeBuild(t, h.program, "first")
	h.wait("nothing is rejected any more", func(f supervisor.Fleet) bool { return f.Failed == "" && f.Build == before.Build })
	writeBuild(t, h.program, "second")
	h.wait("the next build", func(f supervisor.Fleet) bool {
		return f.Failed == "" && f.Rollout == "" && f.Build != before.Build && count(f, "ready") == 2
	})
}
