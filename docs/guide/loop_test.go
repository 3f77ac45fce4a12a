package guide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// The guide's loop with fixed steps is what follows between the marks, line by line.

// begin guide
func fixedSteps(group systems.Group, world *ecs.World, now func() time.Duration) (frame func()) {
	all := group.Systems()
	for _, s := range all {
		s.Initialize(world)
	}
	begin := func(stage tick.Stage) int { // where its messages are handled, before the game's systems in it
		return slices.IndexFunc(all, func(s systems.System) bool {
			d, ok := s.(*systems.Dispatch)
			return ok && d.Stage == stage
		})
	}
	fixed, then := begin(tick.FixedUpdate), begin(tick.PreUpdate)
	update := func(list []systems.System) {
		for _, s := range list {
			s.Update(world)
		}
	}
	clock := tick.NewClock(50, 4) // steps a second, and how many a frame makes up for
	return func() {
		update(all[:fixed])
		for range clock.Advance(now()) { // none, one or several
			update(all[fixed:then])
		}
		update(all[then:])
	}
}

// end guide

type chat struct{ Number uint32 }

// counted is a system that says when it runs.
type counted struct{ run func() }

func (counted) Initialize(*ecs.World) {}
func (c counted) Update(*ecs.World)   { c.run() }
func (counted) Finalize(*ecs.World)   {}

// At any frame rate there are as many fixed steps a second, what was sent to that stage is handled right before the next of
// them, in its order and never in a frame without one, and what they write travels.
func TestGuideFixedSteps(t *testing.T) {
	for _, rate := range []time.Duration{15, 50, 60, 144} {
		p := netcode.NewProtocol()
		netcode.Replicate[Position](p)
		frame, turns, steps, bare := 0, 0, 0, 0
		var handled, stepped []int // The frames in which messages were handled, and fixed steps were made,
		var numbers []uint32       // and what came.
		netcode.Handle(p, func(_ *netcode.Context, m *chat) {
			handled, numbers = append(handled, frame), append(numbers, m.Number)
		}, netcode.AtStage(tick.FixedUpdate), netcode.Over(netcode.ReliableOrdered))

		var now time.Duration
		clock := func() time.Duration { return now }
		network, worlds := memory.NewNetwork(), []*ecs.World{ecs.New(), ecs.New()}
		here, err := network.Listen(transport.MustParseAddr("127.0.0.1:1"))
		require.NoError(t, err)
		there, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		s, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		c, err := netcode.NewClient(p, netcode.Config{})
		require.NoError(t, err)
		for _, end := range []interface{ OnError(func(error)) }{s, c} {
			end.OnError(func(err error) { require.NoError(t, err) })
		}
		body := ecs.Spawn(worlds[0], nil, ecs.ComponentID[components.Replicated](worlds[0]), ecs.ComponentID[Position](worlds[0]))
		at := generic.NewMap1[Position](worlds[0])
		group := systems.NewServer(s, here, clock)
		group.Add(tick.FixedUpdate, counted{func() { steps++; stepped = append(stepped, frame); at.Get(body).X++ }})
		group.Add(tick.Update, counted{func() { turns++ }})
		frames := []func(){fixedSteps(group, worlds[0], clock), systems.NewRunner(worlds[1], systems.NewClient(c, there, clock), 60).Step}
		require.NoError(t, c.Connect(here.LocalAddr()))
		for frame = range int(10 * rate) {
			before := steps
			for _, f := range frames {
				f()
			}
			if steps == before {
				bare++
			}
			if c.State() == netcode.Connected {
				require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{uint32(frame)}))
			}
			now += time.Second / rate
		}
		require.InDelta(t, 500, steps, 4, "%d frames a second", rate)
		require.EqualValues(t, 10*rate, turns)
		require.Equal(t, rate > 50, bare > 0, "frames without a step")
		require.Greater(t, len(numbers), int(8*rate))
		require.True(t, slices.IsSorted(numbers))
		for _, f := range handled {
			require.Contains(t, stepped, f)
		}
		var seen float32
		for query := generic.NewFilter1[Position]().Query(worlds[1]); query.Next(); {
			seen = query.Get().X
		}
		require.InDelta(t, steps, seen, 8)
	}
}
