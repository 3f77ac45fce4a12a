package protocolpage_test

import (
	"context"
	"hash/crc32"
	"reflect"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transfer"
	"github.com/arche-netcode/netcode/wire"
)

func sessions() []session {
	return []session{
		{"world", "entities of all kinds of fields come, change, name each other, are hidden and go", playWorld},
		{"texts", "rows with texts and lists", func(g *sessionGame) { playTexts(g, false) }},
		{"unpacked", "the same with packing off", func(g *sessionGame) { playTexts(g, true) }},
		{"messages", "messages in all modes of delivery, in pieces, of a type that serializes itself, and calls", playMessages},
		{"collections", "a list, a set and a map", playCollections},
		{"transfers", "a transfer each way", playTransfers},
		{"bands", "entities in distance bands", playBands},
		{"inputs", "inputs, their feedback, and the right to write a row", playInputs},
		{"older", "a client of a newer build at a server of an older one", playOlder},
	}
}

type (
	sessionBody struct {
		X, Y  float32    `net:"min=-512,max=512,step=0.01"`
		Spin  [4]float32 `net:"quat,bits=9"`
		Turn  float64    `net:"angle,bits=12"`
		Alive bool
	}
	sessionExact struct {
		F    float32
		D    float64
		N    int64
		U    uint64  `net:"min=5,max=5000000000"`
		Half float32 `net:"half"`
		Axis float32 `net:"axis"`
		Kind int8
	}
	sessionLeash struct {
		To    ecs.Entity `net:"entity"`
		Slack uint8
	}
	sessionSlot struct {
		Kind  uint16
		Count uint8 `net:"min=0,max=99"`
	}
	sessionName struct {
		Text wire.Text32
		Bag  wire.List[sessionSlot, [6]sessionSlot]
	}
	sessionSpot struct {
		X, Y float32 `net:"min=-1000,max=1000,step=0.01"`
	}
	sessionStick struct {
		X, Y int8
		Jump bool `net:"event"`
	}
	sessionPaint struct{ Hue uint16 }
	sessionChat  struct{ Text wire.Text64 }
	sessionTick  struct{ Number uint32 }
	sessionBig   struct{ Cells [400]uint64 }
	sessionBuy   struct{ Item uint16 }
	sessionSold  struct{ Gold int32 }
	sessionNote  struct {
		Text string
		Kind uint8
		Hits int32
		Aim  float32
	}
	sessionHat struct{ Size uint8 }
)

// Serialize writes a branch by the kind.
func (m *sessionNote) Serialize(s *wire.Serializer) {
	s.String(&m.Text, 40)
	s.Uint8(&m.Kind)
	if m.Kind == 1 {
		s.PackedInt32(&m.Hits)
	} else {
		s.FiniteFloat32(&m.Aim)
	}
}

// fields returns what of it is sent.
func (m *sessionNote) fields() map[string]any {
	if m.Kind == 1 {
		return map[string]any{"Text": m.Text, "Kind": m.Kind, "Hits": m.Hits}
	}
	return map[string]any{"Text": m.Text, "Kind": m.Kind, "Aim": m.Aim}
}

// each has the server's game run once a tick, for a number of ticks.
func (g *sessionGame) each(ticks int, f func(tick int)) {
	for i := range ticks {
		g.net.Step()
		f(i)
	}
}

func playWorld(g *sessionGame) {
	p := netcode.NewProtocol()
	netcode.Replicate[sessionBody](p)
	netcode.Replicate[sessionExact](p)
	netcode.Replicate[sessionLeash](p)
	shown[sessionBody](g)
	shown[sessionExact](g)
	shown[sessionLeash](g)
	g.start(p, p, nettest.Config{})
	w, r := g.net.Server.World, g.r
	build := generic.NewMap2[components.Replicated, sessionBody](w)
	exact, leash := generic.NewMap1[sessionExact](w), generic.NewMap1[sessionLeash](w)
	var all []ecs.Entity
	g.each(120, func(tick int) {
		if len(all) < 12 && tick%5 == 0 {
			all = append(all, build.NewWith(&components.Replicated{}, &sessionBody{Spin: [4]float32{0, 0, 0, 1}, Alive: true}))
		}
		for i, e := range all {
			if _, b := build.Get(e); (i+tick)%3 > 0 {
				b.X, b.Y, b.Turn = b.X+r.Float32(), b.Y-.25, b.Turn+.1
				b.Spin[r.IntN(4)] += .1
			}
		}
		e := all[r.IntN(len(all))]
		switch tick % 9 {
		case 2:
			if !ecs.Has(w, e, ecs.ComponentID[sessionExact](w)) {
				exact.Assign(e, &sessionExact{U: 5})
			}
			*exact.Get(e) = sessionExact{r.Float32(), r.NormFloat64(), r.Int64(), 5 + r.Uint64N(4e9), float32(r.IntN(100)), r.Float32()*2 - 1, int8(r.IntN(200) - 100)}
		case 4:
			if !ecs.Has(w, e, ecs.ComponentID[sessionLeash](w)) {
				leash.Assign(e, &sessionLeash{})
			}
			*leash.Get(e) = sessionLeash{To: all[r.IntN(len(all))], Slack: uint8(tick)}
		case 6:
			for c := range g.net.Server.Clients {
				if id, ok := g.net.Server.Systems.ID(e); ok && !g.net.Server.Hide(c, id) {
					continue
				} else if ok && r.IntN(2) == 0 {
					g.net.Server.Show(c, id)
				}
			}
		case 8:
			if len(all) > 6 {
				w.RemoveEntity(all[0])
				all = all[1:]
			}
		}
	})
	g.each(30, func(int) {})
}

func playTexts(g *sessionGame, unpacked bool) {
	p := netcode.NewProtocol()
	netcode.Replicate[sessionName](p)
	netcode.Replicate[sessionExact](p)
	if unpacked {
		p.Debug()
	}
	shown[sessionName](g)
	shown[sessionExact](g)
	g.start(p, p, nettest.Config{})
	build := generic.NewMap3[components.Replicated, sessionName, sessionExact](g.net.Server.World)
	var all []ecs.Entity
	for range 4 {
		all = append(all, build.NewWith(&components.Replicated{}, &sessionName{}, &sessionExact{U: 5}))
	}
	g.each(60, func(tick int) {
		_, n, x := build.Get(all[g.r.IntN(len(all))])
		switch tick % 4 {
		case 0:
			n.Text.Set([]string{"", "Ann", "Anna", "Änne"}[g.r.IntN(4)])
		case 1:
			n.Bag.Append(sessionSlot{Kind: uint16(g.r.IntN(1000)), Count: uint8(g.r.IntN(99))})
		case 2:
			if k := n.Bag.Len(); k > 0 {
				n.Bag.At(g.r.IntN(k)).Count = uint8(g.r.IntN(99))
			}
		default:
			if k := n.Bag.Len(); k > 2 {
				n.Bag.Remove(g.r.IntN(k))
			}
			x.Kind++
		}
	})
	g.each(30, func(int) {})
}

func playMessages(g *sessionGame) {
	p := netcode.NewProtocol()
	chat := func(ctx *netcode.Context, m *sessionChat) {
		if ctx.Sender != 0 {
			_ = netcode.Reply(ctx, m)
			return
		}
		g.heard("message", "sessionChat", plain(reflect.ValueOf(m)))
	}
	netcode.Handle(p, chat, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle(p, func(ctx *netcode.Context, m *sessionTick) {
		g.heard("message", "sessionTick", plain(reflect.ValueOf(m)))
	},
		netcode.FromServer(), netcode.Over(netcode.UnreliableSequenced), netcode.OnChannel(2))
	netcode.Handle(p, func(ctx *netcode.Context, m *sessionBig) { g.heard("message", "sessionBig", plain(reflect.ValueOf(m))) },
		netcode.FromServer(), netcode.Over(netcode.Reliable))
	netcode.Handle(p, func(ctx *netcode.Context, m *sessionNote) { g.heard("message", "sessionNote", m.fields()) },
		netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	netcode.Answer(p, func(_ *netcode.Context, q *sessionBuy, r *sessionSold) error {
		if q.Item == 0 {
			return &soldOut{}
		}
		r.Gold = -int32(q.Item)
		return nil
	})
	g.start(p, p, nettest.Config{})
	ask := func(item uint16) {
		g.did("call", "sessionBuy", &sessionBuy{item})
		require.NoError(g.t, netcode.Call(context.Background(), g.client, 0, &sessionBuy{item}, func(r *sessionSold, err error) {
			if err != nil {
				g.heard("refused", "sessionBuy", err.Error())
				return
			}
			g.heard("answer", "sessionSold", plain(reflect.ValueOf(r)))
		}))
	}
	s := g.net.Server.Server
	g.each(60, func(tick int) {
		if tick%6 == 0 {
			m := &sessionChat{}
			m.Text.Set("hé " + string(rune('a'+tick/6)))
			g.did("send", "sessionChat", m)
			require.NoError(g.t, netcode.Send(g.client, netcode.ToServer(), m))
		}
		_ = netcode.Send(s, netcode.ToAll(), &sessionTick{uint32(tick)})
		switch tick {
		case 5:
			big := &sessionBig{}
			big.Cells[399] = 1 << 60
			require.NoError(g.t, netcode.Send(s, netcode.ToAll(), big))
		case 10:
			ask(3)
		case 15:
			ask(0)
		case 20:
			require.NoError(g.t, netcode.Send(s, netcode.ToAll(), &sessionNote{Text: "ö", Kind: 1, Hits: -70000}))
		case 25:
			require.NoError(g.t, netcode.Send(s, netcode.ToAll(), &sessionNote{Kind: 2, Aim: .5}))
		}
	})
	g.each(40, func(int) {})
}

// soldOut is the error of a call that is refused.
type soldOut struct{}

// Error implements error.
func (*soldOut) Error() string { return "sold out" }

func playCollections(g *sessionGame) {
	p := netcode.NewProtocol()
	netcode.Replicate[sessionPaint](p)
	list := collections.NewList[sessionSlot](p, "bag")
	set := collections.NewSet[uint16](p, "marks")
	table := collections.NewMap[uint8, int32](p, "scores")
	shown[sessionPaint](g)
	g.shows = append(g.shows, func(_ ecs.Entity, id netcode.NetworkID, to map[string]any) {
		slots, marks, scores := []any{}, []any{}, []any{}
		for _, v := range list.Of(g.client, id).All() {
			slots = append(slots, plain(reflect.ValueOf(v)))
		}
		for v := range set.Of(g.client, id).All() {
			marks = append(marks, v)
		}
		for k, v := range table.Of(g.client, id).All() {
			scores = append(scores, map[string]any{"Key": k, "Value": v})
		}
		to["bag"], to["marks"], to["scores"] = slots, marks, scores
	})
	g.start(p, p, nettest.Config{})
	s := g.net.Server
	build := generic.NewMap2[components.Replicated, sessionPaint](s.World)
	var all []ecs.Entity
	for range 3 {
		all = append(all, build.NewWith(&components.Replicated{}, &sessionPaint{}))
	}
	g.each(60, func(tick int) {
		id, ok := s.Systems.ID(all[tick%3])
		if !ok {
			return
		}
		bag, marks, scores := list.Of(s.Server, id), set.Of(s.Server, id), table.Of(s.Server, id)
		switch {
		case tick%5 == 4 && bag.Len() > 0:
			require.NoError(g.t, bag.Remove(g.r.IntN(bag.Len())))
		case tick == 40:
			require.NoError(g.t, bag.Clear())
		default:
			require.NoError(g.t, bag.Insert(g.r.IntN(bag.Len()+1), sessionSlot{Kind: uint16(tick)}))
		}
		_ = marks.Add(uint16(g.r.IntN(9)))
		if tick%4 == 0 {
			_ = marks.Remove(uint16(g.r.IntN(9)))
		}
		require.NoError(g.t, scores.Set(uint8(g.r.IntN(6)), int32(g.r.IntN(100))-50))
	})
	g.each(40, func(int) {})
}

func playTransfers(g *sessionGame) {
	p := netcode.NewProtocol()
	netcode.Replicate[sessionPaint](p)
	transfer.Register(p, transfer.Config{FromClient: 1 << 16})
	g.start(p, p, nettest.Config{})
	transfer.On(g.client, transfer.Handler{Done: func(r *transfer.Receiving, data []byte) {
		g.heard("transfer", r.Name(), map[string]any{"bytes": len(data), "crc32": crc32.ChecksumIEEE(data)})
	}})
	done := false
	transfer.On(g.net.Server.Server, transfer.Handler{Done: func(_ *transfer.Receiving, data []byte) { done = len(data) == 3000 }})
	level := make([]byte, 12000)
	for i := range level {
		level[i] = byte(i * i >> 3)
	}
	client := slices.Collect(g.net.Server.Clients)[0]
	_, err := transfer.Send(g.net.Server.Server, client, "level", level)
	require.NoError(g.t, err)
	g.did("transfer", "save", level[:3000])
	_, err = transfer.Send(g.client, 0, "save", level[:3000])
	require.NoError(g.t, err)
	require.True(g.t, g.net.RunUntil(20*time.Second, func() bool { return done }))
	g.each(30, func(int) {})
}

func playBands(g *sessionGame) {
	p := netcode.NewProtocol()
	netcode.Replicate[sessionSpot](p, netcode.Bands(netcode.Band{Beyond: 64, Scale: 8}, netcode.Band{Beyond: 200, Scale: 32, Every: 2}))
	shown[sessionSpot](g)
	var grid *interest.Grid
	g.start(p, p, nettest.Config{Setup: func(s *systems.ServerSystems, _ *ecs.World) {
		grid = interest.NewGrid(interest.GridConfig{Position: interest.PositionOf(p.Schema(), func(p *sessionSpot) (x, y, z float32) { return p.X, p.Y, 0 })})
		bands := interest.NewBands(grid, interest.BandsConfig{Schema: p.Schema(), Grid: grid})
		s.Server.SetInterest(interest.New(bands, interest.Despawn))
		s.Server.OnConnect(func(client netcode.ClientID) { grid.Look(client, 0, 0, 0) })
	}})
	build := generic.NewMap2[components.Replicated, sessionSpot](g.net.Server.World)
	var all []ecs.Entity
	for i := range 8 {
		all = append(all, build.NewWith(&components.Replicated{}, &sessionSpot{X: float32(i) * 40}))
	}
	g.each(90, func(int) {
		for i, e := range all {
			_, s := build.Get(e)
			s.X, s.Y = s.X+2.5-5*float32(i%2), s.Y+g.r.Float32()
		}
	})
	g.each(40, func(int) {})
}

func playInputs(g *sessionGame) {
	p := netcode.NewProtocol()
	netcode.Replicate[sessionSpot](p)
	netcode.Replicate[sessionPaint](p, authority.WrittenBy(authority.OwnerWrites))
	input.Register[sessionStick](p)
	shown[sessionSpot](g)
	g.start(p, p, nettest.Config{Setup: func(s *systems.ServerSystems, w *ecs.World) {
		build := generic.NewMap4[components.Replicated, components.Owner, sessionSpot, sessionPaint](w)
		s.Server.OnConnect(func(client netcode.ClientID) {
			build.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &sessionSpot{}, &sessionPaint{})
		})
	}})
	s := g.net.Server
	spots := generic.NewFilter1[sessionSpot]()
	client := slices.Collect(s.Clients)[0]
	last := s.Server.Tick()
	g.each(90, func(tick int) {
		stick := sessionStick{X: int8(tick % 20), Y: -3, Jump: tick%30 == 10}
		if tick%5 == 0 || stick.Jump {
			g.did("input", "sessionStick", &stick)
			input.Set(g.client, &stick)
		}
		for ; last < s.Server.Tick(); last++ {
			if in, ok := input.At[sessionStick](s.Server, client, last+1); ok {
				for q := spots.Query(s.World); q.Next(); {
					at := q.Get()
					at.X += float32(in.X)
					if in.Jump {
						at.Y += 10
					}
				}
			}
		}
	})
	g.each(30, func(int) {})
}

func playOlder(g *sessionGame) {
	older := netcode.NewProtocol()
	netcode.Replicate[sessionSpot](older)
	newer := netcode.NewProtocol()
	netcode.Replicate[sessionSpot](newer)
	netcode.Replicate[sessionHat](newer)
	newer.Support(older.Description())
	shown[sessionSpot](g)
	shown[sessionHat](g)
	g.start(older, newer, nettest.Config{})
	build := generic.NewMap2[components.Replicated, sessionSpot](g.net.Server.World)
	e := build.NewWith(&components.Replicated{}, &sessionSpot{})
	g.each(30, func(int) {
		_, s := build.Get(e)
		s.X++
	})
	g.each(30, func(int) {})
}
