package nettest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

var (
	// Any number of games: go test ./nettest -run TestGames -games 1000
	games = flag.Int("games", 24, "random games of TestGames")
	// One that failed, again: go test ./nettest -run TestGames -games 1 -game-seed N
	gameSeed = flag.Uint64("game-seed", 1, "seed of the first game; the next has the next number")
)

// TestGames plays whole random games through the public API: a server and clients with worlds of their own, over bad links, that join, leave,
// sleep and connect anew, with all that entities can be and all that can be done to them. Beside them goes a dumb model of what each
// client must see. At all times each entity at a client is what it was at the server in the tick as of which it is known, as far as it
// was visible; what observers and hooks tell is exactly what is another in the client's world than in the frame before; what changes
// together in a group is seen together; messages come once, and in order where that was promised; where nothing bounds what is sent, what
// changed is known soon; and the account of all bytes adds up. When links have healed and nothing changes any more, each client's world,
// collections and messages are what they must be, and a recording plays what was. The same seed sends the same bytes.
func TestGames(t *testing.T) {
	met := map[string]int{}
	count := *games
	if testing.Short() {
		count = min(count, 4)
	}
	for n := range uint64(count) {
		seed := *gameSeed + n
		hash := playMatch(t, seed, met)
		if n%8 == 0 {
			require.Equal(t, hash, playMatch(t, seed, map[string]int{}), "-games 1 -game-seed %d: the same seed sends other bytes", seed)
		}
	}
	t.Log(met)
	if count < 24 {
		return
	}
	for _, deed := range gameDeeds() {
		require.NotZero(t, met[deed.name], "no game met: %s", deed.name)
	}
	for _, what := range []string{
		"spawn hooks", "despawn hooks", "changes", "groups", "own writes", "scribbles", "meddling", "words heard", "fresh", "ticks replayed",
		"values as of a tick", "joins", "new connections", "closes", "sleeps", "blackouts", "kills",
	} {
		require.NotZero(t, met[what], "no game met: %s", what)
	}
}

// match is a game.
type match struct {
	t         *testing.T
	seed      uint64
	r         *rand.Rand
	met       map[string]int
	net       *nettest.Net
	protocol  *gameProtocol
	world     *gameWorld // the server's
	sight     *gameSight
	players   []*gamePlayer
	all       []*gameEntity
	worldless []*gameEntity
	past      map[netcode.Tick]*gamePast
	kept      map[netcode.NetworkID]*gameKept
	tape      gameTape
	talks     gameTalks
	stamps    map[uint32]uint32 // by group
	stamp     uint32
	deeds     []gameDeed
	weights   int
	most      int  // entities
	rates     bool // some travel more rarely
	meddling  bool // clients do to their worlds what they like
	playing   bool
	oversize  bool          // some group was larger than a packet
	prompt    bool          // nothing bounds what is sent
	calm      time.Duration // when something befell the links last
}

// hold fails the game unless what must be so is.
func (g *match) hold(ok bool, what ...any) {
	if !ok {
		g.t.Helper()
		require.FailNow(g.t, fmt.Sprintf("-games 1 -game-seed %d: tick %d: %s", g.seed, g.net.Server.Tick(), fmt.Sprintln(what...)))
	}
}

// pool is an executor.
type pool int

// Parts implements netcode.Executor.
func (p pool) Parts() int { return int(p) }

// Do implements netcode.Executor.
func (p pool) Do(n int, part func(int)) {
	var others sync.WaitGroup
	for i := 1; i < n; i++ {
		others.Go(func() { part(i) })
	}
	part(0)
	others.Wait()
}

func newMatch(t *testing.T, seed uint64, met map[string]int) *match {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	one := func(in int) bool { return r.IntN(in) == 0 }
	g := &match{
		t: t, seed: seed, r: r, met: met, past: map[netcode.Tick]*gamePast{}, kept: map[netcode.NetworkID]*gameKept{},
		talks: newGameTalks(), stamps: map[uint32]uint32{}, deeds: gameDeeds(), most: pick(6, 12, 24, 40), rates: one(3), meddling: one(3),
	}
	for _, deed := range g.deeds {
		g.weights += deed.weight
	}
	g.protocol = newGameProtocol(one(2), one(5), one(6), g.hear)
	g.sight = newGameSight(gameWay(r.IntN(int(gameWays))), g.protocol)
	_ = one(5) // keeps the draws of older seeds
	server := netcode.Config{
		TickRate: pick(20, 30, 60), Window: pick(64, 64, 128), SentPackets: pick(64, 256, 1024), PacketSize: pick(256, 400, 1200, 1200),
		SendBudget: pick(-1, -1, 6<<10, 64<<10), Entities: pick(1, 16, 1024), NoRepeat: one(4), HistoryBytes: pick(1<<16, 128<<20, 128<<20),
	}
	if one(3) {
		server.Executor = pool(2)
	}
	g.prompt = server.SendBudget < 0 && server.SentPackets > 64 && g.sight.way < wayRows
	g.net = nettest.New(t, nettest.Config{
		Protocol: g.protocol.Protocol, Clients: 2, Seed: seed, Server: server, Client: netcode.Config{SentPackets: server.SentPackets},
		Setup: g.setUp,
		SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
			g.players = append(g.players, newGamePlayer(g, i, c, w))
		},
	})
	g.net.OnSend(g.account)
	return g
}

func (g *match) setUp(s *systems.ServerSystems, w *ecs.World) {
	g.world = newGameWorld(w)
	g.sight.setUp(s)
	s.Server.OnError(func(err error) {
		if _, ok := err.(*netcode.GroupError); ok {
			g.oversize = true
		}
	})
	s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		for _, f := range g.all {
			if f.Entity == e {
				f.id = id
				g.sight.born(id, g.r)
			}
		}
	})
	s.Add(netcode.StageUpdate, systems.Func(func(*ecs.World) {
		if g.playing && s.Server.TickDue() {
			g.tick()
		}
	}))
	s.Add(netcode.StagePostLateUpdate, systems.Func(func(*ecs.World) { g.remember() }))
}

// account adds up where the bytes of a datagram to a client went.
func (g *match) account(from, to transport.Addr, datagram []byte) {
	if from != g.net.Address() {
		return
	}
	for _, p := range g.players {
		stats, ok := g.net.Server.ClientStats(p.ID())
		if !ok || stats.Address != to {
			continue
		}
		p.sums.Add(p.c.Client, datagram)
		p.bytes += uint64(len(datagram))
		p.hold(p.sums.Bytes == p.bytes && p.sums.Total() == 8*p.bytes, "of", p.bytes, "bytes", p.sums.Bytes, "and", p.sums.Total(), "bits are accounted for")
	}
}

// indexes is beyond every network index that the game has used.
func (g *match) indexes() int {
	most := uint32(0)
	for id := range g.kept {
		most = max(most, id.Index)
	}
	return int(most) + 8
}

// playMatch plays a game and returns a hash of all that was sent.
func playMatch(t *testing.T, seed uint64, met map[string]int) uint64 {
	g := newMatch(t, seed, met)
	g.net.SetLink(gameLink{delay: 20 * time.Millisecond}.link())
	for range 30 {
		g.net.Step()
	}
	if g.r.IntN(3) == 0 {
		g.tape.start(g)
	}
	for range 2 {
		g.phase()
		g.settle()
	}
	g.tape.replay(g)
	return g.net.TraceHash()
}
