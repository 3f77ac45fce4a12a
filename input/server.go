package input

import (
	"encoding/binary"
	"errors"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// errInput is the error of an input section that is not legal.
var errInput = errors.New("inputs that are not legal")

// Stats counts the inputs that came to one server.
type Stats struct {
	Taken  uint64 `json:"taken"`   // Inputs of single ticks taken, the late ones included; each tick once.
	Late   uint64 `json:"late"`    // Inputs that came when their tick was simulated already.
	TooOld uint64 `json:"too_old"` // Inputs refused because they are of more than 64 ticks ago.
	TooFar uint64 `json:"too_far"` // Inputs refused because they are of more than 64 ticks ahead.
	Stood  uint64 `json:"stood"`   // Ticks for which the game asked, and an earlier input stood in.

	Relayed uint64 `json:"relayed"`  // Inputs of single ticks that were told to other clients, each as often as it was sent.
	LeftOut uint64 `json:"left_out"` // Parts of a packet for a player's inputs that were left out for lack of room. They come later.
}

// StatsOf is a copy of the counters of a server.
func StatsOf(s *netcode.Server) Stats {
	if q := queuesOf(s); q != nil {
		return q.stats
	}
	return Stats{}
}

// ClientStats is the Taken, Late and Stood of one client alone. It is false if there is no such client, or the protocol has no inputs.
func ClientStats(s *netcode.Server, client netcode.ClientID) (stats Stats, ok bool) {
	q := queueOf(s, client)
	if q != nil {
		stats = q.stats
	}
	return stats, q != nil
}

// Of returns the input of a client's player in the tick that the server simulates, Server.Tick. Call it in frames in which
// TickDue. Where nothing came for this tick, the newest input before it stands in. It is false if there is no such client, or nothing came
// for the last 64 ticks, or T is no input, which OnError is told once: ErrNotRegistered. Event fields are set for each press
// once: those of all ticks of this frame, see Server.Steps, and none in a frame in which no tick is due. It allocates nothing.
func Of[T any](s *netcode.Server, client netcode.ClientID) (v T, ok bool) {
	return get[T](s, client, s.Tick()-netcode.Tick(s.Steps())+1, s.Tick(), "input.Of")
}

// At is Of for one tick alone: Server.Tick or one that the server has let slip by less than 64 ticks before, as after a stall,
// when Steps is more than 1. A game asks for each of the Steps by At, or once by Of: events are in both. No client gets more
// steps than there are ticks, however many inputs it sends.
func At[T any](s *netcode.Server, client netcode.ClientID, at netcode.Tick) (v T, ok bool) {
	return get[T](s, client, at, at, "input.At")
}

// Has tells if a client's input of the tick that the server simulates is there, and no earlier one stands in.
func Has(s *netcode.Server, client netcode.ClientID) bool {
	q := queueOf(s, client)
	return q != nil && q.window.Holds(s.Tick()) && !q.stood[s.Tick()%slots]
}

// get is the input of a tick, with the events of all ticks from first on.
func get[T any](s *netcode.Server, client netcode.ClientID, first, at tick.Tick, call string) (v T, ok bool) {
	all, n := queuesOf(s), -1
	if all != nil {
		n = all.in.number(reflect.TypeFor[T]())
	}
	if n < 0 {
		netcode.Misused(s, call, reflect.TypeFor[T](), ErrNotRegistered)
		return v, false
	}
	q := queueOf(s, client)
	if q == nil {
		return v, false
	}
	lanes := q.ask(n, first, at)
	if lanes == nil {
		return v, false
	}
	all.in.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// clock is the part of a server that inputs need.
type clock interface {
	Tick() tick.Tick // The tick that is simulated,
	TickDue() bool   // if one is,
	Steps() int      // as the last of so many.
	Time() tick.Time // When the datagram came that is read.
}

// queues is the inputs of a server.
type queues struct {
	in     *types
	clock  clock
	staged staged
	stats  Stats

	recorder *recorder // Nil where there is no server, in tests.
}

// newQueues makes the state of a server with inputs.
func newQueues(in *types, c clock) *queues {
	return &queues{in: in, clock: c, staged: staged{rows: make([]uint32, in.lanes*reach)}}
}

// hooks returns the functions of the queues in the frames of their server.
func (a *queues) hooks() netcode.ServerHooks {
	return netcode.ServerHooks{
		State: a,
		Opened: func(c *netcode.Session) any {
			a.recorder.open = append(a.recorder.open, c)
			return a.open()
		},
		Closed: a.recorder.closed,
		Record: a.recorder.record(),
		Presented: func(c *netcode.Session, at netcode.Tick) (tick.Time, bool) {
			return ofSession(c).presented(at)
		},
		Section: &netcode.ServerSection{
			Check: func(_ *netcode.Session, payload []byte) error { return a.staged.read(a.in, payload) },
			Take:  func(c *netcode.Session, _ []byte) { ofSession(c).take(&a.staged) },
			Due:   func(c *netcode.Session, _ bool) bool { return ofSession(c).answer.due },
			Write: func(c *netcode.Session, room []byte, _ uint64) int { return ofSession(c).writeAnswer(room) },
		},
	}
}

// queuesOf is the inputs of a server; nil if its protocol has none.
func queuesOf(s *netcode.Server) *queues {
	a, _ := netcode.ExtensionOf[*queues](s)
	return a
}

// queueOf is a client's inputs; nil if there is no such client, or the protocol has no inputs.
func queueOf(s *netcode.Server, client netcode.ClientID) *queue { return ofSession(s.Session(client)) }

// ofSession is the inputs of a session.
func ofSession(c *netcode.Session) *queue {
	q, _ := netcode.ExtensionOf[*queue](c)
	return q
}

// simulated is the newest tick that the game simulated in an earlier frame.
func (a *queues) simulated() tick.Tick { return a.clock.Tick() - tick.Tick(a.clock.Steps()) }

// queue is the inputs of one client by tick, in constant memory.
type queue struct {
	all *queues
	in  *types

	window tick.Window
	rows   []uint32    // By type, then the tick modulo slots.
	types  []uint8     // By slot: which types there are.
	shown  []tick.Time // By slot: the moment that the client showed; of tick None: not known.
	stood  [slots]bool // By slot, of a recorded player: an earlier input stands in.
	newest tick.Tick   // The newest that was taken.
	asked  tick.Tick   // The newest that the game asked for.
	answer answer
	stats  Stats // Taken, Late and Stood alone.

	late    lateEvents
	scratch []uint32 // One row of each type.
}

// slots is the number of ticks that a queue has room for: all of its window.
const slots = 2*reach + 1

// answer is the next feedback for the client's clock: how early one input came since the last tick.
type answer struct {
	due   bool
	tick  tick.Tick
	early tick.Span
}

// open makes the queue of a client.
func (a *queues) open() *queue {
	q := &queue{all: a, in: a.in, window: tick.NewWindow(reach, reach, 0)}
	q.rows = make([]uint32, a.in.lanes*slots)
	q.types, q.shown = make([]uint8, slots), make([]tick.Time, slots)
	q.scratch, q.late.rows = make([]uint32, a.in.lanes), make([]uint32, a.in.lanes)
	return q
}

// row is the lanes of one type in a tick.
func (q *queue) row(n int, at tick.Tick) []uint32 {
	lanes := q.in.plans[n].Lanes()
	from := q.in.first[n]*slots + int(at%slots)*lanes
	return q.rows[from : from+lanes]
}

// nextTick is the first tick of which the game has not asked for the client's input.
func (q *queue) nextTick() tick.Tick { return max(q.all.simulated(), q.asked) + 1 }

// ask returns the input of one type in a tick, for the game, with the events of all ticks from first on. It is nil where no input
// stands for the tick.
func (q *queue) ask(n int, first, at tick.Tick) []uint32 {
	lanes := q.input(n, first, at)
	if lanes != nil && at > q.asked && !q.window.Holds(at) {
		q.stats.Stood++
		q.all.stats.Stood++
	}
	q.asked = max(q.asked, min(at, q.all.clock.Tick()))
	return lanes
}

// standing is the tick whose input of one type is that of a tick: itself, or the newest before it; None if there is none.
func (q *queue) standing(at tick.Tick, n int) tick.Tick {
	for t := at; t > tick.None && t > at-reach; t-- {
		if q.window.Holds(t) && q.types[t%slots]>>n&1 != 0 {
			return t
		}
	}
	return tick.None
}

// presented returns the moment that the client showed its player when it made the input of a tick; false if that is not known.
// Where another input stands in, its clock went on meanwhile.
func (q *queue) presented(at tick.Tick) (tick.Time, bool) {
	for t := at; t > tick.None && t > at-reach; t-- {
		if q.window.Holds(t) && q.shown[t%slots].Tick != tick.None {
			return q.shown[t%slots].Add(tick.Ticks(at - t)), true
		}
	}
	return tick.Time{}, false
}

// staged is an input section that was judged.
type staged struct {
	low    uint16 // Of the newest tick.
	behind uint16
	count  int
	types  uint8
	rows   []uint32 // By type, reach rows for each.
}

// read judges an input section whole, before anything of it takes effect.
func (g *staged) read(in *types, payload []byte) error {
	if len(payload) <= headSize {
		return errInput
	}
	g.low, g.behind = binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:])
	g.count, g.types = 0, 0
	r := wire.NewBitReader(payload[headSize:])
	for n, plan := range in.plans {
		count, ok := plan.ReadRun(&r, g.rows[in.first[n]*reach:][:plan.Lanes()*reach], reach)
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

// take queues the inputs of a section that was judged: each tick once, and none outside the window.
func (q *queue) take(g *staged) {
	now, stats := q.all.clock.Tick(), &q.all.stats
	begun := now
	if q.all.clock.TickDue() {
		begun-- // Packets are read before the tick of their frame is simulated.
	}
	newest, came := tick.Near(g.low, now), q.all.clock.Time()
	for i := range g.count {
		at := newest - tick.Tick(g.count-1-i)
		switch verdict := q.window.Judge(at, begun); verdict {
		case tick.Accepted, tick.Late:
			q.keep(g, at, i)
			if next := q.nextTick(); at < next {
				q.postpone(at, next)
			}
			q.answered(at, tick.EarlyAt(at, begun, came))
			stats.Taken++
			q.stats.Taken++
			if verdict == tick.Late {
				stats.Late++
				q.stats.Late++
			}
		case tick.TooFar:
			q.answered(at, tick.EarlyAt(at, begun, came))
			stats.TooFar++
		case tick.TooOld:
			stats.TooOld++
		}
	}
}

// keep puts the input of a tick into its slot.
func (q *queue) keep(g *staged, at tick.Tick, i int) {
	slot := at % slots
	for n, plan := range q.in.plans {
		lanes := plan.Lanes()
		copy(q.row(n, at), g.rows[q.in.first[n]*reach+i*lanes:][:lanes])
	}
	q.types[slot], q.shown[slot] = g.types, tick.Time{}
	if g.behind != behindUnknown {
		q.shown[slot] = at.Begin().Add(-tick.Span(g.behind) * (tick.OneTick / behindUnit))
	}
	q.newest = max(q.newest, at)
}

// put makes the action of a host's player the input of the tick that is simulated, or of the next where the game has asked: a tick keeps what
// the game got. shown is the moment that the player sees.
func (q *queue) put(t *tail, shown tick.Time) {
	at := max(q.all.clock.Tick(), q.asked+1)
	again := q.window.Holds(at)
	if !again {
		q.window.Judge(at, at-1)
		q.all.stats.Taken++
		q.stats.Taken++
	}
	for n, plan := range q.in.plans {
		row, set := q.row(n, at), q.in.of(t.now, n)
		before := q.in.of(q.scratch, n)
		copy(before, row)
		copy(row, set)
		if again && q.types[at%slots]>>n&1 != 0 {
			plan.MergeEvents(row, before)
		}
		plan.ClearEvents(set)
	}
	q.types[at%slots], q.shown[at%slots] = t.set, shown
	q.newest = max(q.newest, at)
	if next := q.nextTick(); at != next {
		q.postpone(at, next)
	}
}

// answered notes how early an input came. Of several between two ticks the one is told that came latest for its tick, so that none
// that is late is left out, or else the one that came too early.
func (q *queue) answered(at tick.Tick, early tick.Span) {
	if a := &q.answer; !a.due || early < a.early {
		*a = answer{due: true, tick: at, early: early}
	}
}

// writeAnswer writes how early one of the client's inputs came, once a tick in which some did.
func (q *queue) writeAnswer(room []byte) int {
	a := &q.answer
	if !a.due || len(room) < feedbackSize {
		return 0
	}
	putFeedback(room, a.tick, a.early)
	a.due = false
	return feedbackSize
}

// lateEvents are the events of inputs that came when their tick had been simulated: the tick simulated next has them.
type lateEvents struct {
	rows []uint32  // One of each type.
	tick tick.Tick // The tick that has them.
}

// begin makes a tick the one that has late events, and forgets those of an earlier one.
func (l *lateEvents) begin(in *types, at tick.Tick) {
	if l.tick == at {
		return
	}
	l.tick = at
	in.clearEvents(l.rows)
}

// postpone moves the events of a tick that was simulated to another one.
func (q *queue) postpone(late, to tick.Tick) {
	q.late.begin(q.in, to)
	for n, plan := range q.in.plans {
		if q.types[late%slots]>>n&1 == 0 || !plan.Events() {
			continue
		}
		row := q.row(n, late)
		plan.MergeEvents(q.in.of(q.late.rows, n), row)
		plan.ClearEvents(row)
	}
}

// input makes the input of one type in a tick of the ticks first to at: the state is that of the newest, and the events are
// those of all. The lanes are good until the next call. It is nil where no input stands for the tick.
func (q *queue) input(n int, first, at tick.Tick) []uint32 {
	standing := q.standing(at, n)
	if standing == tick.None {
		return nil
	}
	plan, row := q.in.plans[n], q.row(n, standing)
	if !plan.Events() {
		return row
	}
	v := q.in.of(q.scratch, n)
	copy(v, row)
	plan.ClearEvents(v)
	for t := max(first, at-reach+1); t <= at; t++ {
		if q.window.Holds(t) && q.types[t%slots]>>n&1 != 0 {
			plan.MergeEvents(v, q.row(n, t))
		}
		if q.late.tick == t && t != tick.None {
			plan.MergeEvents(v, q.in.of(q.late.rows, n))
		}
	}
	return v
}
