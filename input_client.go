package netcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ErrNoInput says that the input type was not given to Input before the protocol was frozen. SetInput wraps it with the type's
// name: ask with errors.Is.
var ErrNoInput = errors.New("netcode: input type not registered")

// SetInput sets what the player does from now on: it is the input of each tick that begins, in this frame or later, until
// it is set again. Call it before Send, once a frame at best; of several calls in one frame the last counts. Fields tagged
// `net:"event"` are presses: see Input. The value is
// copied. The errors are ErrNoInput and *UnstorableError, of a field that is not finite, outside its range or no rotation; the input
// stays what it was then.
func SetInput[T any](c *Client, v *T) error {
	in := &c.protocol.inputs
	n := in.number(reflect.TypeFor[T]())
	if n < 0 {
		return fmt.Errorf("%w: %s", ErrNoInput, reflect.TypeFor[T]())
	}
	plan, lanes := in.plans[n], in.of(c.inputs.scratch, n)
	fault := plan.Quantise(reflect.ValueOf(v).UnsafePointer(), lanes)
	if fault.Reason != wire.NoFault {
		return unstorable(plan, reflect.ValueOf(v), fault)
	}
	now := in.of(c.inputs.now, n)
	plan.MergeEvents(lanes, now)
	copy(now, lanes)
	c.inputs.set |= 1 << n
	if c.state != Connected {
		plan.ClearEvents(now)
	}
	if c.host != nil {
		c.setNear()
	}
	return nil
}

// inputTail is the inputs of a client that the server has not acknowledged.
type inputTail struct {
	set     uint8    // Bit n: the input type n was set.
	now     []uint32 // What is set, all types one after another.
	scratch []uint32
	rows    []uint32 // By type, then the tick modulo inputReach: what was set in that tick.
	run     []uint32 // Those of one type in the order of their ticks.

	noted  []tick.Tick // By tick modulo inputReach: the tick whose row that is; None in a new connection.
	latest tick.Tick   // The newest that was noted, before the clock went back.
	newest tick.Tick   // None: nothing was noted in this connection.
	acked  tick.Tick   // The newest that the server holds.
	fresh  bool        // Something was noted since the last message.
	shown  tick.Time   // What was presented when the newest was noted; of tick None: nothing.
	sent   []sentInput
}

// sentInput is the newest tick whose inputs a packet carried.
type sentInput struct {
	sequence uint64
	newest   tick.Tick
}

// setUp makes room; nothing is allocated later.
func (t *inputTail) setUp(in *inputs, packets int) {
	if in.lanes == 0 {
		return
	}
	t.now, t.scratch = make([]uint32, in.lanes), make([]uint32, in.lanes)
	t.rows, t.run = make([]uint32, in.lanes*inputReach), make([]uint32, in.lanes*inputReach)
	t.noted, t.sent = make([]tick.Tick, inputReach), make([]sentInput, packets)
	in.clearEvents(t.now)
}

// restart begins a connection. What the player does goes on, but for presses that no tick took.
func (t *inputTail) restart(in *inputs) {
	in.clearEvents(t.now)
	t.newest, t.latest, t.acked, t.fresh, t.shown = tick.None, tick.None, tick.None, false, tick.Time{}
	clear(t.noted)
	clear(t.sent)
}

// row is the lanes of one type in a tick.
func (t *inputTail) row(in *inputs, n int, at tick.Tick) []uint32 {
	lanes := in.plans[n].Lanes()
	from := in.first[n]*inputReach + int(at%inputReach)*lanes
	return t.rows[from : from+lanes]
}

// note makes what is set the input of every tick that has begun since. A clock that went back has its ticks again.
func (t *inputTail) note(in *inputs, now tick.Tick, shown tick.Time) {
	if t.set == 0 || now <= tick.None || now == t.newest {
		return
	}
	if now < t.newest {
		t.newest, t.acked = now-1, min(t.acked, now-1)
		clear(t.sent)
	}
	from := max(t.newest+1, now-inputReach+1)
	if t.newest == tick.None {
		from, t.acked = now, now-1
	}
	for at := from; at <= now; at++ {
		t.noteTick(in, at, at == now)
	}
	t.newest, t.fresh, t.shown = now, true, shown
	t.latest = max(t.latest, now)
}

// waiting is how many ticks the server is not known to have.
func (t *inputTail) waiting() int { return int(min(t.newest-t.acked, inputReach)) }

// write writes as many of the newest inputs as fit and returns the bytes, 0 when not even one fits.
func (t *inputTail) write(in *inputs, room []byte) int {
	for count := t.waiting(); count > 0; count /= 2 {
		if n := t.writeSome(in, room, count); n > 0 {
			return n
		}
	}
	return 0
}

// writeSome writes the inputs of the newest ticks, if they fit.
func (t *inputTail) writeSome(in *inputs, room []byte, count int) int {
	if len(room) < inputHead {
		return 0
	}
	binary.LittleEndian.PutUint16(room, uint16(t.newest))
	binary.LittleEndian.PutUint16(room[2:], behindOf(t.newest, t.shown))
	w := wire.NewBitWriter(room[inputHead:])
	for n, plan := range in.plans {
		if t.set>>n&1 == 0 {
			plan.WriteRun(&w, nil, 0)
			continue
		}
		lanes := plan.Lanes()
		for i := range count {
			copy(t.run[i*lanes:], t.row(in, n, t.newest-tick.Tick(count-1-i)))
		}
		plan.WriteRun(&w, t.run, count)
	}
	if n := w.Finish(); n > 0 {
		return inputHead + n
	}
	return 0
}

// behindOf is how the moment that was shown travels.
func behindOf(newest tick.Tick, shown tick.Time) uint16 {
	if shown.Tick == tick.None {
		return behindUnknown
	}
	behind := newest.Begin().Sub(shown) / (tick.OneTick / behindUnit)
	return uint16(min(max(behind, 0), behindMost))
}

// acknowledged notes that the server has a packet.
func (t *inputTail) acknowledged(sequence uint64) {
	if len(t.sent) == 0 {
		return
	}
	if s := &t.sent[sequence%uint64(len(t.sent))]; s.sequence == sequence && s.newest != tick.None {
		t.acked = max(t.acked, s.newest)
	}
}

// sendInputs sends the inputs that the server is not known to have, when there are new ones, and with any messages.
// Messages share the packet.
func (c *Client) sendInputs() {
	t := &c.inputs
	if t.set == 0 {
		return
	}
	t.note(&c.protocol.inputs, c.inputTick(), c.shownTime())
	if t.waiting() == 0 || !t.fresh && !c.wants() {
		return
	}
	if c.budget.Spent() {
		c.stats.BudgetSpent++
		return
	}
	b, ok := c.begin()
	if !ok {
		return
	}
	if c.addInputs(&b) {
		c.addWrites(&b)
		c.load(&b, false)
	}
	if !b.Empty() {
		c.finish(&b)
	}
}

// addInputs puts an input message into a packet.
func (c *Client) addInputs(b *peer.Builder) bool {
	t := &c.inputs
	n := t.write(&c.protocol.inputs, b.Payload())
	if n == 0 || !b.Add(wire.MessageInput, tick.Initialization, n) {
		return false
	}
	t.fresh = false
	t.sent[b.Sequence()%uint64(len(t.sent))] = sentInput{b.Sequence(), t.newest}
	return true
}

// inputTick is the tick whose inputs are noted now.
func (c *Client) inputTick() tick.Tick { return c.Time().Tick }

// shownTime is what is presented now.
func (c *Client) shownTime() tick.Time { return c.Present() }
