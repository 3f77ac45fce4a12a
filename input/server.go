package input

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// errInput is the error of an illegal input section.
var errInput = errors.New("inputs that are not legal")

// Stats counts the inputs that arrived at one server.
type Stats struct {
	Taken  uint64 `json:"taken"`   // Accepted inputs, each tick once, with the late ones. Ticks that repeat since a client's clock went back count again.
	Late   uint64 `json:"late"`    // Inputs that arrived after their tick was simulated.
	TooOld uint64 `json:"too_old"` // Refused inputs of more than 64 ticks ago.
	TooFar uint64 `json:"too_far"` // Refused inputs of more than 64 ticks ahead.
	Stood  uint64 `json:"stood"`   // Ticks that the game asked for and for which an earlier input stood in.

	Relayed uint64 `json:"relayed"`  // Inputs of single ticks sent to other clients, counted for each send.
	LeftOut uint64 `json:"left_out"` // Players' parts of a section that were left out for lack of room. They are sent later.
}

// StatsOf returns a copy of the counters of a server.
func StatsOf(s *netcode.Server) Stats {
	if q := queuesOf(s); q != nil {
		return q.stats
	}
	return Stats{}
}

// ClientStats returns Taken, Late and Stood of one client. ok is false for an unknown client and a protocol without
// inputs.
func ClientStats(s *netcode.Server, client netcode.ClientID) (stats Stats, ok bool) {
	q := queueOf(s, client)
	if q != nil {
		stats = q.stats
	}
	return stats, q != nil
}

// Of returns the input of a client's player in the simulated tick, Server.Tick. Call it in frames in which TickDue. If no
// input arrived for this tick, the newest earlier input stands in.
//
// ok is false for an unknown client, and if no input arrived for the last 64 ticks. It is also false if T is not an
// input; OnError then gets ErrNotRegistered once. Each press is returned once: the input has the presses of all ticks of
// this frame, see Server.Steps. In a frame without a due tick it has none. Of allocates nothing.
func Of[T any](s *netcode.Server, client netcode.ClientID) (v T, ok bool) {
	return get[T](s, client, s.Tick()-netcode.Tick(s.Steps())+1, s.Tick(), "input.Of")
}

// At returns the input of one tick: Server.Tick, or one of the ticks that the server has skipped in this frame after a
// stall, when Steps is more than 1. A game calls At for each of the Steps, or Of once: both return all events. A client
// gets one step per tick, however many inputs it sends.
func At[T any](s *netcode.Server, client netcode.ClientID, at netcode.Tick) (v T, ok bool) {
	return get[T](s, client, at, at, "input.At")
}

// Has reports whether a client's input of the simulated tick has arrived. It is false if an earlier input stands in.
func Has(s *netcode.Server, client netcode.ClientID) bool {
	q := queueOf(s, client)
	return q != nil && q.window.Holds(s.Tick()) && !q.repeated[s.Tick()%slots]
}

// get returns the input of tick at, with the events of all ticks from first on.
func get[T any](s *netcode.Server, client netcode.ClientID, first, at tick.Tick, call string) (v T, ok bool) {
	all, n := queuesOf(s), -1
	if all != nil {
		n = all.in.number(reflect.TypeFor[T]())
	}
	if n < 0 {
		extend.Misused(s, call, reflect.TypeFor[T](), ErrNotRegistered)
		return v, false
	}
	q := queueOf(s, client)
	if q == nil {
		return v, false
	}
	lanes := q.consume(n, first, at)
	if lanes == nil {
		return v, false
	}
	all.in.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// clock is the part of a server that inputs use.
type clock interface {
	Tick() tick.Tick // The simulated tick.
	TickDue() bool   // A tick is simulated in this frame.
	Steps() int      // The number of ticks of this frame.
	Time() tick.Time // The arrival time of the datagram that is read.

	Slipped() (since tick.Tick, total uint64) // The ticks that were given up after stalls.
}

// queues is the state of a server with inputs.
type queues struct {
	in     *types
	clock  clock
	staged staged
	stats  Stats

	recorder *recorder // Nil in tests without a server.
}

// serverClock is a server as the clock of its inputs.
type serverClock struct {
	*netcode.Server
	extended extend.Server
}

// Time implements clock.
func (c serverClock) Time() tick.Time { return c.extended.Time() }

// newQueues makes the state of a server with inputs.
func newQueues(in *types, c clock) *queues {
	return &queues{in: in, clock: c, staged: staged{rows: make([]uint32, in.lanes*reach)}}
}

// hooks returns the functions that the server's frames call.
func (a *queues) hooks() extend.ServerHooks {
	return extend.ServerHooks{
		State: a,
		Opened: func(c extend.Session) any {
			a.recorder.open = append(a.recorder.open, c)
			return a.open()
		},
		Closed: a.recorder.closed,
		Record: a.recorder.record(),
		Presented: func(c extend.Session, at netcode.Tick) (tick.Time, bool) {
			return ofSession(c).presented(at)
		},
		Section: &extend.ServerSection{
			Check: func(c extend.Session, payload []byte) error { return a.staged.read(a.in, payload, c.Plain()) },
			Take:  func(c extend.Session, packet uint64, _ []byte) { ofSession(c).take(&a.staged, packet) },
			Due:   func(c extend.Session, _ bool) bool { return ofSession(c).feedback.due },
			Write: func(c extend.Session, room []byte, packet uint64) int {
				return ofSession(c).writeFeedback(room, packet)
			},
			Acked: func(c extend.Session, packet uint64) { ofSession(c).slips.acked(packet) },
		},
	}
}

// queuesOf returns the inputs of a server, nil if its protocol has none.
func queuesOf(s *netcode.Server) *queues {
	a, _ := extend.ExtensionOf[*queues](s)
	return a
}

// queueOf returns a client's inputs, nil for an unknown client or a protocol without inputs.
func queueOf(s *netcode.Server, client netcode.ClientID) *queue {
	return ofSession(extend.OfServer(s).Session(client))
}

// ofSession returns the inputs of a session.
func ofSession(c extend.Session) *queue {
	q, _ := extend.ExtensionOf[*queue](c)
	return q
}

// simulated returns the newest tick that was simulated in an earlier frame.
func (a *queues) simulated() tick.Tick { return a.clock.Tick() - tick.Tick(a.clock.Steps()) }

// queue stores the inputs of one client by tick, in constant memory.
type queue struct {
	server *queues
	in     *types

	window   tick.Window
	rows     []uint32    // By type, then tick modulo slots.
	types    []uint8     // By slot: bit n: there is an input of type n.
	moments  []tick.Time // By slot: the moment that the client presented; tick None: unknown.
	repeated [slots]bool // By slot, for a recorded player: an earlier input stands in.
	newest   tick.Tick   // The newest accepted tick.
	consumed tick.Tick   // The newest tick that the game asked for.
	packet   uint64      // The newest packet with inputs.
	heard    []uint32    // As rows: the input of the newest packet with the tick, with all events that came.
	heardAs  []uint8     // As types, of heard.
	feedback nextFeedback
	slips    slips
	stats    Stats // Only Taken, Late and Stood.

	late     lateEvents
	disputes []tick.Tick // Simulated ticks of which a newer packet has another input, since the last network tick.
	scratch  []uint32    // One row of all types.
}

// slots is the number of ticks that a queue stores: the whole window.
const slots = 2*reach + 1

// nextFeedback is the next feedback for the client's clock: how early one input arrived since the last tick.
type nextFeedback struct {
	due   bool
	tick  tick.Tick
	early tick.Span
}

// open makes the queue of a client.
func (a *queues) open() *queue {
	q := &queue{server: a, in: a.in, window: tick.NewWindow(reach, reach)}
	q.rows = make([]uint32, a.in.lanes*slots)
	q.types, q.moments = make([]uint8, slots), make([]tick.Time, slots)
	q.heard, q.heardAs = make([]uint32, len(q.rows)), make([]uint8, slots)
	q.scratch, q.late.rows = make([]uint32, a.in.lanes), make([]uint32, a.in.lanes)
	q.disputes = make([]tick.Tick, 0, reach)
	_, q.slips.before = a.clock.Slipped()
	return q
}

// row returns the lanes of one type in a tick.
func (q *queue) row(n int, at tick.Tick) []uint32 { return q.lanes(q.rows, n, at) }

// lanes returns the lanes of one type in a tick, of rows in the order of q.rows.
func (q *queue) lanes(rows []uint32, n int, at tick.Tick) []uint32 {
	lanes := q.in.plans[n].Lanes()
	from := q.in.first[n]*slots + int(at%slots)*lanes
	return rows[from : from+lanes]
}

// nextTick returns the first tick whose input the game has not asked for.
func (q *queue) nextTick() tick.Tick { return max(q.server.simulated(), q.consumed) + 1 }

// consume returns the game's input of one type in tick at, with the events of all ticks from first on. It is nil without an
// input that stands in. It counts the tick as consumed.
func (q *queue) consume(n int, first, at tick.Tick) []uint32 {
	lanes := q.input(n, first, at)
	if lanes != nil && at > q.consumed && !q.window.Holds(at) {
		q.stats.Stood++
		q.server.stats.Stood++
	}
	q.consumed = max(q.consumed, min(at, q.server.clock.Tick()))
	return lanes
}

// newestUntil returns the tick whose input counts for tick at: itself, or the newest before it. It is None if none is within
// reach.
func (q *queue) newestUntil(at tick.Tick, n int) tick.Tick {
	for t := at; t > tick.None && t > at-reach; t-- {
		if q.window.Holds(t) && q.types[t%slots]>>n&1 != 0 {
			return t
		}
	}
	return tick.None
}

// presented returns the moment that the client presented when it made the input of a tick. For a missing input it
// continues from an earlier input at the rate of the clock. ok is false if no moment is known.
func (q *queue) presented(at tick.Tick) (tick.Time, bool) {
	for t := at; t > tick.None && t > at-reach; t-- {
		if q.window.Holds(t) && q.moments[t%slots].Tick != tick.None {
			return q.moments[t%slots].Add(tick.Ticks(at - t)), true
		}
	}
	return tick.Time{}, false
}

// staged is a validated input section that has no effect yet.
type staged struct {
	low    uint16 // The low bits of the newest tick.
	behind uint16
	count  int
	types  uint8
	rows   []uint32 // By type: reach rows each.
}

// read validates and decodes a whole input section, of a client of the plain profile or another one. The queue takes it only if all of
// it is legal.
func (g *staged) read(in *types, payload []byte, plain bool) error {
	if len(payload) <= headSize {
		return errInput
	}
	g.low, g.behind = binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:])
	g.count, g.types = 0, 0
	r := wire.NewBitReader(payload[headSize:])
	for n, plan := range in.plans {
		count, ok := plan.ReadRun(&r, g.rows[in.first[n]*reach:][:plan.Lanes()*reach], reach, plain)
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

// take puts the inputs of a validated section into the queue. It ignores ticks outside the window. Until a tick is simulated its input of
// the newest packet counts: a client makes newer ones when its clock went back, since the server's ticks slipped.
func (q *queue) take(g *staged, packet uint64) {
	now, stats := q.server.clock.Tick(), &q.server.stats
	begun := q.server.simulated() // Packets are read before the ticks of their frame are simulated.
	newest, came := tick.Near(g.low, now), q.server.clock.Time()
	newer := packet > q.packet
	if newer {
		q.packet = packet
		q.withdraw(newest)
	}
	for i := range g.count {
		at := newest - tick.Tick(g.count-1-i)
		switch verdict := q.window.Judge(at, begun); verdict {
		case tick.Accepted, tick.Late:
			q.keep(g, at, i)
			if next := q.nextTick(); at < next {
				q.postpone(at, next)
			}
			q.noteEarly(at, tick.EarlyAt(at, begun, came))
			stats.Taken++
			q.stats.Taken++
			if verdict == tick.Late {
				stats.Late++
				q.stats.Late++
			}
		case tick.Duplicate:
			if newer && q.differs(g, at, i) {
				q.replace(g, at, i)
			}
		case tick.TooFar:
			q.noteEarly(at, tick.EarlyAt(at, begun, came))
			stats.TooFar++
		case tick.TooOld:
			stats.TooOld++
		}
	}
}

// withdraw forgets the inputs after the newest tick of a client whose clock went back. It makes them again.
func (q *queue) withdraw(newest tick.Tick) {
	next := q.nextTick()
	for at := q.newest; at > newest && at >= next; at-- {
		q.window.Forget(at)
	}
	q.newest = min(q.newest, max(newest, next))
}

// lanesOf returns the lanes of type n in tick i of the section.
func (g *staged) lanesOf(in *types, n, i int) []uint32 {
	lanes := in.plans[n].Lanes()
	return g.rows[in.first[n]*reach+i*lanes:][:lanes]
}

// differs reports whether an input differs from the newest one that was heard of its tick.
func (q *queue) differs(g *staged, at tick.Tick, i int) bool {
	if q.heardAs[at%slots] != g.types {
		return true
	}
	for n := range q.in.plans {
		if !slices.Equal(q.lanes(q.heard, n, at), g.lanesOf(q.in, n, i)) {
			return true
		}
	}
	return false
}

// replace puts another input of a tick in place of the first. If the tick was simulated the first counts: the client is told, and the events
// that only the other has are in the next tick.
func (q *queue) replace(g *staged, at tick.Tick, i int) {
	next := q.nextTick()
	if at >= next {
		q.keep(g, at, i)
		return
	}
	if q.in.tells && len(q.disputes) < cap(q.disputes) {
		q.disputes = append(q.disputes, at)
	}
	q.late.begin(q.in, next)
	for n, plan := range q.in.plans {
		more, heard := q.in.of(q.scratch, n), q.lanes(q.heard, n, at)
		copy(more, g.lanesOf(q.in, n, i))
		if q.heardAs[at%slots]>>n&1 != 0 {
			plan.SubtractEvents(more, heard)
		} else {
			plan.ClearEvents(heard)
		}
		plan.MergeEvents(q.in.of(q.late.rows, n), more)
		plan.MergeEvents(more, heard)
		copy(heard, more)
	}
	q.heardAs[at%slots] = g.types
}

// keep stores the input of a tick.
func (q *queue) keep(g *staged, at tick.Tick, i int) {
	slot := at % slots
	for n := range q.in.plans {
		copy(q.row(n, at), g.lanesOf(q.in, n, i))
		copy(q.lanes(q.heard, n, at), g.lanesOf(q.in, n, i))
	}
	q.types[slot], q.heardAs[slot], q.moments[slot] = g.types, g.types, tick.Time{}
	if g.behind != behindUnknown {
		q.moments[slot] = at.Begin().Add(-tick.Span(g.behind) * (tick.OneTick / behindUnit))
	}
	q.newest = max(q.newest, at)
}

// put stores the action of a host's player as the input of the simulated tick, or of the next tick if the game has
// already asked. An input that the game has received never changes. shown is the moment that the player sees.
func (q *queue) put(t *inputBuffer, shown tick.Time) {
	at := max(q.server.clock.Tick(), q.consumed+1)
	again := q.window.Holds(at)
	if !again {
		q.window.Judge(at, at-1)
		q.server.stats.Taken++
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
	q.types[at%slots], q.moments[at%slots] = t.set, shown
	q.newest = max(q.newest, at)
	if next := q.nextTick(); at != next {
		q.postpone(at, next)
	}
}

// noteEarly notes how early an input arrived, for the next feedback. Of several inputs between two ticks, the feedback
// reports the least early. A late input is thus always reported.
func (q *queue) noteEarly(at tick.Tick, early tick.Span) {
	if a := &q.feedback; !a.due || early < a.early {
		*a = nextFeedback{due: true, tick: at, early: early}
	}
}

// writeFeedback writes the feedback, at most once a tick. It returns its length in bytes.
func (q *queue) writeFeedback(room []byte, packet uint64) int {
	a := &q.feedback
	if !a.due || len(room) < feedbackSize {
		return 0
	}
	putFeedback(room, a.tick, a.early)
	a.due = false
	since, total := q.server.clock.Slipped()
	return feedbackSize + q.slips.put(room[feedbackSize:], since, total, packet)
}

// lateEvents has the events of inputs that arrived after their tick was simulated. The tick that is simulated next takes
// them.
type lateEvents struct {
	rows []uint32  // One row of all types.
	tick tick.Tick // The tick that takes them.
}

// begin sets the tick that takes the late events. It drops the events of an earlier such tick.
func (l *lateEvents) begin(in *types, at tick.Tick) {
	if l.tick == at {
		return
	}
	l.tick = at
	in.clearEvents(l.rows)
}

// postpone moves the events of an already simulated tick to tick to.
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

// input returns the input of one type for the ticks first to at: the state of the newest, and the events of all. It is
// nil without an input that stands in. The lanes are valid until the next call.
func (q *queue) input(n int, first, at tick.Tick) []uint32 {
	standing := q.newestUntil(at, n)
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
