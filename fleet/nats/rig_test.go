package nats_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/fleet/nats/resume"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

var heavy = flag.Bool("heavy", false, "full sizes")

// patience ends a test that hangs.
const patience = time.Minute

// Position places an avatar: X counts the ticks that it lived.
type Position struct{ X, Y float32 }

// Shout is a message between servers with a method.
type Shout struct {
	Number uint32
	Text   string
}

func (m *Shout) Serialize(s *wire.Serializer) {
	s.Uint32(&m.Number)
	s.String(&m.Text, 200)
}

// Goal is one of plain data.
type Goal struct{ Team, Points uint32 }

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[components.Owner](p)
	resume.Register(p)
	return p
}

// hall is a server with a match.
type hall struct {
	node   *nats.Node
	match  *nats.Match
	server *netcode.Server
	group  *systems.ServerSystems
	world  ecs.World
	loop   *systems.Runner
	ticks  int // Of the simulation.
}

// open opens a match, a new one or an orphan.
func open(ctx context.Context, node *nats.Node, socket systems.Socket, config nats.MatchConfig, orphan *nats.Orphan) (*hall, error) {
	h := &hall{node: node, world: ecs.NewWorld()}
	setup := netcode.Config{TickRate: 30, SilenceTimeout: 5 * time.Second, KeepAlive: 250 * time.Millisecond}
	if orphan != nil {
		c, err := orphan.Load(ctx)
		if err != nil {
			return nil, err
		}
		if config.Restore = c; c != nil {
			setup.FirstTick = c.Tick + 1
		}
	}
	var err error
	if h.server, err = netcode.NewServer(protocol(), setup); err != nil {
		return nil, err
	}
	h.server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	h.group = systems.NewServer(h.server, socket, systems.WallClock())
	config.Group = h.group
	if orphan != nil {
		h.match, err = orphan.Open(config)
	} else {
		h.match, err = node.Open(ctx, config)
	}
	if err != nil {
		return nil, err
	}
	avatars := generic.NewMap3[components.Replicated, components.Owner, Position](&h.world)
	h.server.OnConnect(func(client netcode.ClientID) {
		if len(h.match.Returned(client)) > 0 {
			return
		}
		avatars.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Position{Y: float32(client)})
	})
	positions := generic.NewFilter1[Position]()
	h.group.Add(tick.Update, systems.Func(func(w *ecs.World) {
		if !h.server.TickDue() {
			return
		}
		h.ticks++
		for q := positions.Query(w); q.Next(); {
			q.Get().X++
		}
	}))
	h.loop = systems.NewRunner(&h.world, h.match, 60)
	return h, nil
}

// player is a client in a loop of its own, which goes where the match is.
type player struct {
	client *netcode.Client
	world  ecs.World

	mu       sync.Mutex
	connects int
	x, y     float32 // Of its avatar.
	bodies   int     // That it sees.
	lost     []time.Duration
	longest  time.Duration // Between two frames with news.
	news     time.Time
	ids      []netcode.ClientID
}

// play plays until ctx is done. where returns the address of the match.
func play(ctx context.Context, t *testing.T, user string, where func() string) *player {
	t.Helper()
	p := &player{world: ecs.NewWorld(), news: time.Now()}
	var err error
	p.client, err = netcode.NewClient(protocol(), netcode.Config{SilenceTimeout: time.Second, KeepAlive: 250 * time.Millisecond, HandshakeTimeout: time.Second})
	require.NoError(t, err)
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	group := systems.NewClient(p.client, socket, systems.WallClock())
	p.client.OnConnect(func(id netcode.ClientID) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.connects++
		p.ids = append(p.ids, id)
	})
	resume.Of(p.client).OnResumed(func(lost time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lost = append(p.lost, lost)
	})
	all := generic.NewFilter2[Position, components.Owner]()
	group.Add(tick.Update, systems.Func(func(w *ecs.World) {
		if p.client.State() == netcode.Disconnected {
			if at, err := udp.Resolve(where()); err == nil {
				_ = p.client.ConnectWith(at, []byte(user))
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.bodies = 0
		for q := all.Query(w); q.Next(); {
			p.bodies++
			if at, owner := q.Get(); owner.Client == p.client.ID() && p.client.State() == netcode.Connected && at.X != p.x {
				p.x, p.y = at.X, at.Y
				p.longest = max(p.longest, time.Since(p.news))
				p.news = time.Now()
			}
		}
	}))
	loop := systems.NewRunner(&p.world, group, 60)
	go func() { _ = loop.Run(ctx) }()
	return p
}

func (p *player) see(f func(p *player) bool) func() bool {
	return func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return f(p)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(until), what)
	}
}

// start starts a node that ends with the test.
func start(t *testing.T, config nats.Config) *nats.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n, err := nats.Start(ctx, config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// process is a child: this test binary in a role.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser

	mu    sync.Mutex
	lines []string
}

// spawn starts a child.
func spawn(t *testing.T, role string, env ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(os.Args[0])}
	p.command.Env = append(append(os.Environ(), "NETCODE_ROLE="+role), env...)
	p.command.Stderr = os.Stderr
	out, err := p.command.StdoutPipe()
	require.NoError(t, err)
	p.in, err = p.command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, scan.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// runs tells a game process to open a match.
func (p *process) runs(t *testing.T, match string) {
	t.Helper()
	_, err := fmt.Fprintln(p.in, match)
	require.NoError(t, err)
}

// kill kills it without any farewell.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// said waits for a line of a child, and returns what follows the prefix in the last such line.
func (p *process) said(t *testing.T, prefix string) (rest string) {
	t.Helper()
	eventually(t, "a child says "+prefix, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		found := false
		for _, l := range p.lines {
			if after, ok := strings.CutPrefix(l, prefix); ok {
				rest, found = after, true
			}
		}
		return found
	})
	return rest
}

// TestMain runs a role in a child.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	switch os.Getenv("NETCODE_ROLE") {
	case "":
		os.Exit(m.Run())
	case "game":
		err = gameProcess()
	case "nats":
		err = natsProcess()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// untilStdinCloses returns a context that ends with the parent, and the lines that the parent writes.
func untilStdinCloses() (context.Context, chan string) {
	ctx, cancel := context.WithCancel(context.Background())
	lines := make(chan string, 10)
	go func() {
		for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
			lines <- scan.Text()
		}
		cancel()
	}()
	return ctx, lines
}

// embedOf returns the embedded server that the environment asks for.
func embedOf() nats.Embed {
	if os.Getenv("CLUSTER") == "" {
		return nats.Embed{}
	}
	return nats.Embed{Listen: os.Getenv("LISTEN"), Cluster: os.Getenv("CLUSTER"), Routes: strings.Split(os.Getenv("ROUTES"), ",")}
}

// gameProcess is a server: it waits for the name of a match to open, or for an orphan.
func gameProcess() error {
	ctx, lines := untilStdinCloses()
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		return err
	}
	orphans := make(chan *nats.Orphan, 8)
	node, err := nats.Start(ctx, nats.Config{
		Server: os.Getenv("NAME"), URL: os.Getenv("URL"), Address: socket.LocalAddr().String(), Replicas: number(os.Getenv("REPLICAS")), Embed: embedOf(),
		Orphan:  func(o *nats.Orphan) { orphans <- o },
		OnError: func(err error) { fmt.Fprintln(os.Stderr, os.Getenv("NAME"), err) },
	})
	if err != nil {
		return err
	}
	config := nats.MatchConfig{Checkpoint: 200 * time.Millisecond}
	var orphan *nats.Orphan
	fmt.Println("ready", node.NATS())
	select {
	case config.ID = <-lines:
	case orphan = <-orphans:
	case <-ctx.Done():
		return node.Close()
	}
	h, err := open(ctx, node, socket, config, orphan)
	if err != nil {
		return err
	}
	if orphan != nil {
		fmt.Println("took", orphan.ID, "from", orphan.From)
	}
	go func() {
		for ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
			h.loop.Do(func() { fmt.Println("ticks", h.ticks, "held", node.Stats().Held, "saved", node.Stats().Saved) })
		}
	}()
	return errors.Join(h.loop.Run(ctx), node.Close())
}

// natsProcess is a server of NATS alone, one of a cluster.
func natsProcess() error {
	ctx, _ := untilStdinCloses()
	node, err := nats.Start(ctx, nats.Config{Server: os.Getenv("NAME"), Replicas: 3, Embed: embedOf()})
	if err != nil {
		return err
	}
	fmt.Println("ready", node.NATS())
	<-ctx.Done()
	return node.Close()
}

func number(text string) (n int) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

// freeAddress returns an address at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}
