package nettest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
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
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/schema/plain"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// thinEnd is a client of the plain profile on a Net.
type thinEnd struct {
	*thin.Client
	n    *nettest.Net
	conn transport.Conn
	rows []thin.Row // the input that its player gives, or nil
	buf  [2048]byte
}

// joinPlain adds a plain client to a Net whose protocol takes them.
func joinPlain(n *nettest.Net, p *netcode.Protocol, nonce uint64) *thinEnd {
	e := &thinEnd{Client: thin.New(thin.NewProtocol(plainWords(p)), nonce, nil, ms(n)), n: n, conn: n.Listen()}
	n.Each(e.frame)
	return e
}

// plainWords returns what netcode schema plain writes of a protocol.
func plainWords(p *netcode.Protocol) string {
	words, err := plain.Words(schema.Of(p))
	if err != nil {
		panic(err)
	}
	return words
}

// ms returns the time of a Net in milliseconds.
func ms(n *nettest.Net) float64 { return float64(n.Now()) / 1e6 }

func (e *thinEnd) frame() {
	for {
		size, _, err := e.conn.Receive(e.buf[:])
		if size == 0 || err != nil {
			break
		}
		e.Receive(e.buf[:size], ms(e.n))
	}
	if e.Connected && e.rows != nil {
		e.SetInput(ms(e.n), e.rows)
	}
	for _, datagram := range e.Update(ms(e.n)) {
		_ = e.conn.Send(e.n.Address(), datagram)
	}
}

// differs describes the first difference between the client's world and what the server shows it.
func (e *thinEnd) differs() string {
	server, shown := e.n.Server.Server, 0
	store, p := server.Store(), thin.NewProtocol(plainWords(server.Protocol()))
	for id := range store.All {
		if !server.Visible(netcode.ClientID(e.ID), id) {
			continue
		}
		shown++
		k := e.World.Entities[id.Index]
		if k == nil || k.Rows == nil || k.Generation != id.Generation {
			return fmt.Sprintf("%s is not here", id)
		}
		for row := range p.Components {
			name, lanes := p.Components[row].Name, store.Row(id, row)
			if got, has := k.Rows[name]; has != store.Mask(id).Intersect(server.VisibleRows(netcode.ClientID(e.ID), id)).Has(row) {
				return fmt.Sprintf("%s: %s %t", id, name, has)
			} else if want := e.valueOf(&p.Components[row], row, lanes); has && want != text(got) {
				return fmt.Sprintf("%s: %s is %s, at the server %s", id, name, text(got), want)
			}
		}
	}
	for _, k := range e.World.Entities {
		if k.Rows != nil {
			shown--
		}
	}
	return map[bool]string{true: "", false: "others are here"}[shown == 0]
}

// valueOf returns a row of the server as this client should have it.
func (e *thinEnd) valueOf(shape *thin.Shape, row int, lanes []uint32) string {
	if lanes == nil {
		return "{}"
	}
	plan := e.n.Server.Server.Store().Schema().Plan(row)
	b := make([]byte, plan.Bits()/8+1)
	w := wire.NewBitWriter(b)
	plan.WriteRow(&w, lanes)
	values, err := shape.Read(b[:w.Finish()])
	if err != nil {
		return err.Error()
	}
	for path, v := range values {
		if to, is := v.(*thin.Entity); is && to != nil && !e.n.Server.Server.Visible(netcode.ClientID(e.ID), netcode.NetworkID(*to)) {
			values[path] = (*thin.Entity)(nil)
		}
	}
	return text(values)
}

func text(row thin.Row) string {
	b, err := json.Marshal(row)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

type (
	plainKinds struct {
		F    float32
		D    float64
		N    int64
		U    uint64 `net:"min=5,max=5000000000"`
		On   bool
		Half float32    `net:"half"`
		Axis float64    `net:"axis"`
		Turn float32    `net:"angle,bits=10"`
		S    uint32     `net:"short"`
		Q    [4]float32 `net:"quat,bits=9"`
	}
	plainName struct {
		Text wire.Text32
		Bag  wire.List[plainSlot, [8]plainSlot]
	}
	plainSlot struct {
		Kind  uint16
		Count uint8 `net:"min=0,max=99"`
	}
	plainLeash struct {
		To    ecs.Entity `net:"entity"`
		Slack uint8
	}
	plainTag   struct{}
	plainStick struct {
		X, Y int8
		Jump bool `net:"event"`
	}
	plainChat  struct{ Text wire.Text64 }
	plainFlash struct{ N uint32 }
	plainBig   struct{ Cells [90]uint64 }
)

// plainGame is a world of every kind of field, in which entities and components come and go, and are hidden and shown.
type plainGame struct {
	churn
	protocol *netcode.Protocol
	n        *nettest.Net
	bodies   []ecs.Entity
	heard    []string
	flashes  int
	sticks   map[netcode.ClientID]int
	most     int // bodies at a time
}

func newPlainGame(t *testing.T, seed uint64, link transport.Link, rest int) *plainGame {
	g := &plainGame{churn: churn{rest: rest, state: seed}, protocol: netcode.NewProtocol(), sticks: map[netcode.ClientID]int{}, most: 70}
	p := g.protocol
	p.Plain()
	netcode.Replicate[busyPlace](p)
	netcode.Replicate[plainKinds](p)
	netcode.Replicate[plainName](p)
	netcode.Replicate[plainLeash](p)
	netcode.Replicate[plainTag](p)
	netcode.Replicate[components.Group](p)
	input.Register[plainStick](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *plainChat) {
		g.heard = append(g.heard, m.Text.String())
		_ = netcode.Reply(ctx, m)
	}, netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(3))
	netcode.Handle(p, func(ctx *netcode.Context, m *plainFlash) { g.flashes++; _ = netcode.Reply(ctx, m) })
	netcode.Handle[plainBig](p, nil, netcode.FromServer(), netcode.Over(netcode.Reliable))
	g.n = nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: seed, Link: link, Game: g.play})
	g.n.Server.Server.SetInterest(&blinks{})
	return g
}

// blinks hides the component plainKinds of some entities, others from time to time.
type blinks struct{ store *snapshot.Store }

func (b *blinks) Prepare(s *snapshot.Store) { b.store = s }
func (*blinks) Leave(netcode.ClientID)      {}
func (b *blinks) Update(_ netcode.ClientID, v *snapshot.View) {
	kinds := b.store.Schema().RowOf(reflect.TypeFor[plainKinds]())
	for id := range v.Seen { // What Hide took away stays away.
		rows := snapshot.AllRows()
		if (int(id.Index)+int(min(b.store.Tick(), 240))/10)%5 == 0 {
			rows = rows.Without(kinds)
		}
		v.See(id, rows)
	}
}

func (g *plainGame) play(w *ecs.World, frame int) {
	server := g.n.Server.Server
	for client := range server.Clients {
		if stick, ok := input.At[plainStick](server, client, server.Tick()); ok && stick.Jump {
			g.sticks[client]++
		}
	}
	if frame > g.rest {
		return
	}
	born := generic.NewMap4[components.Replicated, busyPlace, plainKinds, plainName](w)
	for len(g.bodies) < g.most {
		g.bodies = append(g.bodies, born.NewWith(&components.Replicated{}, &busyPlace{}, &plainKinds{U: 5, Q: [4]float32{0, 0, 0, 1}}, &plainName{}))
	}
	leash, tag, group := generic.NewMap1[plainLeash](w), generic.NewMap1[plainTag](w), generic.NewMap1[components.Group](w)
	for i := 0; i < len(g.bodies); i++ {
		e := g.bodies[i]
		if g.next(300) == 0 {
			w.RemoveEntity(e)
			g.bodies = append(g.bodies[:i], g.bodies[i+1:]...)
			i--
			continue
		}
		g.change(&born, e)
		switch g.next(40) {
		case 0:
			toggle(w, &leash, e, &plainLeash{To: g.bodies[g.next(len(g.bodies))], Slack: uint8(g.next(256))})
		case 1:
			toggle(w, &tag, e, &plainTag{})
		case 2:
			toggle(w, &group, e, &components.Group{ID: uint32(g.next(5) + 1)})
		}
		if id, ok := g.n.Server.Systems.ID(e); ok && g.next(100) == 0 {
			for client := range server.Clients {
				if g.next(2) == 0 {
					server.Hide(client, id)
				} else {
					server.Show(client, id)
				}
			}
		}
	}
}

// toggle gives an entity a component, or takes it.
func toggle[T any](w *ecs.World, m *generic.Map1[T], e ecs.Entity, v *T) {
	if ecs.Has(w, e, ecs.ComponentID[T](w)) {
		m.Remove(e)
	} else {
		m.Assign(e, v)
	}
}

func (g *plainGame) change(bodies *generic.Map4[components.Replicated, busyPlace, plainKinds, plainName], e ecs.Entity) {
	_, place, kinds, name := bodies.Get(e)
	if g.next(3) > 0 {
		place.X += float32(g.next(100)-50) / 100
	}
	if g.next(10) == 0 {
		kinds.F, kinds.D, kinds.N = float32(g.next(1000))/7-50, float64(g.next(1000))/3-100, int64(g.next(1<<31-1))<<30-1<<60
		kinds.U, kinds.On, kinds.Half = 5+uint64(g.next(1<<31-1))*2, g.next(2) == 0, float32(g.next(1000))/10-50
		kinds.Axis, kinds.Turn, kinds.S = float64(g.next(255)-127)/127, float32(g.next(700))/100, uint32(g.next(1<<g.next(30)))
		for k := range kinds.Q {
			kinds.Q[k] = float32(g.next(200) - 100)
		}
	}
	if g.next(20) == 0 {
		name.Text.Set("öre " + strconv.Itoa(g.next(1e6)))
		if name.Bag.Len() < 4 {
			name.Bag.Append(plainSlot{Kind: uint16(g.next(1000)), Count: uint8(g.next(99))})
		} else {
			name.Bag.Remove(g.next(name.Bag.Len()))
		}
	}
}

// TestAPlainClientHasTheServersWorld plays over a link that loses, repeats and reorders, with births, deaths, components that come and go, groups, hidden
// entities, references, texts and lists. A plain client that keeps no history has what the server shows it; messages and inputs arrive too.
func TestAPlainClientHasTheServersWorld(t *testing.T) {
	for seed := range uint64(3) {
		link := transport.Link{Delay: 40 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .3, Duplicate: .05}
		g := newPlainGame(t, seed, link, 360)
		e := joinPlain(g.n, g.protocol, 77+seed)
		e.rows = []thin.Row{{"X": 3, "Y": -3, "Jump": true}}
		require.True(t, g.n.RunUntil(5*time.Second, func() bool { return e.Connected }), e.Closed)
		for i := range 5 {
			e.Send("plainChat", thin.Row{"Text": fmt.Sprint("hej ", i)})
			e.Send("plainFlash", thin.Row{"N": uint64(i)})
		}
		require.NoError(t, netcode.Send(g.n.Server.Server, netcode.To(netcode.ClientID(e.ID)), &plainBig{Cells: [90]uint64{1: 7, 89: 1 << 63}}))
		g.n.Run(8 * time.Second)
		g.n.Heal()
		g.n.Run(2 * time.Second)
		require.Empty(t, e.Closed)
		require.Empty(t, e.differs(), "seed %d", seed)
		require.Equal(t, []string{"hej 0", "hej 1", "hej 2", "hej 3", "hej 4"}, g.heard)
		require.Greater(t, g.sticks[netcode.ClientID(e.ID)], 300)
		var echoes []any
		for _, m := range e.Messages {
			switch m.Name {
			case "plainChat":
				echoes = append(echoes, m.Row["Text"])
			case "plainBig":
				require.Equal(t, uint64(1<<63), m.Row["Cells[89]"])
				echoes = append(echoes, m.Row["Cells[1]"])
			}
		}
		require.ElementsMatch(t, []any{"hej 0", "hej 1", "hej 2", "hej 3", "hej 4", uint64(7)}, echoes)
		g.n.AssertConverge() // The other client, of the whole protocol, beside it.
	}
}

// moving is the busy game in which all bodies move in each frame.
type moving struct{ busy }

func (g *moving) play(w *ecs.World, frame int) { g.busy.play(w, frame%80) }

// TestPlainBytes compares what a plain client gets with what another client gets, in the busy game while every body moves: it is at most one and a half
// times as much. Of that game's rows drift is of exact floats, the dearest kind; a game that quantises pays less.
func TestPlainBytes(t *testing.T) {
	for _, of := range []struct {
		drift bool
		loss  float64
		most  float64
	}{{false, 0, 1.4}, {false, .1, 1.4}, {true, 0, 1.5}, {true, .1, 1.5}} {
		p := netcode.NewProtocol()
		p.Plain()
		netcode.Replicate[busyPlace](p)
		netcode.Replicate[busyTurn](p)
		netcode.Replicate[busySpeed](p)
		if of.drift {
			netcode.Replicate[busyDrift](p)
		}
		g := &moving{busy{churn: churn{rest: 400, state: 11}, spin: map[ecs.Entity][4]int{}}}
		n := nettest.New(t, nettest.Config{
			Protocol: p, Clients: 1, Seed: 11, Game: g.play, Server: netcode.Config{SendBudget: -1},
			Link: transport.Link{Delay: 50 * time.Millisecond, Loss: of.loss},
		})
		e := joinPlain(n, p, 5)
		n.Run(3 * time.Second)
		var plain, whole int
		n.OnSend(func(from, to transport.Addr, datagram []byte) {
			switch {
			case to == e.conn.LocalAddr():
				plain += len(datagram)
			case from == n.Address():
				whole += len(datagram)
			}
		})
		n.Run(2 * time.Second)
		ratio := float64(plain) / float64(whole)
		t.Logf("exact floats %t, loss %v: a plain client gets %d B/s, another %d B/s: %.3f times as much", of.drift, of.loss, plain/2, whole/2, ratio)
		require.Greater(t, whole, 2*100_000, "the world moves")
		require.LessOrEqual(t, ratio, of.most)
	}
}

// TestAPlainClientIsNotThrottled plays the moving game with the server's usual budget: a plain client gets as much of it as another, since its
// acknowledgements count. When the world comes to rest nothing is sent again.
func TestAPlainClientIsNotThrottled(t *testing.T) {
	p := netcode.NewProtocol()
	p.Plain()
	netcode.Replicate[busyPlace](p)
	netcode.Replicate[busyTurn](p)
	netcode.Replicate[busySpeed](p)
	netcode.Replicate[busyDrift](p)
	g, rests := &moving{busy{churn: churn{rest: 400, state: 11}, spin: map[ecs.Entity][4]int{}}}, false
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 3, Link: transport.Link{Delay: 50 * time.Millisecond, Loss: .02},
		Game: func(w *ecs.World, frame int) {
			if !rests {
				g.play(w, frame)
			}
		},
	})
	e := joinPlain(n, p, 5)
	n.Run(5 * time.Second)
	plain := 0
	n.OnSend(func(_, to transport.Addr, datagram []byte) {
		if to == e.conn.LocalAddr() {
			plain += len(datagram)
		}
	})
	n.Run(2 * time.Second)
	require.Greater(t, plain, 2*60_000, "the budget is 64 KiB a second")
	stats, ok := n.Server.ClientStats(netcode.ClientID(e.ID))
	require.True(t, ok)
	require.Less(t, stats.Loss, .1)
	rests = true
	n.Run(3 * time.Second)
	plain = 0
	n.Run(2 * time.Second)
	require.Less(t, plain, 2*1_000, "nothing but ticks")
	require.Empty(t, e.differs())
}

// TestPlainClientsAreRefusedWithoutPlain finds that the profile is the server's choice.
func TestPlainClientsAreRefusedWithoutPlain(t *testing.T) {
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 1})
	e := joinPlain(n, protocol(), 5)
	n.Run(time.Second)
	require.False(t, e.Connected)
	require.Contains(t, e.Closed, "refused, reason 33: 0 limits netcode{")
}

// TestARefusedPlainClientIsToldTheEntryThatDiffers compares it with the plain variant, and not with the first entry of the other one.
func TestARefusedPlainClientIsToldTheEntryThatDiffers(t *testing.T) {
	p := protocol()
	p.Plain()
	n := nettest.New(t, nettest.Config{Protocol: p, Seed: 1})
	other := netcode.NewProtocol()
	netcode.Replicate[busyPlace](other)
	e := joinPlain(n, other, 5)
	n.Run(time.Second)
	require.Contains(t, e.Closed, "refused, reason 33: 1 component ")
}

// TestAPlainClientPlaysWithANewerServer finds that the plain variant of an older build is spoken too.
func TestAPlainClientPlaysWithANewerServer(t *testing.T) {
	older := netcode.NewProtocol()
	netcode.Replicate[busyPlace](older)
	netcode.Replicate[busyTurn](older)
	p := netcode.NewProtocol()
	netcode.Replicate[busyPlace](p)
	netcode.Replicate[busyDrift](p) // new, and before the older one's second row
	netcode.Replicate[busyTurn](p)
	p.Support(older.Description())
	p.Plain()
	n := nettest.New(t, nettest.Config{Protocol: p, Seed: 1, Game: func(w *ecs.World, frame int) {
		if build := generic.NewMap4[components.Replicated, busyPlace, busyDrift, busyTurn](w); frame == 60 {
			build.NewWith(&components.Replicated{}, &busyPlace{X: 2}, &busyDrift{X: 3}, &busyTurn{Q: [4]float32{0, 0, 0, 1}})
		}
	}})
	e := joinPlain(n, older, 5)
	n.Run(3 * time.Second)
	require.True(t, e.Connected, e.Closed)
	require.Len(t, e.World.Entities, 1)
	require.Equal(t, map[string]thin.Row{"busyPlace": {"X": 2.0, "Y": 0.0, "Z": 0.0}, "busyTurn": {"Q": []float64{0, 0, 0, 1}}}, roundRows(e.World.Entities[0].Rows))
}

// roundRows rounds floats to thousandths.
func roundRows(rows map[string]thin.Row) map[string]thin.Row {
	for _, row := range rows {
		for path, v := range row {
			switch v := v.(type) {
			case float64:
				row[path] = math.Round(v*100) / 100
			case []float64:
				for i := range v {
					v[i] = math.Abs(math.Round(v[i]*100) / 100)
				}
				row[path] = v
			}
		}
	}
	return rows
}

// TestAPlainClientSendsNoState finds that a Snapshot and a Resync of a plain client end its session, though other clients of the protocol may ask for one.
func TestAPlainClientSendsNoState(t *testing.T) {
	for _, message := range [][]byte{{1, 0, 3, 0, 1, 0, 0}, {4, 0, 2, 0, 1, 0}} {
		p := protocol()
		p.Plain()
		n := nettest.New(t, nettest.Config{Protocol: p, Seed: 1})
		e := joinPlain(n, p, 5)
		n.Run(time.Second)
		require.True(t, e.Connected, e.Closed)
		e.Raw(message)
		n.Run(time.Second)
		require.Contains(t, e.Closed, "closed: message type", "malformed")
	}
}
