package nettest_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// The packets that spawn, update and despawn an entity, each of them twice, in every order: at no time does the client hold
// it twice, or again after its despawn, and once the despawn has come it is gone. Where the update and the despawn lean on the
// spawn, that was acknowledged before they were sent: then it comes first, and once more at any time.
func TestCase24LifePermutations(t *testing.T) {
	for _, leans := range []bool{false, true} {
		orders, want := 0, map[bool]int{false: 90, true: 30}
		permutations([]int{0, 0, 1, 1, 2, 2}, func(order []int) {
			if leans && order[0] != 0 {
				return
			}
			orders++
			require.NoError(t, playLife(leans, order), "leans %v, order %v", leans, order)
		})
		require.Equal(t, want[leans], orders)
		casebook.Injected(t, orders, "orders of spawn, update and despawn, each twice")
	}
}

// permutations calls f with every order of the numbers, equal ones not told apart.
func permutations(numbers []int, f func([]int)) {
	var order []int
	left := map[int]int{}
	for _, n := range numbers {
		left[n]++
	}
	var next func()
	next = func() {
		if len(order) == len(numbers) {
			f(order)
			return
		}
		for n := range len(numbers) {
			if left[n] == 0 {
				continue
			}
			left[n]--
			order = append(order, n)
			next()
			order = order[:len(order)-1]
			left[n]++
		}
	}
	next()
}

// playLife makes the three packets and brings them to a client in this order.
func playLife(leans bool, order []int) error {
	schema := protocol().Schema()
	store := snapshot.NewStore(schema, snapshot.Config{})
	view := snapshot.NewView(store, snapshot.Config{})
	var id wire.NetworkID
	row := map[string]int{}
	for i := range schema.Rows() {
		row[schema.Plan(i).Name()] = i
	}
	packets := make([][]byte, 3)
	for i, game := range []func(){
		func() { id = store.Spawn(); store.Set(id, row["health"], []uint32{1}) },
		func() { store.Set(id, row["health"], []uint32{2}) },
		func() { store.Despawn(id) },
	} {
		store.Begin(tick.Tick(i + 1))
		game()
		store.Commit()
		view.Observe()
		packets[i] = make([]byte, 256)
		packets[i] = packets[i][:view.Write(packets[i], uint64(i+1))]
		if leans && i == 0 {
			view.Acked(1)
		}
	}
	world := ecs.NewWorld()
	client := replica.New(schema, snapshot.Config{}, 1)
	apply := netecs.NewApply(&world, client, schema, 1, netecs.Hooks{}, nil)
	known, gone := 0, false // what was decoded: nothing, the spawn, the update
	for _, i := range order {
		err := client.Read(packets[i])
		switch {
		case err == nil && i == 2:
			gone = true
		case err == nil:
			known = max(known, i+1)
		default:
			return fmt.Errorf("packet %d: %w", i, err)
		}
		apply.Run()
		held := 0
		for range netecs.Entities(&world) {
			held++
		}
		if want := known > 0 && !gone; held > 1 || want != (held == 1) {
			return fmt.Errorf("after packet %d the world holds %d, known %d, gone %v", i, held, known, gone)
		}
		if lanes := client.Row(id.Index, row["health"]); held == 1 && lanes[0] != uint32(known) {
			return fmt.Errorf("after packet %d health is %v", i, lanes)
		}
	}
	return nil
}

// serial is a game in which one entity lives at a time, of which all components say the same number. Each frame it moves,
// and every few frames it dies and another one is born at once, whose network index was another's a moment ago.
type serial struct {
	rest, number int
	now          ecs.Entity
	alive        bool
}

func (g *serial) play(w *ecs.World, frame int) {
	bodies := generic.NewMap3[components.Replicated, position, health](w)
	if frame > g.rest {
		return
	}
	if !g.alive || frame%3 == 0 {
		if g.alive {
			w.RemoveEntity(g.now)
		}
		g.number++
		g.alive = true
		g.now = bodies.NewWith(&components.Replicated{}, &position{X: float32(g.number%50) + .5}, &health{Points: int32(g.number % 50)})
	}
	_, at, _ := bodies.Get(g.now)
	at.Y = float32(g.number%50) + float32(frame%3)/10
}

// whole fails when a client sees components of different entities on one.
func whole(c *nettest.Client) error {
	query := generic.NewFilter2[position, health]().Query(&c.World)
	for query.Next() {
		at, points := query.Get()
		x, y := math.Floor(float64(at.X)), math.Floor(float64(at.Y)+.005)
		if int32(x) != points.Points || int32(y) != points.Points {
			query.Close()
			return fmt.Errorf("an entity is at %v with health %d", *at, points.Points)
		}
	}
	return nil
}

// A slot of the network index is used again every few ticks, while a fifth of all packets come up to two seconds late:
// old records never reach the entity that has the index now.
func TestCase25IDReuseRace(t *testing.T) {
	seconds := sized(10, 120)
	for seed := range uint64(sized(2, 8)) {
		g := &serial{rest: 60 * seconds}
		n := nettest.New(t, nettest.Config{
			Protocol: protocol(), Clients: 2, Seed: seed, Game: g.play, Server: netcode.Config{SendBudget: -1},
			Link: transport.Link{Delay: 30 * time.Millisecond, Loss: .1, Reorder: .2, ReorderDelay: 2 * time.Second, Duplicate: .1},
		})
		late := uint64(0)
		for n.Now() < time.Duration(seconds)*time.Second {
			n.Step()
			for i, c := range n.Clients {
				require.NoError(t, whole(c), "seed %d, frame %d, client %d", seed, n.Frame(), i)
			}
		}
		n.AssertConverge()
		for _, c := range n.Clients {
			late += c.Replica().Stats().Late
			require.Equal(t, 1, c.Replica().Len())
		}
		require.Greater(t, late, uint64(seconds), "records really came late")
		casebook.Injected(t, late, "records that came after newer ones")
		require.Greater(t, g.number, 10*seconds)
	}
}

// bits returns the bits of a despawn's record, at a gap of none.
func despawnBits(generation uint32) int {
	w := wire.NewBitWriter(make([]byte, 64))
	w.Bool(true)
	w.Var(0)
	w.Var(uint64(generation))
	return w.Bits()
}

// crowd spawns so many entities in one frame and removes all of them in another.
type crowd struct {
	count, born, die int
	all              []ecs.Entity
}

func (g *crowd) play(w *ecs.World, frame int) {
	switch frame {
	case g.born:
		bodies := generic.NewMap2[components.Replicated, position](w)
		query := bodies.NewBatchQ(g.count)
		for query.Next() {
			_, p := query.Get()
			p.X = float32(len(g.all)%128) / 2
			g.all = append(g.all, query.Entity())
		}
	case g.die:
		for _, e := range g.all {
			w.RemoveEntity(e)
		}
	}
}

// Ten thousand entities are born at once, and later die at once, with 8 KB/s to tell of it. Both take no longer than their
// bytes do at that rate: the worst record's, with a tenth for what packets add and a second for the round trip and the
// burst that the budget may have been saved up for or not.
func TestCase26MassDespawn(t *testing.T) {
	const budget = 8 << 10
	count := sized(2000, 10000)
	g := &crowd{count: count, born: 60, die: -1}
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 1, Seed: 26, Game: g.play, Server: netcode.Config{SendBudget: budget, NoRepeat: true},
		Link: transport.Link{Delay: 30 * time.Millisecond},
	})
	bound := func(bits int) time.Duration {
		return time.Duration(1.1*float64(bits*count)/8/budget*float64(time.Second)) + time.Second
	}
	client := n.Clients[0]
	n.Run(time.Second)
	schema := protocol().Schema()
	spawn := 1 + 3 + 1 + 4 + schema.Rows() // one more, gap, kind, generation, rows
	for row := range schema.Rows() {
		if schema.Plan(row).Name() == "position" {
			spawn += schema.Plan(row).Bits()
		}
	}
	require.True(t, n.RunUntil(bound(spawn), func() bool { return client.Replica().Len() == count }),
		"spawned %d of %d in %v", client.Replica().Len(), count, bound(spawn))
	n.Run(time.Second)
	require.NoError(t, n.CheckConverge())
	g.die = n.Frame() + 1
	casebook.Injected(t, count, "despawns in one tick")
	took := n.Now()
	require.True(t, n.RunUntil(bound(despawnBits(1)), func() bool { return client.Replica().Len() == 0 }),
		"%d of %d are left after %v", client.Replica().Len(), count, bound(despawnBits(1)))
	t.Logf("%d despawns in %v of virtual time, the bound is %v", count, n.Now()-took, bound(despawnBits(1)))
	for range netecs.Entities(&client.World) {
		require.Fail(t, "an entity is left in the world")
	}
	n.AssertConverge()
}
