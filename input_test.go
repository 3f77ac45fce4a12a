package netcode

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
)

// sticks is the input of seed C: two sticks and five buttons, 36 bytes in the engine that it comes from.
type sticks struct {
	MoveX, MoveY, SmashX, SmashY float32 `net:"axis"`

	Buttons uint8
}

const jump = 1 << 4 // the last of five buttons

type look struct{ Yaw uint16 }

// inputPair is a client's tail and a server's queue without a network between them.
type inputPair struct {
	protocol *Protocol
	client   *Client
	queue    inputQueue
	server   Server
}

func newInputPair(t testing.TB) *inputPair {
	p := NewProtocol()
	Input[sticks](p)
	Input[look](p)
	client, err := NewClient(p, Config{})
	require.NoError(t, err)
	pair := &inputPair{protocol: p, client: client}
	pair.server.protocol = p
	pair.queue.setUp(&p.inputs)
	return pair
}

// note sets the input of a tick.
func (p *inputPair) note(t testing.TB, at tick.Tick, v sticks) {
	require.NoError(t, SetInput(p.client, &v))
	p.client.inputs.note(&p.protocol.inputs, at, tick.Time{Tick: at - 9, Fraction: 1 << 31})
}

// message is what the client sends now.
func (p *inputPair) message() []byte {
	room := make([]byte, 1200)
	return room[:p.client.inputs.write(&p.protocol.inputs, room)]
}

// take is the server that reads a message in the frame in which a tick begins.
func (p *inputPair) take(t testing.TB, payload []byte, now tick.Tick) {
	p.server.frame.clock.Set(now)
	p.server.frame.due = true
	require.NoError(t, p.server.staged.read(&p.protocol.inputs, payload))
	c := &session{inputs: p.queue}
	p.server.takeInputs(c)
	p.queue = c.inputs
}

// played is two thirds of a second of play at 60 ticks: a stick is pushed over and held, turns and is held again, while a button goes down and
// up twice.
func played(i int) sticks {
	v := sticks{MoveX: min(float32(i)/8, 1)}
	if i >= 16 {
		turn := float64(min(i-16, 12)) * math.Pi / 24
		v.MoveX, v.MoveY = float32(math.Cos(turn)), float32(math.Sin(turn))
	}
	if i%20 >= 14 {
		v.Buttons = jump
	}
	return v
}

// Seed C's input takes near 5 bytes when it is first sent, and each tick more that is repeated less than 2, with a stick
// that moves and a button that is pressed and let go [C9, C12].
func TestSeedCInputTakesFiveBytesAndUnderTwoForEachRepeat(t *testing.T) {
	p := newInputPair(t)
	p.note(t, 100, sticks{MoveX: .3, MoveY: -.9})
	plan := p.protocol.inputs.plans[p.protocol.inputs.number(plansType[sticks]())]
	require.Equal(t, 40, plan.Bits())
	first := len(p.message()) - inputHead
	require.Equal(t, 6, first, "5 bytes, and a byte for the counts of the two types")
	size, most := first, 0
	for i := range 40 {
		p.note(t, tick.Tick(101+i), played(i))
		now := len(p.message()) - inputHead
		most = max(most, now-size)
		size = now
	}
	mean := float64(size-first) / 40
	t.Logf("first %d bytes, each repeat %.2f bytes in the mean and %d at most", first, mean, most)
	require.Less(t, mean, 2.)
	for i := range 20 { // The same again and again.
		p.note(t, tick.Tick(141+i), sticks{MoveX: .7})
	}
	require.Less(t, len(p.message())-inputHead-size, 8)
}

func TestInputsComeToTheTicksThatTheyWereMadeIn(t *testing.T) {
	p := newInputPair(t)
	for at := tick.Tick(200); at < 206; at++ {
		p.note(t, at, sticks{MoveX: 1, Buttons: uint8(at % 2 * jump)})
	}
	p.take(t, p.message(), 198)
	n := p.protocol.inputs.number(plansType[sticks]())
	for at := tick.Tick(200); at < 206; at++ {
		require.Equal(t, at, p.queue.standing(at, n))
		shown, ok := p.queue.presented(at)
		require.True(t, ok)
		require.Equal(t, tick.Time{Tick: at - 9, Fraction: 1 << 31}, shown)
	}
	require.Equal(t, tick.Tick(205), p.queue.standing(210, n), "the last stands in")
	shown, _ := p.queue.presented(210)
	require.Equal(t, tick.Tick(201), shown.Tick)
	require.Equal(t, tick.None, p.queue.standing(205+inputReach, n), "but not for ever")
	require.Equal(t, tick.None, p.queue.standing(199, n))
	require.Equal(t, tick.None, p.queue.standing(205, 1-n), "what was never set is not there")
	require.Equal(t, inputAnswer{true, 200, tick.Ticks(2)}, p.queue.answer, "the one that came latest for its tick")
}

func TestInputsAfterAClockThatWentBack(t *testing.T) {
	p := newInputPair(t)
	p.note(t, 300, sticks{MoveX: 1})
	p.client.inputs.sent[5] = sentInput{5, 300}
	p.note(t, 290, sticks{MoveX: .5})
	require.Equal(t, 1, p.client.inputs.waiting())
	p.client.inputs.acknowledged(5)
	require.Equal(t, 1, p.client.inputs.waiting(), "an acknowledgement from before says nothing")
	p.note(t, 295, sticks{MoveX: .5})
	require.Equal(t, 6, p.client.inputs.waiting())
	p.client.inputs.sent[6] = sentInput{6, 295}
	p.client.inputs.acknowledged(6)
	require.Zero(t, p.client.inputs.waiting())
}

func TestInputsThatDoNotFitLeaveTheOldestOut(t *testing.T) {
	p := newInputPair(t)
	for at := tick.Tick(1); at <= 100; at++ {
		p.note(t, at, sticks{MoveX: float32(at%3) - 1, SmashY: float32(at%7)/7 - .5, Buttons: uint8(at % 2 * jump)})
	}
	require.Equal(t, inputReach, p.client.inputs.waiting())
	room := make([]byte, 40)
	n := p.client.inputs.write(&p.protocol.inputs, room)
	require.Positive(t, n)
	p.take(t, room[:n], 95)
	require.Equal(t, tick.Tick(100), p.queue.newest)
	require.Positive(t, p.server.stats.Inputs)
	require.Less(t, p.server.stats.Inputs, uint64(inputReach))
	require.Zero(t, p.client.inputs.write(&p.protocol.inputs, room[:inputHead+2]))
	require.Zero(t, p.client.inputs.write(&p.protocol.inputs, nil))
}

// What one end writes the other reads, and nothing but what is written so is legal: a message cut anywhere is refused.
func TestInputMessagesAreReadAsWritten(t *testing.T) {
	p := newInputPair(t)
	rapid.Check(t, func(t *rapid.T) {
		p.client.inputs.restart(&p.protocol.inputs)
		from := tick.Tick(rapid.Int64Range(1, 1<<40).Draw(t, "from"))
		count := rapid.IntRange(1, inputReach).Draw(t, "count")
		var all []sticks
		for i := range count {
			axis := rapid.Map(rapid.IntRange(-127, 127), func(n int) float32 { return float32(n) / 127 })
			v := sticks{MoveX: axis.Draw(t, "x"), SmashY: axis.Draw(t, "y"), Buttons: rapid.Uint8().Draw(t, "buttons")}
			all = append(all, v)
			require.NoError(t, SetInput(p.client, &v))
			p.client.inputs.note(&p.protocol.inputs, from+tick.Tick(i), tick.Time{})
		}
		payload := p.message()
		g := &p.server.staged
		for cut := range payload {
			require.Error(t, g.read(&p.protocol.inputs, payload[:cut]), "cut at %d", cut)
		}
		require.Error(t, g.read(&p.protocol.inputs, append(payload[:len(payload):len(payload)], 0)))
		require.NoError(t, g.read(&p.protocol.inputs, payload))
		require.Equal(t, count, g.count)
		require.EqualValues(t, behindUnknown, g.behind)
		p.queue = inputQueue{}
		p.queue.setUp(&p.protocol.inputs)
		p.server.frame.clock.Set(from - 1)
		c := &session{id: 1, state: connected, inputs: p.queue}
		p.server.byID, p.server.near = map[ClientID]*session{1: c}, [numNear]*session{}
		p.server.takeInputs(c)
		for i, want := range all {
			got, ok := InputAt[sticks](&p.server, 1, from+tick.Tick(i))
			require.True(t, ok)
			require.InDelta(t, want.MoveX, got.MoveX, 1e-6)
			require.InDelta(t, want.SmashY, got.SmashY, 1e-6)
			require.Equal(t, want.Buttons, got.Buttons)
		}
	})
}

// TestCase53InputTickAbuse: whatever ticks a client names, as often as it likes, what it sends lands in the window of 64
// ticks around the server's, each tick once, and costs no memory.
func TestCase53InputTickAbuse(t *testing.T) {
	p := newInputPair(t)
	p.note(t, 1, sticks{MoveX: 1})
	payload := p.message()
	now := tick.Tick(1) << 33
	alloctest.Zero(t, 1, func() {
		for low := range 1 << 16 { // All that 16 bits can say: from 32768 before to 32767 after, twice each.
			payload[0], payload[1] = byte(low), byte(low>>8)
			for range 2 {
				p.server.frame.clock.Set(now)
				p.server.frame.due = true
				if err := p.server.staged.read(&p.protocol.inputs, payload); err != nil {
					t.Fatal(err)
				}
				p.server.takeInputs(p.session())
			}
		}
	})
	s := &p.server.stats
	require.EqualValues(t, inputReach*2+1, s.Inputs, "each tick of the window once, in both runs")
	require.EqualValues(t, 2*2*(1<<15-inputReach+1), s.InputsTooFar)
	require.EqualValues(t, 2*2*(1<<15-inputReach-2), s.InputsTooOld)
	n := p.protocol.inputs.number(plansType[sticks]())
	require.Equal(t, now, p.queue.standing(now, n), "one input for one tick, however many came")
}

func TestInputRegistrationRefuses(t *testing.T) {
	type wide struct{ A [33]uint32 }
	type empty struct{}
	p := NewProtocol()
	Input[look](p)
	require.PanicsWithValue(t, `netcode: Input[netcode.look]: this type is registered already, as "look"`, func() { Input[look](p) })
	require.PanicsWithValue(t, "netcode: Input[netcode.wide]: an input has 1 to 1024 bits, this one 1056", func() { Input[wide](p) })
	require.Panics(t, func() { Input[empty](p) })
	require.PanicsWithValue(t, "netcode: Input[netcode.sticks]: OwnerOnly is an option of messages, for Handle and Answer: an input is sent in each tick, without it", func() { Input[sticks](p, OwnerOnly()) })
	require.Panics(t, func() { Input[map[string]int](p) })
	p.Hash()
	require.Panics(t, func() { Input[sticks](p) })
	client, err := NewClient(p, Config{})
	require.NoError(t, err)
	require.ErrorIs(t, SetInput(client, &sticks{}), ErrNoInput)
}

// session is the server's side of the pair.
func (p *inputPair) session() *session {
	if p.server.byID == nil {
		p.server.byID = map[ClientID]*session{1: {id: 1, state: connected, inputs: p.queue}}
	}
	c := p.server.byID[1]
	p.queue = c.inputs
	return c
}

func plansType[T any]() reflect.Type { return reflect.TypeFor[T]() }

func FuzzInputMessage(f *testing.F) {
	p := newInputPair(f)
	p.note(f, 1, sticks{MoveX: 1})
	p.note(f, 2, sticks{MoveX: .5, Buttons: jump})
	f.Add(p.message())
	f.Add([]byte{1, 0, 255, 255, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		g := &p.server.staged
		if g.read(&p.protocol.inputs, payload) == nil {
			require.True(t, g.count >= 1 && g.count <= inputReach)
		}
	})
}
