package netcode

import (
	"encoding/binary"
	"errors"
	"reflect"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// errInput says why a client's input message is none.
var errInput = errors.New("inputs that are not legal")

// InputOf is what a client's player does in the tick that the server simulates, Server.Tick, to be asked in frames in which
// TickDue. Where nothing came for this tick, the newest input before it stands in. It is false if there is no such client,
// or nothing came for the last 64 ticks, or T is no input, which OnError is told once: ErrNoInput. Event fields are set for each press once: those of all ticks of
// this frame, see Steps, and none in a frame in which no tick is due. It allocates nothing.
func InputOf[T any](s *Server, client ClientID) (v T, ok bool) {
	return inputOf[T](s, client, s.simulated()+1, s.Tick(), "InputOf")
}

// InputAt is InputOf for one tick alone: Server.Tick or one that the server has let slip by less than 64 ticks before,
// as after a stall, when Steps is more than 1. A game asks for each of the Steps by InputAt, or once by InputOf: events are
// in both.
func InputAt[T any](s *Server, client ClientID, at Tick) (v T, ok bool) {
	return inputOf[T](s, client, at, at, "InputAt")
}

// inputOf is the input of a tick, with the events of all ticks from first on.
func inputOf[T any](s *Server, client ClientID, first, at Tick, call string) (v T, ok bool) {
	n := s.protocol.inputs.number(reflect.TypeFor[T]())
	if n < 0 {
		s.report.misused(call, reflect.TypeFor[T](), ErrNoInput)
		return v, false
	}
	q := s.queueOf(client)
	if q == nil {
		return v, false
	}
	lanes := q.input(&s.protocol.inputs, n, first, at)
	if lanes == nil {
		return v, false
	}
	q.asked = max(q.asked, min(at, s.Tick()))
	s.protocol.inputs.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// simulated is the newest tick that the game simulated in an earlier frame.
func (s *Server) simulated() tick.Tick { return s.Tick() - tick.Tick(s.frame.steps) }

// nextTick is the first tick of which the game has not asked for a client's input.
func (s *Server) nextTick(q *inputQueue) tick.Tick { return max(s.simulated(), q.asked) + 1 }

// HasInput tells if a client's input of the tick that the server simulates is there, and no earlier one stands in.
func (s *Server) HasInput(client ClientID) bool {
	q := s.queueOf(client)
	return q != nil && q.window.Holds(s.Tick())
}

// Steps is how many ticks fell into this frame: 0 where TickDue is false, 1 usually, and after a stall up to
// Config.CatchUp. A game that lets no tick slip simulates those from Tick-Steps+1 to Tick, each with its own InputAt. No
// client gets more steps than there are ticks, however many inputs it sends.
func (s *Server) Steps() int { return s.frame.steps }

// queueOf is a client's inputs.
func (s *Server) queueOf(client ClientID) *inputQueue {
	c := s.present(client)
	if c == nil || c.inputs.rows == nil {
		return nil
	}
	return &c.inputs
}

// inputQueue holds the inputs of one client by tick, in constant memory.
type inputQueue struct {
	window tick.Window
	rows   []uint32    // By type, then the tick modulo inputSlots.
	types  []uint8     // By slot: which types there are.
	shown  []tick.Time // By slot: what the client showed; of tick None: not known.
	newest tick.Tick   // The newest that was taken.
	asked  tick.Tick   // The newest that the game asked for.
	answer inputAnswer

	late    lateEvents
	scratch []uint32 // One row of each type.
}

// inputSlots is how many ticks an inputQueue holds: all that its window reaches.
const inputSlots = 2*inputReach + 1

// inputAnswer is what the client's clock is to be told: of one input since the last tick, how early it came.
type inputAnswer struct {
	due   bool
	tick  tick.Tick
	early tick.Span
}

// setUp makes room for the inputs of a client.
func (q *inputQueue) setUp(in *inputs) {
	if in.lanes == 0 {
		return
	}
	q.window = tick.NewWindow(inputReach, inputReach, 0)
	q.rows = make([]uint32, in.lanes*inputSlots)
	q.types, q.shown = make([]uint8, inputSlots), make([]tick.Time, inputSlots)
	q.scratch, q.late.rows = make([]uint32, in.lanes), make([]uint32, in.lanes)
}

// row is the lanes of one type in a tick.
func (q *inputQueue) row(in *inputs, n int, at tick.Tick) []uint32 {
	lanes := in.plans[n].Lanes()
	from := in.first[n]*inputSlots + int(at%inputSlots)*lanes
	return q.rows[from : from+lanes]
}

// standing is the tick whose input of one type is that of a tick: itself, or the newest before it; None if there is none.
func (q *inputQueue) standing(at tick.Tick, n int) tick.Tick {
	for t := at; t > tick.None && t > at-inputReach; t-- {
		if q.window.Holds(t) && q.types[t%inputSlots]>>n&1 != 0 {
			return t
		}
	}
	return tick.None
}

// presented is what the client showed its player when it made the input of a tick; false if that is not known. Where
// another input stands in, its clock went on meanwhile.
func (q *inputQueue) presented(at tick.Tick) (tick.Time, bool) {
	for t := at; t > tick.None && t > at-inputReach; t-- {
		if q.window.Holds(t) && q.shown[t%inputSlots].Tick != tick.None {
			return q.shown[t%inputSlots].Add(tick.Ticks(at - t)), true
		}
	}
	return tick.Time{}, false
}

// stagedInputs is an input message that was judged.
type stagedInputs struct {
	low    uint16 // Of the newest tick.
	behind uint16
	count  int
	types  uint8
	rows   []uint32 // By type, inputReach rows for each.
}

// read judges an input message whole, before anything of it takes effect.
func (g *stagedInputs) read(in *inputs, payload []byte) error {
	if len(payload) <= inputHead || len(in.plans) == 0 {
		return errInput
	}
	if g.rows == nil {
		g.rows = make([]uint32, in.lanes*inputReach)
	}
	g.low, g.behind = binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:])
	g.count, g.types = 0, 0
	r := wire.NewBitReader(payload[inputHead:])
	for n, plan := range in.plans {
		count, ok := plan.ReadRun(&r, g.rows[in.first[n]*inputReach:][:plan.Lanes()*inputReach], inputReach)
		switch {
		case !ok || count > 0 && g.count > 0 && count != g.count:
			return errInput
		case count > 0:
			g.count = count
			g.types |= 1 << n
		}
	}
	if g.count == 0 || !r.Done() {
		return errInput
	}
	return nil
}

// takeInputs queues the inputs of a packet that was judged: each tick once, and none outside the window.
func (s *Server) takeInputs(c *session) {
	in, g, q := &s.protocol.inputs, &s.staged, &c.inputs
	begun := s.Tick()
	if s.frame.due {
		begun-- // Packets are read before the tick of their frame is simulated.
	}
	newest := tick.Near(g.low, s.Tick())
	for i := range g.count {
		at := newest - tick.Tick(g.count-1-i)
		switch verdict := q.window.Judge(at, begun); verdict {
		case tick.Accepted, tick.Late:
			q.keep(in, g, at, i)
			if next := s.nextTick(q); at < next {
				q.postpone(in, at, next)
			}
			q.answered(at, begun)
			s.stats.Inputs++
			if verdict == tick.Late {
				s.stats.InputsLate++
			}
		case tick.TooFar:
			q.answered(at, begun)
			s.stats.InputsTooFar++
		case tick.TooOld:
			s.stats.InputsTooOld++
		}
	}
}

// keep puts the input of a tick into its slot.
func (q *inputQueue) keep(in *inputs, g *stagedInputs, at tick.Tick, i int) {
	slot := at % inputSlots
	for n, plan := range in.plans {
		lanes := plan.Lanes()
		copy(q.row(in, n, at), g.rows[in.first[n]*inputReach+i*lanes:][:lanes])
	}
	q.types[slot], q.shown[slot] = g.types, tick.Time{}
	if g.behind != behindUnknown {
		q.shown[slot] = at.Begin().Add(-tick.Span(g.behind) * (tick.OneTick / behindUnit))
	}
	q.newest = max(q.newest, at)
}

// answered notes when an input came. Of several between two ticks the one is told that came latest for its tick, so that
// none that is late is left out, or else the one that came too early.
func (q *inputQueue) answered(at, begun tick.Tick) {
	if a, early := &q.answer, tick.Early(at, begun); !a.due || early < a.early {
		*a = inputAnswer{due: true, tick: at, early: early}
	}
}

// answerInputs tells a client's clock how early one of its inputs came, once a tick in which some did.
func (c *session) answerInputs(b *peer.Builder) {
	a := &c.inputs.answer
	if !a.due || !b.Fits(feedbackSize) {
		return
	}
	putFeedback(b.Payload(), a.tick, a.early)
	b.Add(wire.MessageFeedback, tick.Initialization, feedbackSize)
	a.due = false
}
