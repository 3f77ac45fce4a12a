package record_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

var (
	playbackGames = flag.Int("playback-games", 3, "random games of TestPlaybacksOfRandomGames")
	playbackSeed  = flag.Uint64("playback-seed", 1, "seed of the first; the next has the next number")
)

type (
	formerPlace struct{ X float32 }    // A component of an older build,
	presentOne  struct{ X, Y float32 } // and as it is now.
	farSpot     struct {               // A component with bands.
		X, Y float32 `net:"min=-512,max=512,step=0.01"`
	}
	news struct{ N uint32 } // To some clients.
)

// playbackBuild is one build of a random game.
type playbackBuild struct{ bags }

func newPlaybackBuild(older bool) *playbackBuild {
	p := netcode.NewProtocol()
	if older {
		netcode.Replicate[formerPlace](p, netcode.Named("place"))
	} else {
		netcode.Replicate[presentOne](p, netcode.Named("place"))
	}
	netcode.Replicate[spot](p)
	netcode.Replicate[target](p)
	netcode.Replicate[slowly](p, netcode.Every(7))
	netcode.Replicate[shown](p)
	netcode.Replicate[farSpot](p, netcode.Bands(netcode.Band{Beyond: 50, Scale: 8}, netcode.Band{Beyond: 200, Scale: 32, Every: 5}))
	input.Register[keys](p)
	netcode.Handle[news](p, func(*netcode.Context, *news) {}, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[shove](p, nil, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	b := &playbackBuild{bags{p, collections.NewList[slot](p, "list"), collections.NewSet[uint16](p, "set"), collections.NewMap[uint16, int32](p, "table")}}
	if !older {
		p.Support(newPlaybackBuild(true).protocol.Description())
	}
	return b
}

// playbackTick is the expected state of a playback at one tick.
type playbackTick struct {
	state  map[netcode.NetworkID]string
	bags   map[netcode.NetworkID]string
	seen   map[netcode.ClientID]map[netcode.NetworkID]snapshot.Mask
	owners map[netcode.NetworkID]netcode.ClientID
	keys   map[netcode.ClientID]keys
	news   []postedNews
}

// postedNews is a message with its recipients; nil: all but one.
type postedNews struct {
	n   uint32
	to  []netcode.ClientID
	but netcode.ClientID
	all bool
}

func (m *postedNews) reaches(player netcode.ClientID) bool {
	return m.all && (m.but == 0 || player != m.but) || slices.Contains(m.to, player) && player != 0
}

type playbackGame struct {
	t     *testing.T
	r     *rand.Rand
	build *playbackBuild
	net   *nettest.Net
	file  bytes.Buffer
	was   map[tick.Tick]*playbackTick
	now   playbackTick
	ticks []tick.Tick
	sent  uint32
	said  []postedNews // of the last recorded tick
}

// say sends a message to some clients.
func (g *playbackGame) say() {
	s := g.net.Server.Server
	clients := slices.Collect(s.Clients)
	g.sent++
	m := postedNews{n: g.sent}
	to := netcode.ToAll()
	switch kind := g.r.IntN(4); {
	case kind == 0 || len(clients) == 0:
		m.all = true
	case kind == 1:
		m.all, m.but = true, clients[g.r.IntN(len(clients))]
		to = netcode.ToAllBut(m.but)
	case kind == 2:
		m.to = []netcode.ClientID{clients[g.r.IntN(len(clients))]}
		to = netcode.To(m.to[0])
	default:
		m.to = clients[:1+g.r.IntN(len(clients))]
		to = netcode.ToMany(m.to)
	}
	require.NoError(g.t, netcode.Send(s, to, &news{g.sent}))
	g.now.news = append(g.now.news, m)
}

// olderClient adds a client of the older build, without a world.
func (g *playbackGame) olderClient() *netcode.Client {
	build := newPlaybackBuild(true)
	c, err := netcode.NewClient(build.protocol, netcode.Config{})
	require.NoError(g.t, err)
	conn := g.net.Listen()
	require.NoError(g.t, c.ConnectWith(g.net.Address(), []byte("older")))
	room := make([]byte, 2000)
	g.net.Each(func() {
		for {
			n, from, err := conn.Receive(room)
			if n == 0 || err != nil {
				break
			}
			steps.OfClient(c).Receive(from, room[:n])
		}
		steps.OfClient(c).BeginFrame(g.net.Now())
		steps.OfClient(c).Dispatch(tick.Update)
		_ = input.Set(c, &keys{Move: 3})
		steps.OfClient(c).Send()
		steps.OfClient(c).Drain(func(to transport.Addr, packet []byte) { _ = conn.Send(to, packet) })
	})
	return c
}

func playPlaybackGame(t *testing.T, seed uint64) *playbackGame {
	g := &playbackGame{t: t, r: rand.New(rand.NewPCG(seed, 2)), build: newPlaybackBuild(false), was: map[tick.Tick]*playbackTick{}}
	r := g.r
	rate := replayRate * (1 + r.IntN(2))
	basic := replayGame(seed, 4)
	var names []string
	g.net = nettest.New(t, nettest.Config{
		Protocol: g.build.protocol, Clients: 4, Seed: seed, Rate: rate,
		Link: transport.Link{Delay: time.Duration(r.IntN(80)) * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: float64(r.IntN(5)) / 20},
		Server: netcode.Config{
			TickRate: replayRate, Keep: time.Duration(r.IntN(2)) * time.Minute, SilenceTimeout: time.Second, KeepAlive: 200 * time.Millisecond,
		},
		Payload: func(i int) []byte {
			for len(names) <= i {
				names = append(names, fmt.Sprint("player ", r.IntN(6)))
			}
			return []byte(names[i])
		},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			s.Server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
			s.Server.SetInterest(&changing{})
			var err error
			_, err = record.Start(s.Server, &g.file, record.Messages(), record.Inputs(), record.Collections(), record.Views())
			require.NoError(t, err)
			extend.OfServer(s.Server).Extend(extend.ServerHooks{AfterSend: func() {
				if s.Server.TickDue() && s.Server.Store().Tick() == s.Server.Tick() { // the tick is recorded; later messages belong to the next
					g.said, g.now.news = g.now.news, nil
				}
			}})
			s.Server.OnConnect(func(netcode.ClientID) { g.say() })
			s.Server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { g.say() })
			netcode.On(s.Server, func(*netcode.Context, *shove) { g.say() })
			places, far := generic.NewMap1[presentOne](w), generic.NewMap1[farSpot](w)
			s.Add(tick.Update, systems.Func(func(w *ecs.World) {
				if s.Server.TickDue() {
					basic(w, int(s.Server.Tick()))
					for id := range s.Server.Store().All {
						e, ok := s.Entity(id)
						if !ok || !w.Alive(e) {
							continue
						}
						switch r.IntN(20) {
						case 0:
							if places.Get(e) == nil {
								places.Assign(e, &presentOne{X: r.Float32(), Y: r.Float32()})
							} else {
								places.Remove(e)
							}
						case 1:
							if far.Get(e) == nil {
								far.Assign(e, &farSpot{X: r.Float32()})
							}
						case 2:
							if clients := slices.Collect(s.Server.Clients); len(clients) > 0 {
								s.Server.SetOwner(id, clients[r.IntN(len(clients))])
							}
						}
						if at := places.Get(e); at != nil && r.IntN(3) == 0 {
							at.X, at.Y = r.Float32(), r.Float32()
						}
						if at := far.Get(e); at != nil {
							at.X += r.Float32()
						}
					}
					g.build.change(r, s.Server)
					g.now.keys = map[netcode.ClientID]keys{}
					for id := range s.Server.Clients {
						if k, ok := input.Of[keys](s.Server, id); ok {
							g.now.keys[id] = k
						}
					}
				}
				if r.IntN(3) == 0 {
					g.say()
				}
				if r.IntN(90) == 0 {
					if clients := slices.Collect(s.Server.Clients); len(clients) > 0 {
						s.Server.Kick(clients[r.IntN(len(clients))], "")
					}
				}
			}))
		},
		SetupClient: func(i int, c *systems.ClientSystems, _ *ecs.World) {
			frame := 0
			c.Add(tick.Update, systems.Func(func(*ecs.World) {
				frame++
				_ = input.Set(c.Client, &keys{Move: int8(frame / 20 % (5 + i)), Jump: frame%(23+i) == 0})
				if frame%40 == i {
					_ = netcode.Send(c.Client, netcode.ToServer(), &shove{int16(i)})
				}
			}))
		},
	})
	host, err := netcode.NewClient(g.build.protocol, netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	g.net.Server.Systems.Add(tick.Update, systems.Func(func(*ecs.World) {
		steps.OfClient(host).BeginFrame(g.net.Now())
		steps.OfClient(host).Dispatch(tick.Update)
		_ = input.Set(host, &keys{Move: int8(g.net.Frame() % 50)})
		steps.OfClient(host).Send()
	}))
	g.olderClient()
	for range 12 * rate {
		switch r.IntN(40) {
		case 0:
			if len(g.net.Clients) < 12 {
				g.net.Join()
			}
		case 1:
			if c := g.net.Clients[r.IntN(len(g.net.Clients))]; c.Running() {
				g.net.Kill(c)
			}
		case 2:
			g.net.Clients[r.IntN(len(g.net.Clients))].Client.Close()
		case 3:
			if !steps.OfClient(host).ConnectedTo(g.net.Server.Server) {
				_ = netcode.Host(g.net.Server.Server, host)
			} else if r.IntN(4) == 0 {
				host.Close()
			}
		}
		g.step()
	}
	return g
}

// step runs a frame and stores its captured tick.
func (g *playbackGame) step() {
	g.net.Step()
	s := g.net.Server.Server
	now := s.Store().Tick()
	if now == tick.None || g.was[now] != nil {
		return
	}
	one := g.now
	one.news = g.said
	one.state, one.bags = stateText(s.Store(), itself), g.build.text(s, s, itself)
	one.seen, one.owners = map[netcode.ClientID]map[netcode.NetworkID]snapshot.Mask{}, map[netcode.NetworkID]netcode.ClientID{}
	for client := range s.Clients {
		one.seen[client] = g.build.plainly(seenBy(s, client, itself))
	}
	for id := range s.Store().All {
		one.owners[id] = s.Store().Owner(id)
	}
	g.was[now], g.ticks, g.now = &one, append(g.ticks, now), playbackTick{news: g.now.news}
}

// plainly replaces bands and older forms by their components.
func (b *playbackBuild) plainly(seen map[netcode.NetworkID]snapshot.Mask) map[netcode.NetworkID]snapshot.Mask {
	schema := b.protocol.Schema()
	for id, mask := range seen {
		plain := snapshot.Mask{}
		for rows := mask; !rows.IsZero(); rows = rows.Rest() {
			row := rows.Lowest()
			for schema.Plan(row).Name() == schema.Plan(max(row-1, 0)).Name() && row > 0 {
				row--
			}
			plain = plain.With(row)
		}
		seen[id] = plain
	}
	return seen
}

// TestPlaybacksOfRandomGames records random games completely and plays them to spectators, with seeks, pauses, speeds
// and followed players. State, visibility, owners, inputs, collections and messages equal those of the tick.
func TestPlaybacksOfRandomGames(t *testing.T) {
	for i := range uint64(*playbackGames) {
		seed := *playbackSeed + i
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { playPlayback(t, seed) })
	}
}

func playPlayback(t *testing.T, seed uint64) {
	g := playPlaybackGame(t, seed)
	r := rand.New(rand.NewPCG(seed, 3))
	build := newPlaybackBuild(false)
	var p *record.Player
	heard := map[int][]uint32{}
	n := nettest.New(t, nettest.Config{
		Protocol: build.protocol, Clients: 3, Seed: seed, Rate: replayRate, Link: transport.Link{Delay: 20 * time.Millisecond, Loss: 0.1},
		Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			s.Server.Spawn()
			var err error
			p, err = record.Play(s.Server, bytes.NewReader(g.file.Bytes()))
			require.NoError(t, err)
			s.Server.SetInterest(p.Interest(interest.New(interest.All(), interest.Despawn)))
			p.Pause(true)
		},
		SetupClient: func(i int, c *systems.ClientSystems, _ *ecs.World) {
			netcode.On(c.Client, func(_ *netcode.Context, m *news) { heard[i] = append(heard[i], m.N) })
		},
	})
	n.Run(2 * time.Second)
	require.True(t, n.Connected())
	clear(heard)
	p.Pause(false)
	follows, want, last := [3]netcode.ClientID{}, map[int][]uint32{}, p.Tick()
	for range 600 {
		switch r.IntN(25) {
		case 0:
			p.Seek(p.First() + tick.Tick(r.IntN(int(p.Last()-p.First())+20)-10))
			last = p.Tick()
		case 1:
			p.Pause(r.IntN(2) == 0)
		case 2:
			require.NoError(t, p.SetSpeed([]float64{.1, .5, 1, 2, 3.7, 16}[r.IntN(6)]))
		case 3, 4:
			i := r.IntN(3)
			follows[i] = netcode.ClientID(r.IntN(14))
			p.Follow(n.Clients[i].ID(), follows[i])
		}
		for n.Step(); !n.Server.TickDue(); {
			n.Step()
		}
		s := n.Server.Server
		now := p.Tick()
		for at := last + 1; at <= now; at++ {
			if g.was[at] == nil {
				continue
			}
			for _, m := range g.was[at].news {
				for i := range 3 {
					if m.reaches(follows[i]) {
						want[i] = append(want[i], m.n)
					}
				}
			}
		}
		last = now
		was := g.was[now]
		require.NotNil(t, was, "tick %d", now)
		require.Equal(t, was.state, stateText(s.Store(), p.Recorded), "tick %d", now)
		require.Equal(t, was.bags, build.text(s, s, p.Recorded), "tick %d", now)
		require.Equal(t, slices.Sorted(maps.Keys(was.seen)), p.Players(), "tick %d", now)
		for id, owner := range was.owners {
			require.Equal(t, owner, p.Owner(id))
		}
		for i, c := range n.Clients {
			seen := was.seen[follows[i]]
			if seen == nil {
				seen = build.plainly(everything(s, p.Recorded))
				delete(seen, netcode.NetworkID{})
			}
			is := build.plainly(seenBy(s, c.ID(), p.Recorded))
			delete(is, netcode.NetworkID{})
			require.Equal(t, seen, is, "tick %d: spectator %d follows %d", now, i, follows[i])
		}
		for id := range netcode.ClientID(16) {
			if k, has := was.keys[id]; has { // an early leave is recorded too
				got, ok := input.Recorded[keys](s, id)
				require.True(t, ok, "tick %d: input of %d", now, id)
				require.Equal(t, k, got, "tick %d: input of %d", now, id)
			}
		}
	}
	p.Pause(true)
	n.Run(5 * time.Second)
	n.AssertConverge()
	for i := range 3 {
		require.Equal(t, want[i], heard[i], "spectator %d", i)
	}
}

// stateText returns all captured entities with their rows, with ids mapped by was.
func stateText(s *snapshot.Store, was func(netcode.NetworkID) netcode.NetworkID) map[netcode.NetworkID]string {
	all := map[netcode.NetworkID]string{}
	for id := range s.All {
		if was(id).IsZero() {
			continue // an entity of the playback server
		}
		text := ""
		for rows := s.Mask(id).Minus(s.Schema().Coarse); !rows.IsZero(); rows = rows.Rest() {
			lanes := slices.Clone(s.Row(id, rows.Lowest()))
			for _, at := range s.Schema().Plan(rows.Lowest()).Refs() {
				named := netcode.NetworkID{Index: lanes[at], Generation: lanes[at+1]}
				if named = was(named); !s.Alive(netcode.NetworkID{Index: lanes[at], Generation: lanes[at+1]}) {
					named = netcode.NetworkID{}
				}
				lanes[at], lanes[at+1] = named.Index, named.Generation
			}
			text += fmt.Sprint(s.Schema().Plan(rows.Lowest()).Name(), lanes, " ")
		}
		all[was(id)] = text
	}
	return all
}
