package predict_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/consistent"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// seams is a game whose players change their address, leave and return, over narrow lines, with state held back until its
// tick is complete.
type seams struct {
	*game
	random *rand.Rand
	moved  int
	back   int
}

func newSeams(t *testing.T, seed uint64) *seams {
	p, config := newProtocol(), predict.Config{InputDelay: int(seed % 3)}
	if seed%2 == 0 {
		consistent.Register(p)
	}
	g := newEmptyGame(t, transport.Link{Delay: 40 * time.Millisecond}, seed)
	g.keep = time.Minute
	socket := g.openServer(p)
	s := &seams{game: g, random: rand.New(rand.NewPCG(seed, 17))}
	g.server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	g.server.OnMigrate(func(netcode.ClientID, transport.Addr, transport.Addr) { s.moved++ })
	g.group = systems.NewServer(g.server, socket, g.clock)
	g.sim = predict.Simulate(g.group, config, g.rules)
	g.loop = systems.NewRunner(g.world, g.group, rate)
	for n := range 3 {
		one := g.joinWith(p, config, nil)
		one.client.Close() // Join connects without a name.
		s.enter(n)
		one.act = wander
	}
	return s
}

// enter connects a player with its name.
func (s *seams) enter(n int) {
	p := s.players[n]
	require.NoError(s.t, p.client.ConnectWith(s.address, []byte(fmt.Sprint("player ", n))))
}

// act changes one player or its network, and reconnects players that lost the server.
func (s *seams) act() {
	n := s.random.IntN(len(s.players))
	p := s.players[n]
	switch s.random.IntN(6) {
	case 0: // Another address.
		require.NoError(s.t, p.conn.Close())
		p.conn.Conn = s.socket()
	case 1: // It leaves on purpose.
		p.client.Close()
	case 2: // It hangs, up to three seconds or beyond the timeout.
		if p.skip = s.random.IntN(3 * rate); s.random.IntN(4) == 0 {
			p.skip = 12 * rate
		}
	case 3: // A narrow line.
		s.link = transport.Link{Delay: 60 * time.Millisecond, Rate: 3000 + s.random.IntN(6000)}
		s.relink()
	case 4: // A bad line.
		s.link = transport.Link{Delay: time.Duration(s.random.IntN(150)) * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: float64(s.random.IntN(5)) / 10, Duplicate: .05}
		s.relink()
	case 5:
		s.rules.wind = float32(s.random.IntN(2)) / 10
	}
	for n, p := range s.players {
		if p.client.State() == netcode.Disconnected && p.skip == 0 && s.random.IntN(2) == 0 {
			s.enter(n)
			s.back++
		}
	}
}

func (s *seams) relink() {
	for _, l := range s.links {
		l.SetLink(s.link)
	}
}

// Changes of address, lost connections with a return to the same entities, narrow lines, loss and held state may
// coincide. In the end each world equals the server's, and each player predicts its own body. A player that left on
// purpose returns as another player.
func TestSeams(t *testing.T) {
	moved, back := 0, 0 // Of all seeds: one alone may have no change of address.
	for seed := range uint64(max(sized(2, 4), *randomGames/3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newSeams(t, seed)
			s.run(3 * rate)
			require.Len(t, s.bodies, 3)
			for range 40 {
				s.act()
				s.run(s.random.IntN(rate))
			}
			s.rules.wind, s.link = 0, transport.Link{Delay: 20 * time.Millisecond}
			s.relink()
			for _, p := range s.players {
				p.skip = 0
			}
			s.run(15 * rate) // By then a player that lost the server has noticed.
			for n, p := range s.players {
				if p.client.State() == netcode.Disconnected {
					s.enter(n)
				}
			}
			s.run(3 * rate)
			stop := generic.NewFilter1[velocity]()
			for query := stop.Query(s.world); query.Next(); {
				*query.Get() = velocity{}
			}
			s.heal()
			moved, back = moved+s.moved, back+s.back
			t.Log(s.moved, "moved,", s.back, "came back")
			for _, p := range s.players {
				shown := generic.NewFilter1[position]().Query(p.world)
				require.Equal(t, s.server.Store().Len(), shown.Count(), "entities of a client")
				shown.Close()
				require.True(t, p.world.Alive(p.body(s.game)), "its own body")
			}
			before := make([]predict.Stats, len(s.players))
			for i, p := range s.players {
				before[i] = p.sim.Stats()
				p.act = wander
			}
			s.run(10 * rate) // On a perfect network everything is right.
			for i, p := range s.players {
				require.Equal(t, before[i].Mispredictions, p.sim.Stats().Mispredictions, p.wrong)
			}
		})
	}
	require.NotZero(t, moved)
	require.NotZero(t, back)
}
