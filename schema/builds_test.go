package schema_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

// This program is a small game too, in several builds: a test starts a server of one and a client of another.
const asBuild = "NETCODE_TEST_BUILD"

func TestMain(m *testing.M) {
	if build := os.Getenv(asBuild); build != "" {
		if err := runBuild(build, os.Args[1:]); err != nil {
			fmt.Println("ended:", err)
			os.Exit(1)
		}
		return
	}
	_ = flag.Set("test.parallel", "8") // the processes wait for real time most of theirs
	os.Exit(m.Run())
}

// The types of the game. All but the last five are those of the first build. The names of the new ones come first, so that all rows and types
// get other numbers.
type (
	gun     struct{ X, Y int16 }
	kit     struct{ Ammo uint16 }
	counted struct{ Number uint32 }
	bye     struct{ Number uint32 }
	newKit  struct { // the kit with more fields
		Colour uint8
		Ammo   uint16
		Owner  wire.Text[[8]byte]
	}
	newPart  struct{ X, Y, Z float32 }
	newWord  struct{ Text [40]uint8 }
	question struct{ A uint32 }
	reply    struct{ A uint32 }
)

// game is one build of it, with what its end counts.
type game struct {
	protocol *netcode.Protocol
	got      uint32 // numbered messages, which come in order
	words    int
	asked    bool
	has      map[string]bool // what this build has beside the first
}

// newGame registers what a build has: "first", or the changes from it, joined by +.
func newGame(build string) *game {
	g := &game{protocol: netcode.NewProtocol(), has: map[string]bool{}}
	for _, change := range strings.Split(build, "+") {
		g.has[change] = true
	}
	p := g.protocol
	rate := netcode.Every(1)
	if g.has["options"] {
		rate = netcode.Every(3)
	}
	netcode.Replicate[position](p)
	netcode.Replicate[health](p, rate)
	if g.has["field"] {
		netcode.Replicate[newKit](p, netcode.Named("kit"))
	} else {
		netcode.Replicate[kit](p)
	}
	netcode.Replicate[gun](p, authority.WrittenBy(authority.OwnerWrites))
	input.Register[stick](p)
	netcode.Handle(p, func(_ *netcode.Context, m *counted) {
		if m.Number == g.got+1 {
			g.got++
		}
	}, netcode.Over(netcode.ReliableOrdered))
	if !g.has["less"] {
		netcode.Handle(p, func(*netcode.Context, *bye) {}, netcode.Over(netcode.Reliable))
	}
	if g.has["component"] {
		netcode.Replicate[newPart](p, netcode.Named("apart"))
	}
	if g.has["message"] {
		netcode.Handle(p, func(*netcode.Context, *newWord) { g.words++ }, netcode.Named("aword"), netcode.Over(netcode.ReliableOrdered))
	}
	if g.has["question"] {
		netcode.Answer(p, func(_ *netcode.Context, q *question, r *reply) error { r.A = q.A + 1; return nil }, netcode.Named("aquestion"), netcode.NamedAnswer("areply"))
	}
	if build != "first" && !g.has["unsupported"] {
		var lock bytes.Buffer
		_ = newGame("first").protocol.WriteSchema(&lock)
		schema.Support(p, lock.String())
	}
	return g
}

// kits is the kits of a world: in a build with more fields their type has these.
type kits struct {
	id  ecs.ID
	set func(e ecs.Entity, ammo uint16)               // with all fields that the build has
	get func(e ecs.Entity) (ammo uint16, more newKit) // more is the fields that the first build lacks
}

func (g *game) kits(w *ecs.World) kits {
	if !g.has["field"] {
		all := generic.NewMap1[kit](w)
		return kits{ecs.ComponentID[kit](w), func(e ecs.Entity, ammo uint16) { *all.Get(e) = kit{ammo} },
			func(e ecs.Entity) (uint16, newKit) { return all.Get(e).Ammo, newKit{} }}
	}
	all := generic.NewMap1[newKit](w)
	return kits{ecs.ComponentID[newKit](w), func(e ecs.Entity, ammo uint16) {
		*all.Get(e) = newKit{uint8(ammo) | 1, ammo, wire.NewText[[8]byte]("Ann")}
	},
		func(e ecs.Entity) (uint16, newKit) {
			k := *all.Get(e)
			ammo := k.Ammo
			k.Ammo = 0
			return ammo, k
		}}
}

// entities is the number of them, and lastMessage the number of the last message.
const (
	entities    = 40
	playFrames  = 150 // of 60 a second, in which things change
	lastMessage = 60
)

// runBuild is a server or a client, which prints what it has once a third of a second.
func runBuild(build string, args []string) error {
	g, began := newGame(build), time.Now()
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		return err
	}
	seed := uint64(len(args))
	lossy := transport.Condition(socket, transport.Link{Loss: 0.2, Delay: 10 * time.Millisecond, Jitter: 5 * time.Millisecond}, seed, func() time.Duration { return time.Since(began) })
	w := ecs.New()
	if len(args) == 0 {
		fmt.Println("listening", socket.LocalAddr())
		return g.serve(w, lossy)
	}
	return g.play(w, lossy, args[0])
}

// serve is the server's loop.
func (g *game) serve(w *ecs.World, conn transport.Conn) error {
	server, err := netcode.NewServer(g.protocol, netcode.Config{})
	if err != nil {
		return err
	}
	s := systems.NewServer(server, conn, systems.WallClock())
	loop, all := systems.NewRunner(w, s, 60), []ecs.Entity{}
	bodies := generic.NewMap4[components.Replicated, position, health, gun](w)
	parts, kits := generic.NewMap1[newPart](w), g.kits(w)
	for range entities {
		all = append(all, bodies.New())
	}
	frame, sent := 0, uint32(0)
	server.OnConnect(func(client netcode.ClientID) {
		frame = 1
		id, _ := s.ID(all[0])
		_ = server.SetOwner(id, client)
	})
	s.Add(tick.Update, systems.Func(func(*ecs.World) {
		if frame == 0 {
			return
		}
		if frame++; frame < playFrames {
			for i, e := range all {
				_, at, points, _ := bodies.Get(e)
				at.X, at.Y = float32((frame*(i+3))%600)/2-150, float32(frame%200)/2
				points.Points = uint16(frame / (i + 1))
				switch has := ecs.Has(w, e, kits.id); {
				case !has && (frame+i)%5 == 0:
					ecs.Exchange(w, e, []ecs.ID{kits.id}, nil, nil)
					kits.set(e, uint16(i))
				case has && i%3 == 0 && frame%11 == 0:
					ecs.Exchange(w, e, nil, []ecs.ID{kits.id}, nil)
				case has:
					kits.set(e, uint16(frame*i))
				}
				if g.has["component"] && (frame+i)%7 == 0 {
					if parts.Get(e) == nil {
						parts.Assign(e, &newPart{X: 1})
					} else if i%2 == 0 {
						ecs.Exchange(w, e, nil, []ecs.ID{ecs.ComponentID[newPart](w)}, nil)
					} else {
						parts.Get(e).X += 1.25
					}
				}
			}
			if frame == playFrames/2 { // an entity goes, and another one comes
				w.RemoveEntity(all[entities-1])
				all[entities-1] = bodies.New()
			}
		}
		if sent < lastMessage && netcode.Send(server, netcode.ToAll(), &counted{Number: sent + 1}) == nil {
			sent++
			if g.has["message"] {
				_ = netcode.Send(server, netcode.ToAll(), &newWord{})
			}
			if !g.has["less"] {
				_ = netcode.Send(server, netcode.ToAll(), &bye{Number: sent})
			}
		}
		if frame%20 == 0 {
			_, _, _, aimed := bodies.Get(all[0])
			g.tell(w, s.ID, server.Stats(), aimed)
		}
	}))
	return loop.Run(context.Background())
}

// play is the client's loop.
func (g *game) play(w *ecs.World, conn transport.Conn, address string) error {
	client, err := netcode.NewClient(g.protocol, netcode.Config{})
	if err != nil {
		return err
	}
	to, err := udp.Resolve(address)
	if err != nil {
		return err
	}
	s := systems.NewClient(client, conn, systems.WallClock())
	loop, guns := systems.NewRunner(w, s, 60), generic.NewMap1[gun](w)
	var own ecs.Entity
	frame, sent, reason := 0, uint32(0), error(nil)
	client.OnDisconnect(func(_ netcode.ClientID, why *netcode.CloseError) { reason = why })
	s.Add(tick.Update, systems.Func(func(*ecs.World) {
		if client.State() != netcode.Connected {
			return
		}
		for query := ecs.Select(w, ecs.All(ecs.ComponentID[gun](w))); query.Next(); {
			if id, ok := s.ID(query.Entity()); ok && authority.MayWrite[gun](client, id) {
				own = query.Entity()
			}
		}
		aimed := new(gun) // none until the client has what it owns
		if !own.IsZero() && w.Alive(own) {
			aimed = guns.Get(own)
			*aimed = gun{int16(min(frame, playFrames)), 77}
		}
		if sent < lastMessage && netcode.Send(client, netcode.ToServer(), &counted{Number: sent + 1}) == nil {
			sent++
			if g.has["message"] {
				_ = netcode.Send(client, netcode.ToServer(), &newWord{})
			}
		}
		if g.has["question"] && !g.asked {
			g.asked = true
			err := netcode.Call(context.Background(), client, 0, &question{A: 41}, func(r *reply, err error) { fmt.Println("answer", err == nil && r.A == 42) })
			if errors.Is(err, errs.ErrLeftOut) {
				fmt.Println("answer left out")
			}
		}
		if frame++; frame%20 == 0 {
			g.tell(w, s.ID, client.Stats(), aimed)
		}
	}))
	if err := client.Connect(to); err != nil {
		return err
	}
	for reason == nil {
		loop.Step()
		time.Sleep(time.Second / 60)
	}
	return reason
}

// tell prints what an end has of what both builds know, and what it counted.
func (g *game) tell(w *ecs.World, id func(ecs.Entity) (netcode.NetworkID, bool), stats netcode.Stats, aimed *gun) {
	var lines []string
	bodies, kits, more := generic.NewFilter2[position, health](), g.kits(w), false
	for query := bodies.Query(w); query.Next(); {
		at, points := query.Get()
		of, ok := id(query.Entity())
		if !ok {
			continue
		}
		line := fmt.Sprint(of, *at, *points)
		if ecs.Has(w, query.Entity(), kits.id) {
			ammo, rest := kits.get(query.Entity())
			line, more = line+fmt.Sprint(" kit ", ammo), more || rest != newKit{}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	sum := fnv.New64a()
	fmt.Fprint(sum, lines)
	fmt.Printf("world %d %016x got %d gun %v words %d leftout %t malformed %d unknown %t more %t\n", len(lines), sum.Sum64(), g.got, *aimed, g.words, stats.LeftOut > 0, stats.Malformed, stats.UnknownTypes > 0, more)
}

// process is a running build.
type process struct {
	t     *testing.T
	lines chan string
	seen  []string
}

func startBuild(t *testing.T, build string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asBuild+"="+build)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	p := &process{t: t, lines: make(chan string, 1<<12)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			for line := range p.lines {
				p.seen = append(p.seen, line)
			}
			t.Logf("--- %s %v\n%s", build, args, strings.Join(p.seen[max(0, len(p.seen)-20):], "\n"))
		}
	})
	go func() {
		defer close(p.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			p.lines <- scan.Text()
		}
	}()
	return p
}

// patience is the longest time that a test waits. It is no limit of speed.
const patience = 60 * time.Second

// next returns the next line.
func (p *process) next() string {
	p.t.Helper()
	select {
	case line, more := <-p.lines:
		require.True(p.t, more, "it ended")
		p.seen = append(p.seen, line)
		return line
	case <-time.After(patience):
		require.Fail(p.t, "nothing came")
		return ""
	}
}

// until returns the first line with all of these texts.
func (p *process) until(texts ...string) string {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		require.True(p.t, time.Now().Before(deadline), "no line with %q", texts)
		if line := p.next(); !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return line
		}
	}
}

// Two processes of different builds play at 20 % loss, in both directions: they agree in what both know, every message that both know
// arrives in order, and what one of them lacks is left out. TestBuildsMeet of the root takes the differences one by one.
func TestProcessesOfTwoBuilds(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes and no sockets here")
	}
	for _, build := range []string{"less", "component+field+message+question+less+options"} {
		t.Run("server is newer/"+build, func(t *testing.T) {
			t.Parallel()
			playBuilds(t, build, "first", strings.Contains(build, "message"), false, build)
		})
		t.Run("client is newer/"+build, func(t *testing.T) {
			t.Parallel()
			playBuilds(t, "first", build, false, strings.Contains(build, "message") || strings.Contains(build, "question"), build)
		})
	}
}

func playBuilds(t *testing.T, there, here string, serverLeavesOut, clientLeavesOut bool, newer string) {
	server := startBuild(t, there)
	address := strings.TrimPrefix(server.next(), "listening ")
	client := startBuild(t, here, address)
	done := fmt.Sprintf("got %d gun {%d 77} words 0", lastMessage, playFrames)
	if here != "first" && strings.Contains(newer, "question") {
		require.Equal(t, "answer left out", client.until("answer"))
	}
	last, rest := "", ""
	for rest == "" { // The server's world rests when it is the same in many lines.
		if line := server.until(fmt.Sprintf("world %d", entities), done, fmt.Sprintf("leftout %t malformed 0", serverLeavesOut)); line == last {
			rest = strings.Join(strings.Fields(line)[:3], " ")
		} else {
			last = line
		}
	}
	line := client.until(rest, done, fmt.Sprintf("leftout %t malformed 0", clientLeavesOut))
	// The newer build ignores messages that it has no more; the older one gets none that it does not know.
	require.Contains(t, line, fmt.Sprintf("unknown %t", here != "first" && strings.Contains(newer, "less")))
	require.Contains(t, last, "unknown false")
	// Fields that the older build lacks are set at a newer server, and zero at the client.
	require.Contains(t, last, fmt.Sprintf("more %t", there != "first" && strings.Contains(newer, "field")))
	require.Contains(t, line, "more false")
}

// A change that is not additive is refused by name, and so is a newer build that does not support the older one.
func TestProcessesThatCannotPlay(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes and no sockets here")
	}
	server := startBuild(t, "first")
	address := strings.TrimPrefix(server.next(), "listening ")
	client := startBuild(t, "component+unsupported", address)
	client.until("ended:", `component "apart"`)
}
