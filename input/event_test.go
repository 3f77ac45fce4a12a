package input

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
)

// jab is an input with a press and a stick.
type jab struct {
	Stick int8
	Fire  uint8 `net:"event=count"`
}

func newJabs() *pair {
	p := netcode.NewProtocol()
	Register[jab](p)
	return newPair(p)
}

// jabbed runs a frame of the client in which a tick begins.
func (p *pair) jabbed(t testing.TB, at tick.Tick, v jab) {
	p.set(t, &v)
	p.buffer.record(at, tick.Time{})
}

// asked runs the server's frame of a tick, with or without a message.
func (p *pair) asked(t testing.TB, payload []byte, now tick.Tick) jab {
	p.moment = moment{now: now, due: true, steps: 1}
	if payload != nil {
		require.NoError(t, p.server.staged.read(p.in, payload, false))
		p.takeStaged()
	}
	v, _ := at[jab](p, now, now)
	return v
}

// An input that stands in for a missing one has no presses. A late press is in the next tick.
func TestAPressThatComesLateIsInTheNextTick(t *testing.T) {
	p := newJabs()
	p.jabbed(t, 100, jab{5, 1})
	require.Equal(t, jab{5, 1}, p.asked(t, p.message(), 100))
	require.Equal(t, jab{5, 0}, p.asked(t, nil, 101), "it stands in")
	p.jabbed(t, 101, jab{6, 1})
	p.jabbed(t, 102, jab{7, 1})
	p.jabbed(t, 103, jab{8, 0})
	require.Equal(t, jab{5, 0}, p.asked(t, nil, 102))
	late := p.message()
	require.Equal(t, jab{8, 2}, p.asked(t, late, 103), "both, in one tick")
	require.Equal(t, jab{8, 0}, p.asked(t, late, 104), "a repeated input is no press")
	for now := tick.Tick(100); now <= 104; now++ {
		v, _ := at[jab](p, now, now)
		require.Equal(t, map[tick.Tick]uint8{100: 1, 103: 2}[now], v.Fire, "tick %d", now)
	}
}

// If several ticks begin in a frame, the newest has the press: its presented moment is known.
func TestAPressIsInTheNewestTickOfItsFrame(t *testing.T) {
	p := newJabs()
	p.jabbed(t, 100, jab{1, 0})
	p.jabbed(t, 103, jab{2, 1})
	late := p.message()
	for at, want := range []jab{{1, 0}, {2, 0}, {2, 0}, {2, 1}} {
		require.Equal(t, want, p.asked(t, late, tick.Tick(100+at)))
	}
}

// A client's clock goes back, and the newer inputs come before, amid and after the ticks that repeat. Each press counts once: those of the
// first inputs, which the server may have, in their ticks; those of the newer in theirs, or late. The newer stick counts from then on.
func TestEachPressCountsOnceWhereTheClockWentBack(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for comes := tick.Tick(190); comes < 206; comes++ {
			p := newJabs()
			p.jabbed(t, 198, jab{1, 0})
			p.jabbed(t, 200, jab{1, 1})
			first := p.message()
			p.jabbed(t, 195, jab{2, 1})
			p.jabbed(t, 200, jab{2, 1})
			again := p.message()
			p.jabbed(t, 201, jab{3, 0})
			second := p.message()
			total := 0
			for now := tick.Tick(190); now < 212; now++ {
				var payload []byte
				switch {
				case now == 190 && !lost:
					payload = first
				case now >= comes && now < 207:
					payload = again
				case now >= 207:
					payload = second
				}
				got := p.asked(t, payload, now)
				total += int(got.Fire)
				if now >= max(comes, 195) && now <= 200 {
					require.EqualValues(t, 2, got.Stick, "tick %d, the newer come in tick %d", now, comes)
				} else if now < comes && now >= 198 && !lost {
					require.EqualValues(t, 1, got.Stick, "tick %d, the newer come in tick %d", now, comes)
				}
			}
			require.Equal(t, 3, total, "the newer come in tick %d", comes)
		}
	}
}

// Inputs after the newest tick of a client whose clock went back are no longer its own: the last one before them stands in.
func TestInputsAreWithdrawnWhereTheClockWentBack(t *testing.T) {
	p := newJabs()
	p.jabbed(t, 100, jab{1, 0})
	p.jabbed(t, 110, jab{1, 0})
	old := p.message()
	require.Equal(t, jab{1, 0}, p.asked(t, old, 100))
	p.jabbed(t, 103, jab{2, 0})
	newer := p.message()
	require.Equal(t, jab{1, 0}, p.asked(t, newer, 101))
	p.moment = moment{now: 102, due: true, steps: 1}
	require.NoError(t, p.server.staged.read(p.in, old, false))
	p.queue.take(&p.server.staged, 1) // An older packet that the network held back.
	require.Equal(t, jab{1, 0}, p.asked(t, newer, 102))
	require.Equal(t, jab{2, 0}, p.asked(t, nil, 103))
	require.Equal(t, jab{2, 0}, p.asked(t, nil, 104))
}

// Presses of ticks that the server cannot have, since they were too far ahead, are pressed again where the clock goes on.
func TestPressesOfALongStallAreTakenBack(t *testing.T) {
	p := newJabs()
	p.jabbed(t, 100, jab{1, 0})
	for at := tick.Tick(101); at <= 300; at++ {
		p.jabbed(t, at, jab{1, uint8(at / 298)})
	}
	p.jabbed(t, 104, jab{2, 1})
	require.Equal(t, jab{2, 4}, p.asked(t, p.message(), 104))
}

// A press without a connection is dropped.
func TestAPressWithoutAConnectionIsNone(t *testing.T) {
	p := newJabs()
	p.buffer.put(0, []uint32{4, 1}, false)
	p.jabbed(t, 10, jab{5, 0})
	require.Equal(t, jab{5, 0}, p.asked(t, p.message(), 10))
	p.set(t, &jab{4, 1})
	p.buffer.restart()
	p.jabbed(t, 20, jab{6, 0})
	require.Equal(t, jab{6, 0}, p.asked(t, p.message(), 20))
}

func TestEventsAreForInputs(t *testing.T) {
	require.PanicsWithValue(t, "netcode: Replicate[input.jab]: "+quantize.ErrEvents.Error(),
		func() { netcode.Replicate[jab](netcode.NewProtocol()) })
	require.PanicsWithValue(t, "netcode: Handle[input.jab]: "+quantize.ErrEvents.Error(),
		func() { netcode.Handle[jab](netcode.NewProtocol(), nil) })
}

func TestPressesAllocateNothing(t *testing.T) {
	p := newJabs()
	now := tick.Tick(100)
	room := make([]byte, 1200)
	v := &jab{1, 1}
	frame := func() {
		now++
		p.set(t, v)
		p.buffer.record(now, tick.Time{})
		n := p.buffer.write(room)
		p.moment = moment{now: now + 2, due: true, steps: 1} // Each input is late.
		if err := p.server.staged.read(p.in, room[:n], false); err != nil {
			t.Fatal(err)
		}
		p.takeStaged()
		if v, _ := at[jab](p, now+2, now+2); v.Fire == 0 {
			t.Fatal("no press")
		}
	}
	for range 200 {
		frame()
	}
	alloctest.Zero(t, 1, func() {
		for range 1000 {
			frame()
		}
	})
}

// An action of a host's player after the game's systems is in the input of the next tick, with its press.
func TestATickKeepsTheInputThatTheGameGot(t *testing.T) {
	p := netcode.NewProtocol()
	Register[jab](p)
	s, err := netcode.NewServer(p, netcode.Config{TickRate: 30})
	require.NoError(t, err)
	host, err := netcode.NewClient(p, netcode.Config{TickRate: 30})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(s, host))
	for frame := range 40 {
		steps.OfServer(s).BeginFrame(time.Duration(frame) * time.Second / 30)
		steps.OfClient(host).BeginFrame(time.Duration(frame) * time.Second / 30)
		before, ok := Of[jab](s, host.ID())
		require.Equal(t, frame > 0, ok)
		require.NoError(t, Set(host, &jab{int8(frame + 1), uint8(frame % 2)}))
		after, _ := Of[jab](s, host.ID())
		require.Equal(t, before, after)
		if frame > 0 {
			require.Equal(t, jab{int8(frame), uint8((frame - 1) % 2)}, before)
		}
		steps.OfClient(host).Send()
		steps.OfServer(s).Send()
	}
}
