package input

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sticks is the input of seed C: two sticks and five buttons, 36 bytes in the engine that it comes from.
type sticks struct {
	MoveX, MoveY, SmashX, SmashY float32 `net:"axis"`

	Buttons uint8
}

const jump = 1 << 4 // The last of five buttons.

type look struct{ Yaw uint16 }

// pair is a client's input buffer and a server's queue without a network between them.
type pair struct {
	in     *types
	buffer *inputBuffer
	server *queues
	queue  *queue
	moment moment
	packet uint64 // The newest packet of the client.
}

// moment is the clock of a pair's server.
type moment struct {
	now   tick.Tick
	due   bool
	steps int
	came  tick.Time // Zero: at the beginning of the tick.

	since   tick.Tick
	slipped uint64
}

func (m *moment) Tick() tick.Tick { return m.now }
func (m *moment) TickDue() bool   { return m.due }
func (m *moment) Steps() int      { return m.steps }
func (m *moment) Slipped() (since tick.Tick, total uint64) {
	return m.since, m.slipped
}
func (m *moment) Time() tick.Time {
	if m.came == (tick.Time{}) {
		return m.now.Begin()
	}
	return m.came
}

// newPair makes a pair of a protocol with inputs.
func newPair(p *netcode.Protocol) *pair {
	p.Hash()
	in, _ := extend.ExtensionOf[*types](p)
	pair := &pair{in: in, buffer: &inputBuffer{in: in}}
	pair.buffer.setUp(1024)
	pair.server = newQueues(in, &pair.moment)
	pair.queue = pair.server.open()
	return pair
}

func newSticks() *pair {
	p := netcode.NewProtocol()
	Register[sticks](p)
	Register[look](p)
	return newPair(p)
}

// set calls Set of a connected client.
func (p *pair) set(t require.TestingT, v any) {
	n := p.in.number(reflect.TypeOf(v).Elem())
	lanes := p.in.of(p.buffer.scratch, n)
	if fault := p.in.plans[n].Quantise(reflect.ValueOf(v).UnsafePointer(), lanes); fault.Reason != wire.NoFault {
		t.Errorf("%v", fault)
		t.FailNow()
	}
	p.buffer.put(n, lanes, true)
}

// note sets the input of a tick.
func (p *pair) note(t testing.TB, at tick.Tick, v sticks) {
	p.set(t, &v)
	p.buffer.record(at, tick.Time{Tick: at - 9, Fraction: 1 << 31})
}

// message returns the client's present input section.
func (p *pair) message() []byte {
	room := make([]byte, 1200)
	return room[:p.buffer.write(room)]
}

// take lets the server read a message in the frame of a tick.
func (p *pair) take(t testing.TB, payload []byte, now tick.Tick) {
	p.moment = moment{now: now, due: true, steps: 1}
	require.NoError(t, p.server.staged.read(p.in, payload, false))
	p.takeStaged()
}

// takeStaged takes the validated message as that of a new packet.
func (p *pair) takeStaged() {
	p.packet++
	p.queue.take(&p.server.staged, p.packet)
}

// at calls At of the pair.
func at[T any](p *pair, first, at tick.Tick) (v T, ok bool) {
	n := p.in.number(reflect.TypeFor[T]())
	lanes := p.queue.consume(n, first, at)
	if lanes == nil {
		return v, false
	}
	p.in.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// played is two thirds of a second of play at 60 ticks: a stick is pushed, held, turned and held again, and a button is
// pressed twice.
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

// Seed C's input takes about 5 bytes when it is first sent, and less than 2 for each repeated tick, with a moving stick
// and a pressed and released button [C9, C12].
func TestSeedCInputTakesFiveBytesAndUnderTwoForEachRepeat(t *testing.T) {
	p := newSticks()
	p.note(t, 100, sticks{MoveX: .3, MoveY: -.9})
	plan := p.in.plans[p.in.number(reflect.TypeFor[sticks]())]
	require.Equal(t, 40, plan.Bits())
	first := len(p.message()) - headSize
	require.Equal(t, 6, first, "5 bytes, and a byte for the counts of the two types")
	size, most := first, 0
	for i := range 40 {
		p.note(t, tick.Tick(101+i), played(i))
		now := len(p.message()) - headSize
		most = max(most, now-size)
		size = now
	}
	mean := float64(size-first) / 40
	t.Logf("first %d bytes, each repeat %.2f bytes in the mean and %d at most", first, mean, most)
	require.Less(t, mean, 2.)
	for i := range 20 { // The same message repeatedly.
		p.note(t, tick.Tick(141+i), sticks{MoveX: .7})
	}
	require.Less(t, len(p.message())-headSize-size, 8)
}

func TestInputsComeToTheTicksThatTheyWereMadeIn(t *testing.T) {
	p := newSticks()
	for at := tick.Tick(200); at < 206; at++ {
		p.note(t, at, sticks{MoveX: 1, Buttons: uint8(at % 2 * jump)})
	}
	p.take(t, p.message(), 198)
	n := p.in.number(reflect.TypeFor[sticks]())
	for at := tick.Tick(200); at < 206; at++ {
		require.Equal(t, at, p.queue.newestUntil(at, n))
		shown, ok := p.queue.presented(at)
		require.True(t, ok)
		require.Equal(t, tick.Time{Tick: at - 9, Fraction: 1 << 31}, shown)
	}
	require.Equal(t, tick.Tick(205), p.queue.newestUntil(210, n), "the last stands in")
	shown, _ := p.queue.presented(210)
	require.Equal(t, tick.Tick(201), shown.Tick)
	require.Equal(t, tick.None, p.queue.newestUntil(205+reach, n), "but not for ever")
	require.Equal(t, tick.None, p.queue.newestUntil(199, n))
	require.Equal(t, tick.None, p.queue.newestUntil(205, 1-n), "what was never set is not there")
	require.Equal(t, nextFeedback{true, 200, tick.Ticks(2)}, p.queue.feedback, "the one that came latest for its tick")
}

func TestInputsAfterAClockThatWentBack(t *testing.T) {
	p := newSticks()
	p.note(t, 300, sticks{MoveX: 1})
	p.buffer.sent[5] = sentInput{5, 300}
	p.note(t, 290, sticks{MoveX: .5})
	require.Equal(t, 1, p.buffer.waiting())
	p.buffer.acknowledged(5)
	require.Equal(t, 1, p.buffer.waiting(), "an acknowledgement from before says nothing")
	p.note(t, 295, sticks{MoveX: .5})
	require.Equal(t, 6, p.buffer.waiting())
	p.buffer.sent[6] = sentInput{6, 295}
	p.buffer.acknowledged(6)
	require.Zero(t, p.buffer.waiting())
}

func TestInputsThatDoNotFitLeaveTheOldestOut(t *testing.T) {
	p := newSticks()
	for at := tick.Tick(1); at <= 100; at++ {
		p.note(t, at, sticks{MoveX: float32(at%3) - 1, SmashY: float32(at%7)/7 - .5, Buttons: uint8(at % 2 * jump)})
	}
	require.Equal(t, reach, p.buffer.waiting())
	room := make([]byte, 40)
	n := p.buffer.write(room)
	require.Positive(t, n)
	p.take(t, room[:n], 95)
	require.Equal(t, tick.Tick(100), p.queue.newest)
	require.Positive(t, p.server.stats.Taken)
	require.Less(t, p.server.stats.Taken, uint64(reach))
	require.Zero(t, p.buffer.write(room[:headSize+2]))
	require.Zero(t, p.buffer.write(nil))
}

// An end reads a message as the other end wrote it. It refuses a message that is cut at any byte.
func TestInputMessagesAreReadAsWritten(t *testing.T) {
	p := newSticks()
	rapid.Check(t, func(t *rapid.T) {
		p.buffer.restart()
		from := tick.Tick(rapid.Int64Range(1, 1<<40).Draw(t, "from"))
		count := rapid.IntRange(1, reach).Draw(t, "count")
		var all []sticks
		for i := range count {
			axis := rapid.Map(rapid.IntRange(-127, 127), func(n int) float32 { return float32(n) / 127 })
			v := sticks{MoveX: axis.Draw(t, "x"), SmashY: axis.Draw(t, "y"), Buttons: rapid.Uint8().Draw(t, "buttons")}
			all = append(all, v)
			p.set(t, &v)
			p.buffer.record(from+tick.Tick(i), tick.Time{})
		}
		payload := p.message()
		g := &p.server.staged
		for cut := range payload {
			require.Error(t, g.read(p.in, payload[:cut], false), "cut at %d", cut)
		}
		require.Error(t, g.read(p.in, append(payload[:len(payload):len(payload)], 0), false))
		require.NoError(t, g.read(p.in, payload, false))
		require.Equal(t, count, g.count)
		require.EqualValues(t, behindUnknown, g.behind)
		p.queue = p.server.open()
		p.moment = moment{now: from - 1}
		p.queue.take(g, 1)
		for i, want := range all {
			got, ok := at[sticks](p, from+tick.Tick(i), from+tick.Tick(i))
			require.True(t, ok)
			require.InDelta(t, want.MoveX, got.MoveX, 1e-6)
			require.InDelta(t, want.SmashY, got.SmashY, 1e-6)
			require.Equal(t, want.Buttons, got.Buttons)
		}
	})
}

// Whatever ticks a client names, its inputs are in the window of 64 ticks around the server's tick, each tick once, in
// constant memory.
func TestCase53InputTickAbuse(t *testing.T) {
	p := newSticks()
	p.note(t, 1, sticks{MoveX: 1})
	payload := p.message()
	now := tick.Tick(1) << 33
	alloctest.Zero(t, 1, func() {
		for low := range 1 << 16 { // All values of 16 bits: from 32768 before to 32767 after, twice each.
			payload[0], payload[1] = byte(low), byte(low>>8)
			for range 2 {
				p.moment = moment{now: now, due: true, steps: 1}
				if err := p.server.staged.read(p.in, payload, false); err != nil {
					t.Fatal(err)
				}
				p.takeStaged()
			}
		}
	})
	s := &p.server.stats
	require.EqualValues(t, reach*2+1+reach, s.Taken, "each tick of the window once, and those to come again in the second run: the clock went back")
	require.EqualValues(t, 2*2*(1<<15-reach+1), s.TooFar)
	require.EqualValues(t, 2*2*(1<<15-reach-2), s.TooOld)
	n := p.in.number(reflect.TypeFor[sticks]())
	require.Equal(t, now-1, p.queue.newestUntil(now, n), "the newest that the client named last")
}

// TestCase53OneInputATick sends ten inputs of each tick, and ten more once the game has asked for it. The game gets the last of the first
// ten, in each tick of a stall too: a client acts once a tick.
func TestCase53OneInputATick(t *testing.T) {
	p := newSticks()
	ten := func(at tick.Tick, last float32) {
		for i := range 10 {
			p.buffer.restart()
			p.note(t, at, sticks{MoveX: map[bool]float32{true: last, false: -1}[i == 9]})
			require.NoError(t, p.server.staged.read(p.in, p.message(), false))
			p.takeStaged()
		}
	}
	asked := tick.Tick(500)
	for _, steps := range []int{1, 1, 5, 1, 30, 1} { // The server stalls twice.
		now := asked + tick.Tick(steps)
		p.moment = moment{now: now, due: true, steps: steps}
		for at := asked + 1; at <= now; at++ {
			ten(at, 1)
		}
		for asked < now {
			asked++
			for range 2 {
				v, ok := at[sticks](p, asked, asked)
				require.True(t, ok)
				require.Equal(t, float32(1), v.MoveX, "tick %d", asked)
			}
		}
		for at := now - tick.Tick(steps) + 1; at <= now; at++ {
			p.moment.now, p.moment.steps = now+1, 1 // The next frame.
			ten(at, -1)
		}
	}
	require.EqualValues(t, asked-500, p.server.stats.Taken)
	casebook.Injected(t, int(asked-500)*29, "further inputs of a tick")
}

func TestInputRegistrationRefuses(t *testing.T) {
	type wide struct{ A [33]uint32 }
	type empty struct{}
	p := netcode.NewProtocol()
	Register[look](p)
	require.PanicsWithValue(t, `netcode: input.Register[input.look]: this type is registered already, as "look"`, func() { Register[look](p) })
	require.PanicsWithValue(t, "netcode: input.Register[input.wide]: an input has 1 to 1024 bits, this one 1056", func() { Register[wide](p) })
	require.Panics(t, func() { Register[empty](p) })
	require.PanicsWithValue(t, "netcode: input.Register[input.sticks]: OwnerOnly is an option of messages, for Handle and Answer", func() { Register[sticks](p, netcode.OwnerOnly()) })
	require.Panics(t, func() { Register[map[string]int](p) })
	p.Hash()
	require.Panics(t, func() { Register[sticks](p) })
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	err = Set(client, &sticks{})
	require.ErrorIs(t, err, ErrNotRegistered)
	require.EqualError(t, err, "netcode: input.Set[input.sticks]: netcode: input type not registered: call input.Register on both sides")
}

func FuzzInputMessage(f *testing.F) {
	p := newSticks()
	p.note(f, 1, sticks{MoveX: 1})
	p.note(f, 2, sticks{MoveX: .5, Buttons: jump})
	f.Add(p.message())
	f.Add([]byte{1, 0, 255, 255, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		g := &p.server.staged
		if g.read(p.in, payload, false) == nil {
			require.True(t, g.count >= 1 && g.count <= reach)
		}
	})
}
