package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// fact is an event of the server, with its tick.
type fact struct {
	what rules.Fact
	tick netcode.Tick
	of   netcode.ClientID
}

// arena is a match of bots that are clients.
type arena struct {
	*nettest.Net
	match   *rules.Match
	players []*rules.Player
	facts   []fact
	wrong   []string                            // Mispredictions that the rules do not explain.
	shots   map[netcode.ClientID]map[uint16]int // Of the server, by player and kind.
	heard   []map[uint16]int                    // By each client of its own, those that were taken back not counted.
	news    []map[uint8]int                     // By client and kind.
	payload func(i int) []byte                  // Of clients that join; nil: as the first ones.
	still   bool                                // Bots do nothing.
	worlds  []*ecs.World
}

// late is for how many ticks a fact explains a misprediction: packets that tell of it may be lost several times.
const late = rules.TickRate

// explains reports whether something that the server decided explains a misprediction.
func (a *arena) explains(client netcode.ClientID, m predict.Misprediction, w *ecs.World) bool {
	has := func(id ecs.ID) bool { return w.Has(m.Entity, id) }
	for _, f := range a.facts {
		if f.tick > m.Tick || f.tick+late < m.Tick {
			continue
		}
		switch {
		case has(ecs.ComponentID[rules.Ball](w)) && f.what == rules.Touch && f.of != client,
			has(ecs.ComponentID[components.SpawnOf](w)) && f.of == client && (f.what == rules.Hit || f.what == rules.Death),
			has(ecs.ComponentID[rules.Avatar](w)) && f.of == client && f.what == rules.Death,
			has(ecs.ComponentID[rules.Clock](w)) && f.what == rules.Turn:
			return true
		}
	}
	return false
}

// payload is that of client i.
func payload(i int) []byte {
	return rules.Payload(fmt.Sprintf("a secret of client %02d", i), fmt.Sprint("bot ", i), false)
}

func newArena(t *testing.T, clients, bots int, link transport.Link, length time.Duration) *arena {
	a := &arena{shots: map[netcode.ClientID]map[uint16]int{}}
	a.Net = nettest.New(t, nettest.Config{
		Protocol: rules.Protocol(), Clients: clients, Seed: 3, Link: link, Server: rules.ServerConfig(), Client: rules.ClientConfig(),
		Payload: func(i int) []byte {
			if a.payload != nil {
				return a.payload(i)
			}
			return payload(i)
		},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			a.match = rules.Serve(s, w, rules.Options{Bots: bots, Length: length})
			a.match.Note = func(what rules.Fact, tick netcode.Tick, of netcode.ClientID) {
				a.facts = append(a.facts, fact{what, tick, of})
			}
			predict.Simulate(s, predict.Config{}, a.match.Rules.Systems()...).OnEffect(func(e predict.Effect) {
				owner := (*components.Owner)(w.Get(e.Entity, ecs.ComponentID[components.Owner](w)))
				if e.Kind == rules.Kick || owner.Client == 0 {
					return
				}
				if a.shots[owner.Client] == nil {
					a.shots[owner.Client] = map[uint16]int{}
				}
				a.shots[owner.Client][e.Kind]++
			})
		},
		SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
			p := rules.Join(c, w)
			heard, news := map[uint16]int{}, map[uint8]int{}
			a.players, a.heard, a.news, a.worlds = append(a.players, p), append(a.heard, heard), append(a.news, news), append(a.worlds, w)
			decide := p.Decide(rules.NewBrain(uint64(100 + i)))
			p.Act = func() rules.Control {
				if a.still {
					return rules.Control{}
				}
				return decide()
			}
			p.Sim.OnEffect(func(e predict.Effect) {
				if e.Kind != rules.Kick {
					heard[e.Kind]++
				}
			})
			netcode.On(c.Client, func(_ *netcode.Context, n *rules.News) { news[n.Kind]++ })
			netcode.On(c.Client, func(*netcode.Context, *rules.Mark) {})
			p.Sim.OnCancel(func(e predict.Effect) {
				if e.Kind != rules.Kick {
					heard[e.Kind]--
				}
			})
			p.Sim.OnMisprediction(func(m predict.Misprediction) {
				if !a.explains(c.Client.ID(), m, w) {
					a.wrong = append(a.wrong, fmt.Sprintf("client %d: %v", c.Client.ID(), m))
				}
			})
			c.Client.OnConnect(func(netcode.ClientID) {
				require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &rules.Ready{Is: true}))
			})
		},
	})
	return a
}

// ready makes all say that they may begin.
func (a *arena) ready(t *testing.T) {
	for _, c := range a.Clients {
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &rules.Ready{Is: true}))
	}
}

// phase runs until the match has a phase.
func (a *arena) phase(t *testing.T, phase uint8, limit time.Duration) {
	require.True(t, a.RunUntil(limit, func() bool { return a.match.Clock().Phase == phase }), "phase %d is not reached: %+v", phase, a.match.Clock())
}

// A match of bots at a round trip of 300 ms and 20 % loss each way, on two levels: what the rules can predict is predicted, each shot is
// seen once, and all have the same scores at the end.
func TestAMatchOfBots(t *testing.T) {
	a := newArena(t, 4, 2, transport.Link{Delay: 150 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: .2}, 15*time.Second)
	require.True(t, a.RunUntil(10*time.Second, func() bool { return a.match.Playing() == 4 }))
	a.Run(3 * time.Second)
	a.ready(t)
	a.phase(t, rules.Play, 20*time.Second)
	a.phase(t, rules.End, 30*time.Second)
	first := a.match.Score()
	require.Positive(t, first.Red+first.Blue, "somebody does something")
	a.Run(2 * time.Second)
	for _, p := range a.players {
		require.Equal(t, first, view.New(p).Scene().Score)
	}
	a.phase(t, rules.Play, 20*time.Second)
	require.EqualValues(t, 1, a.match.Clock().Level)
	require.Zero(t, a.match.Score())
	a.Run(5 * time.Second)
	a.still = true
	a.Run(4 * time.Second)
	mispredictions := 0
	for i, c := range a.Clients {
		require.Equal(t, a.shots[c.ID()], a.heard[i], "each shot of client %d once", c.ID())
		require.Greater(t, a.shots[c.ID()][rules.Muzzle], 10)
		stats := a.players[i].Sim.Stats()
		mispredictions += int(stats.Mispredictions)
		t.Logf("client %d: %d shots, %+v, %d explained mispredictions", c.ID(), a.shots[c.ID()][rules.Muzzle], stats, stats.Mispredictions)
		for _, kind := range []uint8{rules.Killed, rules.Goal} { // Who came first saw more players join.
			require.Equal(t, a.news[0][kind], a.news[i][kind])
		}
	}
	t.Logf("news %v, facts %d", a.news[0], len(a.facts))
	// A shot whose input was late by more than the rules of this test know is one of them, in about a quarter of matches.
	require.LessOrEqual(t, 100*len(a.wrong), mispredictions, "%d of %d: %s", len(a.wrong), mispredictions, strings.Join(a.wrong[:min(len(a.wrong), 20)], "\n"))
}
