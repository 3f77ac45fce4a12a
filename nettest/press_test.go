package nettest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// trigger is an input with presses of one frame: Plain as the state of a button, the rest as events.
type trigger struct {
	Held   int8
	Plain  bool
	Fire   bool   `net:"event"`
	Number uint16 `net:"event"`
	Shots  uint8  `net:"event=count,min=0,max=90"`
	Sum    int32  `net:"event=count"` // of the presses' numbers
}

// pressRig is clients that press for single frames, and a server that notes what came of it.
type pressRig struct {
	random  *rand.Rand
	net     *nettest.Net
	pressed int // Presses that were made.
	pause   int // Frames until the next one.
	resting bool
	single  bool // The server's game simulates each tick of a frame by input.At.

	plain, fired, shots, sum int
	numbers                  []uint16
	held                     bool // Some tick had another stick than the one that is held all the time.
}

// press is the client's system: a press lasts one frame.
func (r *pressRig) press(t *testing.T, c *netcode.Client) {
	if c.State() != netcode.Connected || c.Time().Tick == 0 {
		return
	}
	in := trigger{Held: 7}
	if r.pause--; r.pause < 0 && !r.resting {
		r.pressed++
		r.pause = 4 + r.random.IntN(24)
		in.Plain, in.Fire, in.Number, in.Shots, in.Sum = true, true, uint16(r.pressed), 1, int32(r.pressed)
	}
	require.NoError(t, input.Set(c, &in))
}

// take is the server's system. It asks in every frame, also where no tick is due.
func (r *pressRig) take(s *netcode.Server) {
	for id := range s.Clients {
		if !r.single {
			r.note(s, func() (trigger, bool) { return input.Of[trigger](s, id) })
			continue
		}
		for step := netcode.Tick(s.Steps()) - 1; step >= 0; step-- {
			r.note(s, func() (trigger, bool) { return input.At[trigger](s, id, s.Tick()-step) })
		}
	}
}

// note notes one input.
func (r *pressRig) note(s *netcode.Server, ask func() (trigger, bool)) {
	in, ok := ask()
	if again, _ := ask(); again != in {
		panic("the input of a tick changed within a frame")
	}
	r.held = r.held && (in.Held == 7 || !ok)
	if s.TickDue() && in.Plain {
		r.plain++
	}
	if in.Fire {
		r.fired++
		r.numbers = append(r.numbers, in.Number)
	}
	r.shots += int(in.Shots)
	r.sum += int(in.Sum)
}

func newPressRig(t *testing.T, rate, ticks int, link transport.Link, seed uint64) *pressRig {
	r := &pressRig{random: rand.New(rand.NewPCG(seed, 1)), held: true}
	config := nettest.Config{Protocol: protocol(), Clients: 1, Seed: seed, Rate: rate, Link: link}
	input.Register[trigger](config.Protocol)
	config.Server.TickRate = ticks
	config.Setup = func(s *systems.ServerSystems, _ *ecs.World) {
		s.Add(tick.Update, call(func() { r.take(s.Server) }))
	}
	config.SetupClient = func(_ int, c *systems.ClientSystems, _ *ecs.World) {
		c.Add(tick.Update, call(func() { r.press(t, c.Client) }))
	}
	r.net = nettest.New(t, config)
	return r
}

// until runs until so many presses were made.
func (r *pressRig) until(presses int) {
	for r.pressed < presses {
		r.net.Step()
	}
}

// rest lets what is under way arrive.
func (r *pressRig) rest() {
	r.resting = true
	r.net.Run(3 * time.Second)
}

// A press that lasts one frame is in the input of exactly one tick, whatever the rates of frames and ticks are and
// whatever the network loses. The button's plain state loses about half of the presses where two frames make a tick.
func TestAPressOfOneFrameArrivesExactlyOnce(t *testing.T) {
	bad := transport.Link{Delay: 40 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .05}
	worse := transport.Link{Delay: 60 * time.Millisecond, Jitter: 60 * time.Millisecond, Loss: .3, Duplicate: .1}
	for _, c := range []struct {
		name        string
		rate, ticks int
		link        transport.Link
	}{
		{"60 frames 30 ticks", 60, 30, transport.Link{}},
		{"60 frames 30 ticks bad", 60, 30, bad},
		{"60 frames 60 ticks bad", 60, 60, bad},
		{"144 frames 30 ticks worse", 144, 30, worse},
		{"30 frames 60 ticks", 30, 60, transport.Link{}},
		{"30 frames 60 ticks worse", 30, 60, worse},
		{"60 frames 20 ticks worse", 60, 20, worse},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newPressRig(t, c.rate, c.ticks, c.link, 19)
			r.until(94)
			r.rest()
			t.Logf("of %d presses: %d ticks had the plain button, %d the event", r.pressed, r.plain, r.fired)
			r.check(t)
		})
	}
}

// check wants each press once, in their order.
func (r *pressRig) check(t *testing.T) {
	t.Helper()
	want := make([]uint16, r.pressed)
	for i := range want {
		want[i] = uint16(i + 1)
	}
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(r.numbers))
	require.Equal(t, r.pressed, r.fired)
	r.checkCounts(t)
}

// checkCounts wants each press once; several may have met in one tick.
func (r *pressRig) checkCounts(t *testing.T) {
	t.Helper()
	require.Equal(t, r.pressed, r.shots)
	require.Equal(t, r.pressed*(r.pressed+1)/2, r.sum)
	require.LessOrEqual(t, r.fired, r.pressed)
	require.True(t, r.held, "the stick is state: it stands in")
}

// The same holds where both ends stall now and then, clocks jump, and inputs come late.
func TestAPressArrivesExactlyOnceWhereEndsStall(t *testing.T) {
	late, met := uint64(0), 0
	for seed := range uint64(sized(20, 60)) {
		random := rand.New(rand.NewPCG(seed, 2))
		rate, ticks := []int{30, 50, 60, 144}[random.IntN(4)], []int{20, 30, 60}[random.IntN(3)]
		link := transport.Link{
			Delay: time.Duration(random.IntN(80)) * time.Millisecond, Jitter: time.Duration(random.IntN(60)) * time.Millisecond,
			Loss: random.Float64() * .2, Duplicate: .05, Reorder: .05,
		}
		r := newPressRig(t, rate, ticks, link, seed)
		r.single = seed%2 == 1
		for range 6 {
			r.until(r.pressed + 10)
			frames := 1 + random.IntN(rate/3)
			if random.IntN(2) == 0 {
				r.net.SuspendServer()
			} else {
				r.net.Suspend(r.net.Clients[0])
			}
			for range frames {
				r.net.Step()
			}
			r.net.WakeServer()
			r.net.Wake(r.net.Clients[0])
		}
		r.until(r.pressed + 5)
		r.rest()
		require.Equal(t, netcode.Connected, r.net.Clients[0].State())
		stats := input.StatsOf(r.net.Server.Server)
		require.Zero(t, stats.TooFar+stats.TooOld, "seed %d: the tail covers all", seed)
		late += stats.Late
		met += r.pressed - r.fired
		if r.shots != r.pressed {
			t.Logf("seed %d: %d frames and %d ticks a second, %+v", seed, rate, ticks, link)
		}
		r.checkCounts(t)
	}
	t.Logf("%d inputs came late, %d presses met an earlier one in a tick", late, met)
	require.Greater(t, late, uint64(100), "the test shows nothing else")
}
