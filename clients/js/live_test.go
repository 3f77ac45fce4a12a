package js_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
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
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transfer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

var heavy = flag.Bool("heavy", false, "a minute of the live game")

// Components of every kind of field.
type (
	Body struct {
		X, Y, Z float32    `net:"min=-512,max=512,step=0.002"`
		Rot     [4]float32 `net:"quat,bits=9"`
		Turn    float32    `net:"angle,bits=10"`
	}
	Exact struct {
		F    float32
		D    float64
		N    int64
		U    uint64 `net:"min=5,max=5000000000"`
		On   bool
		Half float32 `net:"half"`
		Axis float32 `net:"axis"`
	}
	Place struct{ X, Y float32 }
	Name  struct {
		Text wire.Text32
		Bag  wire.List[Slot, [8]Slot]
	}
	Leash struct {
		To    ecs.Entity `net:"entity"`
		Slack uint8
	}
	Paint struct{ Hue uint16 }
	Slot  struct {
		Kind  uint16
		Count uint8 `net:"min=0,max=99"`
	}
	Stick struct {
		X, Y int8
		Jump bool `net:"event"`
	}
	Chat  struct{ Text wire.Text64 }
	Big   struct{ Cells [1000]uint64 }
	Price struct{ Item uint16 }
	Coins struct{ Count uint32 }
	Done  struct{ Tick uint32 }
	Note  struct {
		Text string
		Tags []string
		Kind uint8
		Hits int32
		Aim  float32
	}
)

// Serialize writes what a row could not: a branch by the kind.
func (m *Note) Serialize(s *wire.Serializer) {
	s.String(&m.Text, 100)
	s.Strings(&m.Tags, 4, 20)
	s.Uint8(&m.Kind)
	if m.Kind == 1 {
		s.PackedInt32(&m.Hits)
	} else {
		s.FiniteFloat32(&m.Aim)
	}
}

// game is a server with a busy world, over UDP that loses datagrams in both directions.
type game struct {
	t        *testing.T
	protocol *netcode.Protocol
	server   *netcode.Server
	loop     *systems.ServerSystems
	world    *ecs.World
	random   *rand.Rand
	alive    []ecs.Entity
	bag      *collections.List[Slot]
	ranks    *collections.Map[uint8, int32]
	heard    []string
	counted  netcode.Tick
	sticks   int
	jumps    int
	busy     bool
	address  string
	client   netcode.ClientID
	build    generic.Map5[components.Replicated, Body, Exact, Place, Name]
}

// register makes the protocol of server and clients.
func register(g *game) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Body](p)
	netcode.Replicate[Exact](p)
	netcode.Replicate[Place](p)
	netcode.Replicate[Name](p)
	netcode.Replicate[Leash](p)
	netcode.Replicate[Paint](p, authority.WrittenBy(authority.OwnerWrites))
	input.Register[Stick](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *Chat) {
		g.heard = append(g.heard, m.Text.String())
		_ = netcode.Reply(ctx, m)
	}, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[Big](p, func(ctx *netcode.Context, m *Big) { _ = netcode.Reply(ctx, m) }, netcode.Over(netcode.Reliable))
	netcode.Handle(p, func(ctx *netcode.Context, m *Note) {
		m.Text, m.Hits = m.Text+"!", -m.Hits
		_ = netcode.Reply(ctx, m)
	}, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[Done](p, nil, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	netcode.Answer(p, func(_ *netcode.Context, q *Price, r *Coins) error {
		if q.Item == 0 {
			return fmt.Errorf("not for sale")
		}
		r.Count = uint32(q.Item) * 7
		return nil
	})
	transfer.Register(p, transfer.Config{FromClient: 1 << 20})
	g.bag = collections.NewList[Slot](p, "bag")
	g.ranks = collections.NewMap[uint8, int32](p, "ranks")
	return p
}

func newGame(t *testing.T, seed uint64, loss float64, key *secure.Key) *game {
	g := &game{t: t, random: rand.New(rand.NewPCG(seed, 1)), world: ecs.New(), busy: true}
	g.protocol = register(g)
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	g.address = socket.LocalAddr().String()
	g.server, err = netcode.NewServer(g.protocol, netcode.Config{TickRate: 60})
	require.NoError(t, err)
	g.server.OnError(func(err error) { t.Log("server: ", err) })
	var conn transport.Conn = &lossy{socket, loss, rand.New(rand.NewPCG(seed, 2))}
	if key != nil {
		conn, err = secure.Listen(conn, secure.Config{Key: *key, Admit: secure.Tokens(g.address), Timeout: 15 * time.Second, RekeyEvery: 2 * time.Second})
		require.NoError(t, err)
	}
	g.loop = systems.NewServer(g.server, conn, systems.WallClock())
	g.build = generic.NewMap5[components.Replicated, Body, Exact, Place, Name](g.world)
	g.loop.Add(tick.Update, systems.Func(func(*ecs.World) {
		if g.server.TickDue() {
			g.step()
		}
	}))
	transfer.On(g.server, transfer.Handler{Done: func(r *transfer.Receiving, data []byte) {
		slices.Reverse(data) // it comes back turned round
		_, err := transfer.Send(g.server, g.client, r.Name(), data)
		require.NoError(t, err)
	}})
	painted := generic.NewMap3[components.Replicated, components.Owner, Paint](g.world)
	g.server.OnConnect(func(client netcode.ClientID) {
		painted.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Paint{Hue: 1})
	})
	for range 120 {
		g.spawn()
	}
	return g
}

// lossy loses datagrams in both directions.
type lossy struct {
	transport.Conn
	loss   float64
	random *rand.Rand
}

func (l *lossy) Send(to transport.Addr, datagram []byte) error {
	if l.random.Float64() < l.loss {
		return nil
	}
	return l.Conn.Send(to, datagram)
}

func (l *lossy) Receive(buf []byte) (n int, from transport.Addr, err error) {
	for {
		n, from, err = l.Conn.Receive(buf)
		if n == 0 || err != nil || l.random.Float64() >= l.loss {
			return n, from, err
		}
	}
}

func (g *game) spawn() {
	e := g.build.NewWith(&components.Replicated{}, &Body{X: g.random.Float32()*900 - 450, Rot: [4]float32{0, 0, 0, 1}}, &Exact{U: 5}, &Place{}, &Name{})
	g.alive = append(g.alive, e)
}

// step changes the world at random: movement, texts, lists, references, components that come and go, spawns, despawns, sight.
func (g *game) step() {
	// A busy machine skips ticks: the inputs of all are counted.
	for ; g.counted < g.server.Tick(); g.counted++ {
		for client := range g.server.Clients {
			if stick, ok := input.At[Stick](g.server, client, g.counted+1); ok {
				g.sticks++
				if stick.Jump {
					g.jumps++
				}
			}
		}
	}
	if !g.busy {
		return
	}
	body, exact := generic.NewMap1[Body](g.world), generic.NewMap1[Exact](g.world)
	place, name := generic.NewMap1[Place](g.world), generic.NewMap1[Name](g.world)
	r := g.random
	for i, e := range g.alive {
		if i%3 == int(g.server.Tick())%3 {
			continue
		}
		b := body.Get(e)
		b.X += r.Float32()*2 - 1
		b.Y += 0.25
		b.Turn += 0.1
		for k := range b.Rot {
			b.Rot[k] += r.Float32()*0.1 - 0.05
		}
		if r.IntN(8) == 0 {
			x := exact.Get(e)
			x.F, x.D, x.N, x.U = r.Float32()*2-1, r.NormFloat64(), int64(r.Uint64()), 5+r.Uint64N(4999999996)
			x.On, x.Half, x.Axis = r.IntN(2) == 0, r.Float32()*100, r.Float32()*2-1
			place.Get(e).X = r.Float32() * 1000
		}
		if r.IntN(12) == 0 {
			g.rename(name.Get(e))
		}
	}
	g.churn()
}

func (g *game) rename(n *Name) {
	n.Text.Set(fmt.Sprintf("öre %d", g.random.IntN(1e6)))
	switch {
	case n.Bag.Len() < 4:
		n.Bag.Append(Slot{Kind: uint16(g.random.IntN(1000)), Count: uint8(g.random.IntN(99))})
	case g.random.IntN(2) == 0:
		n.Bag.Remove(g.random.IntN(n.Bag.Len()))
	default:
		n.Bag.At(g.random.IntN(n.Bag.Len())).Count = uint8(g.random.IntN(99))
	}
}

// churn spawns, kills, hides and shows, gives and takes components, and changes collections.
func (g *game) churn() {
	r := g.random
	if r.IntN(4) == 0 {
		g.spawn()
	}
	if r.IntN(4) == 0 && len(g.alive) > 60 {
		i := r.IntN(len(g.alive))
		g.world.RemoveEntity(g.alive[i])
		g.alive = slices.Delete(g.alive, i, i+1)
	}
	e := g.alive[r.IntN(len(g.alive))]
	id, ok := g.loop.ID(e)
	if !ok {
		return
	}
	for client := range g.server.Clients {
		if r.IntN(2) == 0 {
			g.server.Hide(client, id)
		} else {
			g.server.Show(client, id)
		}
	}
	leash := generic.NewMap1[Leash](g.world)
	if ecs.Has(g.world, e, ecs.ComponentID[Leash](g.world)) {
		if r.IntN(2) == 0 {
			leash.Remove(e)
		} else {
			leash.Get(e).Slack++
		}
	} else {
		leash.Assign(e, &Leash{To: g.alive[r.IntN(len(g.alive))], Slack: 1})
	}
	bag, ranks := g.bag.Of(g.server, id), g.ranks.Of(g.server, id)
	if bag.Len() > 5 {
		require.NoError(g.t, bag.Remove(r.IntN(5)))
	} else {
		require.NoError(g.t, bag.Insert(r.IntN(bag.Len()+1), Slot{Kind: uint16(r.IntN(9))}))
	}
	require.NoError(g.t, ranks.Set(uint8(r.IntN(10)), int32(r.IntN(100))-50))
}

// entityOf has what a client must have of an entity: the numbers of each row, and readable values of those with a tail.
type entityOf struct {
	Index, Generation uint32
	Rows              map[string][]uint32
	Text              *string
	Bag               []Slot
	Inventory         []Slot
	Ranks             [][2]int
}

// world returns all that a client may see, as JSON.
func (g *game) shownTo(client netcode.ClientID) map[string]entityOf {
	out := map[string]entityOf{}
	store := g.server.Store()
	names := generic.NewMap1[Name](g.world)
	for id := range store.All {
		if !g.server.Visible(client, id) {
			continue
		}
		e := entityOf{Index: id.Index, Generation: id.Generation, Rows: map[string][]uint32{}}
		for row := range store.Schema().Rows() {
			name := store.Schema().Plan(row).Name()
			if lanes := store.Row(id, row); lanes != nil && name != "Name" {
				e.Rows[name] = slices.Clone(lanes)
				if to := e.Rows["Leash"]; name == "Leash" && !g.server.Visible(client, netcode.NetworkID{Index: to[0], Generation: to[1]}) {
					to[0], to[1] = 0, 0 // who is not shown is not named
				}
			}
		}
		if at, ok := g.loop.Entity(id); ok && ecs.Has(g.world, at, ecs.ComponentID[Name](g.world)) {
			n := names.Get(at)
			text := n.Text.String()
			e.Text = &text
			for _, s := range n.Bag.All() {
				e.Bag = append(e.Bag, *s)
			}
		}
		for _, s := range g.bag.Of(g.server, id).All() {
			e.Inventory = append(e.Inventory, s)
		}
		for k, v := range g.ranks.Of(g.server, id).All() {
			e.Ranks = append(e.Ranks, [2]int{int(k), int(v)})
		}
		out[strconv.Itoa(int(id.Index))] = e
	}
	return out
}

// run runs the server until ctx ends.
func (g *game) run(ctx context.Context, loop func()) {
	runner := systems.NewRunner(g.world, g.loop, 120)
	for ctx.Err() == nil {
		runner.Step()
		loop()
		time.Sleep(4 * time.Millisecond)
	}
}

// TestAClientInNodeEqualsTheServer plays for a while over UDP that loses a third of all datagrams each way, with churn, hidden entities, texts,
// lists, collections, inputs, calls, messages in pieces and rows that the client writes. At the end every number is the server's.
func TestAClientInNodeEqualsTheServer(t *testing.T) { playInNode(t, nil) }

// TestAClientInNodeEqualsTheServerSecurely is the same by transport/secure, with a connect token.
func TestAClientInNodeEqualsTheServerSecurely(t *testing.T) {
	key, err := secure.NewKey()
	require.NoError(t, err)
	playInNode(t, &key)
}

func playInNode(t *testing.T, key *secure.Key) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: the tests of the JavaScript client need it")
	}
	seconds := time.Duration(3)
	if *heavy {
		seconds = 60
	}
	g := newGame(t, 1, 0.3, key)
	lock := filepath.Join(t.TempDir(), "game.lock")
	var text bytes.Buffer
	require.NoError(t, g.protocol.WriteSchema(&text))
	require.NoError(t, os.WriteFile(lock, text.Bytes(), 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+seconds*time.Second)
	defer cancel()
	arguments := []string{"tools/play.mjs", g.address, lock, strconv.Itoa(int(seconds))}
	if key != nil {
		token, err := secure.Issue(*key, secure.Token{User: "ann", Servers: []string{g.address}, Expires: time.Now().Add(time.Minute)})
		require.NoError(t, err)
		arguments = append(arguments, hex.EncodeToString(token))
	}
	cmd := exec.CommandContext(ctx, node, arguments...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	var want map[string]entityOf
	begun, told := time.Time{}, false
	g.server.OnConnect(func(c netcode.ClientID) { g.client, begun = c, time.Now() })
	var result error
	g.run(ctx, func() {
		select {
		case result = <-ended:
			cancel()
			return
		default:
		}
		if begun.IsZero() || told || time.Since(begun) < seconds*time.Second || g.sticks <= 60 { // A slow machine takes longer.
			return
		}
		if g.busy {
			g.busy = false // the world rests from here on
			return
		}
		want, told = g.shownTo(g.client), true
		require.NoError(t, netcode.Send(g.server, netcode.To(g.client), &Done{Tick: uint32(g.server.Tick())}))
	})
	require.NoError(t, result, problems.String())
	var got struct {
		Entities map[string]entityOf
		Echoes   []string
		Coins    uint32
		Refused  string
		Cells    string
		Level    string
		Notes    []string
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got), out.String()+problems.String())
	require.Greater(t, len(got.Entities), 20)
	written := 0
	for index, e := range want {
		require.Equal(t, e, got.Entities[index], "entity %s", index)
		if slices.Equal(e.Rows["Paint"], []uint32{7}) {
			written++
		}
	}
	require.Equal(t, 1, written, "the client writes its Paint: the right came, if before the entity")
	require.Len(t, got.Entities, len(want))
	require.Equal(t, []string{"a 0", "a 1", "a 2", "a 3", "a 4", "a 5", "a 6", "a 7", "a 8", "a 9"}, got.Echoes)
	require.Equal(t, got.Echoes, g.heard)
	require.EqualValues(t, 21, got.Coins)
	require.Contains(t, got.Refused, "not for sale")
	require.Equal(t, "3", got.Cells)
	require.Equal(t, "level 60000 true", got.Level, "a transfer there and back")
	require.Equal(t, []string{`hé! ["a","b"] 1 -70000`, `! [] 2 0.5`}, got.Notes, "messages with a method")
	require.Greater(t, g.sticks, 60)
	require.Equal(t, 3, g.jumps, "each press is in one tick")
}

// TestTheClientsOwnTestsPass runs the tests that are written in JavaScript: golden vectors, the golden session, damaged datagrams.
func TestTheClientsOwnTestsPass(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: the tests of the JavaScript client need it")
	}
	out, err := exec.CommandContext(t.Context(), node, "--test", "test/").CombinedOutput()
	require.NoError(t, err, string(out))
}
