package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
)

// jab is an input with a press and a stick.
type jab struct {
	Stick int8
	Fire  uint8 `net:"event=count"`
}

// jabs is a client's tail and a server's queue without a network between them.
func newJabs(t testing.TB) *inputPair {
	p := NewProtocol()
	Input[jab](p)
	client, err := NewClient(p, Config{})
	require.NoError(t, err)
	pair := &inputPair{protocol: p, client: client}
	pair.server.protocol = p
	pair.queue.setUp(&p.inputs)
	client.state = Connected
	return pair
}

// set is a frame of the client in which a tick begins.
func (p *inputPair) set(t testing.TB, at tick.Tick, v jab) {
	require.NoError(t, SetInput(p.client, &v))
	p.client.inputs.note(&p.protocol.inputs, at, tick.Time{})
}

// asked is the frame of the server in which a tick is simulated, and a message came or none.
func (p *inputPair) asked(t testing.TB, payload []byte, now tick.Tick) jab {
	s := &p.server
	s.frame.clock.Set(now)
	s.frame.due, s.frame.steps = true, 1
	if payload != nil {
		require.NoError(t, s.staged.read(&p.protocol.inputs, payload))
		s.takeInputs(p.session())
	}
	v, _ := InputOf[jab](s, 1)
	return v
}

// An input that stands in for one that did not come presses nothing, and a press that comes late is in the next tick.
func TestAPressThatComesLateIsInTheNextTick(t *testing.T) {
	p := newJabs(t)
	p.set(t, 100, jab{5, 1})
	require.Equal(t, jab{5, 1}, p.asked(t, p.message(), 100))
	require.Equal(t, jab{5, 0}, p.asked(t, nil, 101), "it stands in")
	p.set(t, 101, jab{6, 1})
	p.set(t, 102, jab{7, 1})
	p.set(t, 103, jab{8, 0})
	require.Equal(t, jab{5, 0}, p.asked(t, nil, 102))
	late := p.message()
	require.Equal(t, jab{8, 2}, p.asked(t, late, 103), "both, in one tick")
	require.Equal(t, jab{8, 0}, p.asked(t, late, 104), "a repeated input is no press")
	for at := tick.Tick(100); at <= 104; at++ {
		v, _ := InputAt[jab](&p.server, 1, at)
		require.Equal(t, map[tick.Tick]uint8{100: 1, 103: 2}[at], v.Fire, "tick %d", at)
	}
}

// Of several ticks that begin in a frame the newest has the press: what the client showed is known for that one.
func TestAPressIsInTheNewestTickOfItsFrame(t *testing.T) {
	p := newJabs(t)
	p.set(t, 100, jab{1, 0})
	p.set(t, 103, jab{2, 1})
	late := p.message()
	for at, want := range []jab{{1, 0}, {2, 0}, {2, 0}, {2, 1}} {
		require.Equal(t, want, p.asked(t, late, tick.Tick(100+at)))
	}
}

// Where a client's clock goes back, ticks come again whose inputs the server may have: they keep their presses, and a new
// one waits for a tick that the server does not have.
func TestAPressWaitsWhereTheClockWentBack(t *testing.T) {
	p := newJabs(t)
	p.set(t, 198, jab{1, 0})
	p.set(t, 200, jab{1, 1})
	first := p.message()
	p.set(t, 195, jab{2, 1})
	p.set(t, 200, jab{2, 0})
	again := p.message()
	p.set(t, 201, jab{3, 0})
	second := p.message()
	total := 0
	take := func(payload []byte, now tick.Tick) { total += int(p.asked(t, payload, now).Fire) }
	take(first, 194)
	for at := tick.Tick(195); at <= 203; at++ {
		take(again, at)
	}
	require.Equal(t, 1, total)
	for at := tick.Tick(204); at < 207; at++ {
		take(second, at)
	}
	require.Equal(t, 2, total)

	lost := newJabs(t) // The same, but that the first message never came.
	lost.set(t, 200, jab{1, 1})
	lost.set(t, 195, jab{2, 1})
	lost.set(t, 201, jab{2, 0})
	only := lost.message()
	total = 0
	for at := tick.Tick(194); at < 207; at++ {
		total += int(lost.asked(t, only, at).Fire)
	}
	require.Equal(t, 2, total)
}

// A press that was made while there was no connection is none later.
func TestAPressWithoutAConnectionIsNone(t *testing.T) {
	p := newJabs(t)
	p.client.state = Connecting
	require.NoError(t, SetInput(p.client, &jab{4, 1}))
	p.client.state = Connected
	p.set(t, 10, jab{5, 0})
	require.Equal(t, jab{5, 0}, p.asked(t, p.message(), 10))
	require.NoError(t, SetInput(p.client, &jab{4, 1}))
	p.client.inputs.restart(&p.protocol.inputs)
	p.set(t, 20, jab{6, 0})
	require.Equal(t, jab{6, 0}, p.asked(t, p.message(), 20))
}

func TestEventsAreForInputs(t *testing.T) {
	require.PanicsWithValue(t, "netcode: Replicate[netcode.jab]: "+quantize.ErrEvents.Error(),
		func() { Replicate[jab](NewProtocol()) })
	require.PanicsWithValue(t, "netcode: Handle[netcode.jab]: "+quantize.ErrEvents.Error(),
		func() { Handle[jab](NewProtocol(), nil) })
	require.Panics(t, func() { NewList[jab](NewProtocol(), "jabs") })
}

func TestPressesAllocateNothing(t *testing.T) {
	p := newJabs(t)
	at := tick.Tick(100)
	room := make([]byte, 1200)
	frame := func() {
		at++
		_ = SetInput(p.client, &jab{1, 1})
		p.client.inputs.note(&p.protocol.inputs, at, tick.Time{})
		n := p.client.inputs.write(&p.protocol.inputs, room)
		p.server.frame.clock.Set(at + 2) // So that each is late.
		p.server.frame.due, p.server.frame.steps = true, 1
		if err := p.server.staged.read(&p.protocol.inputs, room[:n]); err != nil {
			t.Fatal(err)
		}
		p.server.takeInputs(p.session())
		if v, _ := InputOf[jab](&p.server, 1); v.Fire == 0 {
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
