package nettest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
)

// busyHash is of all datagrams of the game below. It changes when a byte of any of them does, which is a change of the protocol, of what is sent when, or of
// the tables that ship; then it is the value in the test. It does not depend on the processor, on the compiler, or on loops in assembly.
const busyHash = uint64(0x21a0a805547aed55)

type (
	busyPlace struct {
		X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
	}
	busyTurn struct {
		Q [4]float32 `net:"quat,bits=10"`
	}
	busySpeed struct {
		X, Y, Z float32 `net:"min=-32,max=32,step=0.01"`
	}
	busyDrift struct {
		X, Y, Z float32
	}
)

// busy is a game of many that move: all kinds of rows that are gone through several at a time, dense and scattered, with births, deaths and rest between.
type busy struct {
	churn
	bodies []ecs.Entity
	spin   map[ecs.Entity][4]int
}

func (g *busy) play(w *ecs.World, frame int) {
	if frame > g.rest {
		return
	}
	born := generic.NewMap5[components.Replicated, busyPlace, busyTurn, busySpeed, busyDrift](w)
	for len(g.bodies) < 300 {
		e := born.NewWith(&components.Replicated{}, &busyPlace{X: float32(g.next(1000)) / 8}, &busyTurn{Q: [4]float32{0, 0, 0, 1}}, &busySpeed{}, &busyDrift{})
		g.bodies, g.spin[e] = append(g.bodies, e), [4]int{g.next(9) - 4, g.next(9) - 4, g.next(9) - 4, 64}
	}
	part := []int{1, 10, 3}[frame/80%3] // all move, then one in ten, then one in three
	for i := 0; i < len(g.bodies); i++ {
		e := g.bodies[i]
		if g.next(400) == 0 {
			w.RemoveEntity(e)
			delete(g.spin, e)
			g.bodies = append(g.bodies[:i], g.bodies[i+1:]...)
			i--
			continue
		}
		if i*7%part != 0 {
			continue
		}
		g.move(&born, e)
	}
}

// move uses nothing that a compiler may fuse, and no function whose last bit is its own.
func (g *busy) move(bodies *generic.Map5[components.Replicated, busyPlace, busyTurn, busySpeed, busyDrift], e ecs.Entity) {
	_, place, turn, speed, drift := bodies.Get(e)
	s := g.spin[e]
	sum := 0
	for k := range s {
		s[k] += g.next(5) - 2
		sum += s[k] * s[k]
	}
	g.spin[e] = s
	if sum > 0 {
		length := math.Sqrt(float64(sum))
		for k := range s {
			turn.Q[k] = float32(float64(s[k]) / length)
		}
	}
	speed.X, speed.Y, speed.Z = float32(s[0])/16, float32(s[1])/16, float32(g.next(64))/16
	place.X += speed.X / 32
	place.Y -= speed.Y / 32
	place.Z = speed.Z * 8
	drift.X += speed.X / 64
	drift.Z = float32(g.next(1<<20)) / 1024
}

func TestTheBytesOfABusyGame(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[busyPlace](p)
	netcode.Replicate[busyTurn](p)
	netcode.Replicate[busySpeed](p)
	netcode.Replicate[busyDrift](p)
	g := &busy{churn: churn{rest: 400, state: 11}, spin: map[ecs.Entity][4]int{}}
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 3, Seed: 11, Link: bad(.05), Game: g.play, Server: netcode.Config{SendBudget: -1},
	})
	n.Run(8 * time.Second)
	n.AssertConverge()
	require.NotZero(t, n.Clients[0].Replica().Stats().Despawns)
	require.Equal(t, busyHash, n.TraceHash(), "%#x", n.TraceHash())
}
