package nettest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

var (
	// Any number of games: go test ./nettest -run TestStories -stories 1000
	stories = flag.Int("stories", 4, "random games of TestStories")
	// One that failed, again: go test ./nettest -run TestStories -stories 1 -story-seed N
	storySeed = flag.Uint64("story-seed", 1, "seed of the first game; the next has the next number")
)

// The components of a story, beside those of other tests.
type (
	storyExact struct {
		X, Y float64
		N    int64
	}
	storySpin struct {
		Turn components.Quaternion `net:"quat,bits=9"`
		Lean float32               `net:"angle,bits=10"`
	}
	storyBorn  struct{ Skin, Hat uint8 }
	storySlow  struct{ N int32 }
	storyMark  struct{ Tile [5]uint8 }
	storyVerse struct{ N uint32 } // The same on all members of a choir, at any time.
	storyMine  struct{ Course int16 }
	storyAim   struct {
		At    ecs.Entity `net:"entity"`
		Since uint8
	}
	storyChild struct{ ecs.Relation }
	storyFall  struct {
		X, Y float32 `net:"min=-512,max=512,step=0.001"`
	}
)

// storyFalls is the prediction of a body that falls.
func storyFalls(predicted []uint32, v *wire.Versions) {
	if v.Before == nil {
		return
	}
	for i := range 2 {
		predicted[i] = uint32(int64(v.Base[i]) + (int64(v.Base[i])-int64(v.Before[i]))*v.Age/v.Span)
	}
	predicted[1] -= uint32(11 * v.Age * (v.Age + v.Span) / 2)
}

func storyProtocol() *shelf {
	s := newShelf()
	p := s.protocol
	netcode.Interpolate[position](p)
	netcode.Interpolate[health](p, netcode.Stepped())
	netcode.Replicate[storyExact](p)
	netcode.Replicate[storySpin](p)
	netcode.Replicate[storyBorn](p, netcode.Once())
	netcode.Replicate[storySlow](p, netcode.Every(3))
	netcode.Replicate[storyMark](p, netcode.Marked())
	netcode.Replicate[storyVerse](p)
	netcode.Replicate[storyMine](p, netcode.WrittenBy(netcode.OwnerWrites))
	netcode.Replicate[storyAim](p)
	netcode.Replicate[storyChild](p)
	netcode.Replicate[storyFall](p, netcode.PredictedBy("falls", storyFalls))
	netcode.Replicate[components.Kind](p)
	netcode.Replicate[components.Owner](p)
	return s
}

// story is one game: what a game may do with everything that replicates, at random, over a link at random.
type story struct {
	*shelf
	t        *testing.T
	r        *rand.Rand
	net      *nettest.Net
	rest     int
	all      []ecs.Entity
	choirs   [][]ecs.Entity // groups whose members are always written together
	verse    uint32
	byEntity map[ecs.Entity]netcode.NetworkID
	rooms    *interest.Rooms
	explicit *interest.Explicit
	sys      *systems.ServerSystems
	loose    []netcode.NetworkID // in no world
	tape     tape
	eyes     []*eyes
	met      map[string]int
	keep     bool
	config   netcode.Config
	tamper   bool
	draws    bool
}

// threeParts is an Executor that starts a goroutine for each.
type threeParts struct{}

func (threeParts) Parts() int { return 3 }
func (threeParts) Do(n int, part func(int)) {
	done := make(chan struct{})
	for i := range n {
		go func() { part(i); done <- struct{}{} }()
	}
	for range n {
		<-done
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func newStory(t *testing.T, seed uint64, parallel bool, met map[string]int) *story {
	r := rand.New(rand.NewPCG(seed, 77))
	g := &story{shelf: storyProtocol(), t: t, r: r, byEntity: map[ecs.Entity]netcode.NetworkID{}, met: met}
	g.config = netcode.Config{
		TickRate: pick(r, 20, 30, 60), PacketSize: pick(r, 1200, 1200, 500), Window: pick(r, 0, 0, 64, 70),
		SentPackets: pick(r, 0, 64), SendBudget: pick(r, -1, -1, 64<<10, 6000), HistoryBytes: pick(r, 0, 0, 1<<16),
		Whole: r.IntN(5) == 0, NoRepeat: r.IntN(2) == 0, Entities: pick(r, 0, 4),
	}
	if parallel {
		g.config.Executor = threeParts{}
	}
	g.keep = r.IntN(3) == 0
	g.tamper = r.IntN(3) == 0
	g.draws = r.IntN(2) == 0
	g.rest = 120 + r.IntN(400)
	link := transport.Link{
		Delay: pick[time.Duration](r, 0, 30, 90) * time.Millisecond, Jitter: pick[time.Duration](r, 0, 20) * time.Millisecond, Loss: pick(r, 0, .1, .4),
		Duplicate: pick(r, 0, .1), Reorder: pick(r, 0, .2), Corrupt: pick(r, 0, .02),
	}
	if r.IntN(4) == 0 {
		link.ReorderDelay = 600 * time.Millisecond
	}
	switch r.IntN(4) {
	case 0:
		g.rooms = interest.NewRooms()
	case 1:
		g.explicit = interest.NewExplicit()
	}
	g.net = nettest.New(t, nettest.Config{
		Protocol: g.protocol, Clients: 2, Seed: seed, Link: link, Server: g.config, Game: g.play, Setup: g.setUp,
		SetupClient: g.setUpClient,
	})
	return g
}

func (g *story) setUp(s *systems.ServerSystems, w *ecs.World) {
	g.sys = s
	leaving := interest.Despawn
	if g.keep {
		leaving = interest.Keep
	}
	var policy interest.Policy
	switch {
	case g.rooms != nil:
		policy = g.rooms
	case g.explicit != nil:
		policy = g.explicit
	}
	if policy != nil {
		schema := g.protocol.Schema()
		own := interest.OwnerRows(interest.MaskOf[storySpin](schema))
		s.Server.SetInterest(interest.New(interest.NewRows(policy, own), leaving))
	}
	s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		g.byEntity[e] = id
		g.met["spawns"]++
		g.look(id)
	})
	s.Server.OnError(func(err error) { g.met["errors"]++ })
	s.Server.OnConnect(func(c netcode.ClientID) {
		if g.rooms != nil {
			g.rooms.Enter(c, interest.Room(c%3))
		}
	})
	stop, err := s.Server.Record(&g.tape.file)
	require.NoError(g.t, err)
	g.tape.stop = stop
}

// look lets an entity be seen by some.
func (g *story) look(id netcode.NetworkID) {
	if g.rooms != nil {
		g.rooms.Add(id, interest.Room(g.r.IntN(3)))
	}
	for c := range netcode.ClientID(5) {
		if g.explicit != nil && g.r.IntN(2) == 0 {
			g.explicit.Show(c, id)
		}
	}
}

func (g *story) some() (ecs.Entity, bool) {
	if len(g.all) == 0 {
		return ecs.Entity{}, false
	}
	return g.all[g.r.IntN(len(g.all))], true
}

func has[T any](w *ecs.World, e ecs.Entity) bool { return w.Has(e, ecs.ComponentID[T](w)) }

// play is a frame of the game.
func (g *story) play(w *ecs.World, frame int) {
	if frame > g.rest {
		return
	}
	r := g.r
	for range r.IntN(3) {
		g.born(w)
	}
	for range r.IntN(12) {
		if e, ok := g.some(); ok {
			g.write(w, e)
		}
	}
	for range r.IntN(3) {
		if e, ok := g.some(); ok {
			g.shape(w, e)
		}
	}
	if r.IntN(3) == 0 {
		g.sight()
	}
	if r.IntN(40) == 0 {
		g.batch(w)
	}
	if r.IntN(2) == 0 {
		g.die(w)
	}
	g.sing(w)
	g.looseOnes()
	g.collect()
}

// born adds an entity of some shape.
func (g *story) born(w *ecs.World) {
	if len(g.all) > 40 {
		return
	}
	bodies := generic.NewMap2[components.Replicated, position](w)
	e := bodies.NewWith(&components.Replicated{}, &position{X: float32(g.r.IntN(600)) / 10})
	g.all = append(g.all, e)
	for range g.r.IntN(4) {
		g.shape(w, e)
	}
}

// die removes one, at times the whole world.
func (g *story) die(w *ecs.World) {
	if len(g.all) < 8 && g.r.IntN(4) > 0 {
		return
	}
	if g.r.IntN(200) == 0 {
		for _, e := range g.all {
			w.RemoveEntity(e)
		}
		g.all = g.all[:0]
		g.met["all died"]++
		return
	}
	if len(g.all) == 0 {
		return
	}
	i := g.r.IntN(len(g.all))
	w.RemoveEntity(g.all[i])
	g.all[i] = g.all[len(g.all)-1]
	g.all = g.all[:len(g.all)-1]
}

// batch is a change to many at once by Arche's own calls.
func (g *story) batch(w *ecs.World) {
	g.met["batches"]++
	born := ecs.ComponentID[storyBorn](w)
	switch g.r.IntN(3) {
	case 0:
		filter := ecs.All(ecs.ComponentID[health](w)).Without(born)
		w.Batch().Add(&filter, born)
	case 1:
		filter := ecs.All(born)
		w.Batch().Remove(&filter, born)
	default:
		crowd := generic.NewMap3[components.Replicated, position, storyExact](w)
		query := crowd.NewBatchQ(1 + g.r.IntN(20))
		for query.Next() {
			g.all = append(g.all, query.Entity())
		}
	}
}

// sight changes who sees what.
func (g *story) sight() {
	e, ok := g.some()
	id, named := g.byEntity[e]
	if !ok || !named {
		return
	}
	client := netcode.ClientID(1 + g.r.IntN(4))
	switch {
	case g.rooms != nil && g.r.IntN(2) == 0:
		g.rooms.Add(id, interest.Room(g.r.IntN(3)))
	case g.rooms != nil:
		g.rooms.Remove(id, interest.Room(g.r.IntN(3)))
	case g.explicit != nil && g.r.IntN(2) == 0:
		g.explicit.Hide(client, id)
	case g.explicit != nil:
		g.explicit.Show(client, id)
	case g.r.IntN(2) == 0:
		g.net.Server.Hide(client, id)
	default:
		g.net.Server.Show(client, id)
	}
}

// storyName is how to play a story again.
func storyName(seed uint64) string { return fmt.Sprintf("-stories 1 -story-seed %d", seed) }
