package python_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/thin"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/schema/plain"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

type (
	Body struct {
		X, Y float32    `net:"min=-512,max=512,step=0.002"`
		Rot  [4]float32 `net:"quat,bits=9"`
		Turn float64    `net:"angle,bits=10"`
		Big  int64
	}
	Name struct {
		Text wire.Text32
		Bag  wire.List[uint16, [8]uint16]
	}
	Leash struct {
		To    ecs.Entity `net:"entity"`
		Slack uint8
	}
	Stick struct {
		X, Y int8
		Jump bool `net:"event"`
	}
	Chat struct{ Text wire.Text64 }
	Done struct{ Tick uint32 }
)

// game is a server with a busy world, on a real socket.
type game struct {
	t             *testing.T
	server        *netcode.Server
	loop          *systems.ServerSystems
	world         *ecs.World
	random        *rand.Rand
	alive         []ecs.Entity
	heard         []string
	sticks, jumps int
	counted       netcode.Tick
	busy          bool
	client        netcode.ClientID
	address       string
	build         generic.Map3[components.Replicated, Body, Name]
	leash         generic.Map1[Leash]
}

func newGame(t *testing.T) *game {
	g := &game{t: t, random: rand.New(rand.NewPCG(1, 1)), world: ecs.New(), busy: true}
	p := netcode.NewProtocol()
	p.Plain()
	netcode.Replicate[Body](p)
	netcode.Replicate[Name](p)
	netcode.Replicate[Leash](p)
	input.Register[Stick](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *Chat) {
		g.heard = append(g.heard, m.Text.String())
		_ = netcode.Reply(ctx, m)
	}, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[Done](p, nil, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	g.address = socket.LocalAddr().String()
	g.server, err = netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	g.server.OnConnect(func(c netcode.ClientID) { g.client = c })
	g.loop = systems.NewServer(g.server, socket, systems.WallClock())
	g.build, g.leash = generic.NewMap3[components.Replicated, Body, Name](g.world), generic.NewMap1[Leash](g.world)
	g.loop.Add(tick.Update, systems.Func(func(*ecs.World) {
		if g.server.TickDue() {
			g.step()
		}
	}))
	for range 80 {
		g.spawn()
	}
	return g
}

func (g *game) spawn() {
	g.alive = append(g.alive, g.build.NewWith(&components.Replicated{}, &Body{Rot: [4]float32{0, 0, 0, 1}}, &Name{}))
}

// step moves, renames, spawns, kills, hides and shows, and ties entities to each other.
func (g *game) step() {
	for ; g.counted < g.server.Tick(); g.counted++ {
		if stick, ok := input.At[Stick](g.server, g.client, g.counted+1); ok {
			g.sticks++
			if stick.Jump {
				g.jumps++
			}
		}
	}
	if !g.busy {
		return
	}
	r := g.random
	for _, e := range g.alive {
		_, body, name := g.build.Get(e)
		body.X, body.Turn = r.Float32()*900-450, r.Float64()*6-3
		if r.IntN(8) == 0 {
			body.Big, body.Rot[r.IntN(4)] = int64(r.Uint64()), r.Float32()*2-1
			name.Text.Set(fmt.Sprintf("öre %d", r.IntN(1e6)))
			if name.Bag.Len() < 4 {
				name.Bag.Append(uint16(r.IntN(1000)))
			} else {
				name.Bag.Remove(r.IntN(4))
			}
		}
	}
	if i := r.IntN(len(g.alive)); r.IntN(3) == 0 {
		g.world.RemoveEntity(g.alive[i])
		g.alive = slices.Delete(g.alive, i, i+1)
		g.spawn()
	}
	e := g.alive[r.IntN(len(g.alive))]
	if id, ok := g.loop.ID(e); ok && r.IntN(2) == 0 {
		g.server.Hide(g.client, id)
	} else {
		g.server.Show(g.client, id)
	}
	if ecs.Has(g.world, e, ecs.ComponentID[Leash](g.world)) {
		g.leash.Remove(e)
	} else {
		g.leash.Assign(e, &Leash{To: g.alive[r.IntN(len(g.alive))], Slack: uint8(r.IntN(9))})
	}
}

// words returns what netcode schema plain writes of the game's protocol.
func (g *game) words() string {
	words, err := plain.Words(schema.Of(g.server.Protocol()))
	require.NoError(g.t, err)
	return words
}

// shown returns what the client must have, as JSON has it.
func (g *game) shown() any {
	out, store := map[string]any{}, g.server.Store()
	p := thin.NewProtocol(g.words())
	for id := range store.All {
		if !g.server.Visible(g.client, id) {
			continue
		}
		rows := map[string]thin.Row{}
		for row := range p.Components {
			lanes, plan := store.Row(id, row), store.Schema().Plan(row)
			if lanes == nil {
				continue
			}
			b := make([]byte, plan.Bits()/8+1)
			w := wire.NewBitWriter(b)
			plan.WriteRow(&w, lanes)
			values, err := p.Components[row].Read(b[:w.Finish()])
			require.NoError(g.t, err)
			if to, is := values["To"].(*thin.Entity); is && to != nil && !g.server.Visible(g.client, netcode.NetworkID(*to)) {
				values["To"] = (*thin.Entity)(nil)
			}
			rows[p.Components[row].Name] = values
		}
		out[strconv.Itoa(int(id.Index))] = map[string]any{"generation": id.Generation, "rows": rows}
	}
	b, err := json.Marshal(out)
	require.NoError(g.t, err)
	return parse(g.t, b)
}

// parse reads JSON. Numbers with a point or an exponent are floats, others keep their digits.
func parse(t *testing.T, b []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), string(b))
	return numbers(v)
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if f, _ := v.Float64(); f != float64(int64(f)) {
			return f
		}
		f, _ := v.Float64()
		return int64(f)
	}
	return v
}

func python(t *testing.T) string {
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here: the tests of the client in Python need it")
	}
	return path
}

// TestPythonReadsTheGoldenSession gives the client each datagram of the golden session. What it sends, byte for byte, and what it knows is as in the file.
func TestPythonReadsTheGoldenSession(t *testing.T) {
	out, err := exec.Command(python(t), "-B", "golden.py", "../../testdata/plain.golden").CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestAClientInPythonEqualsTheServer plays over UDP; the client loses a third of all datagrams in each direction. At the end its world is the server's.
func TestAClientInPythonEqualsTheServer(t *testing.T) {
	const seconds = 2
	path, g := python(t), newGame(t)
	file := filepath.Join(t.TempDir(), "game.plain")
	require.NoError(t, os.WriteFile(file, []byte(g.words()), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-B", "play.py", g.address, file, "20", "0.3")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	var begun, rests time.Time
	var want any
	runner := systems.NewRunner(g.world, g.loop, 60)
	var result error
	for running := true; running; time.Sleep(4 * time.Millisecond) {
		runner.Step()
		select {
		case result = <-ended:
			running = false
		default:
		}
		switch now := time.Now(); {
		case g.client == 0 || want != nil:
		case begun.IsZero():
			begun = now
		case g.busy && now.Sub(begun) > seconds*time.Second && len(g.heard) == 20: // A slow machine takes longer.
			g.busy, rests = false, now
		case !g.busy && now.Sub(rests) > 0:
			if stats, ok := g.server.ClientStats(g.client); ok && stats.Synced {
				want = g.shown()
				require.NoError(t, netcode.Send(g.server, netcode.To(g.client), &Done{}))
			}
		}
	}
	require.NoError(t, result, problems.String())
	got := parse(t, out.Bytes()).(map[string]any)
	require.Equal(t, want, got["entities"])
	require.Len(t, g.heard, 20)
	require.Equal(t, "hello 1", g.heard[0])
	require.Equal(t, "hello 20", g.heard[19])
	require.Greater(t, g.sticks, 20)
	require.Positive(t, g.jumps)
	require.GreaterOrEqual(t, len(got["heard"].([]any)), 19, "the last answer may be on its way")
}
