package input

import (
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A recording (record.Inputs) has the inputs of each player in each tick, as the server used them. The part of a tick:
//
//	steps    varint, the ticks of the frame, 1 to 64; then for each player
//	client   varint, and for each of the ticks, the oldest first:
//	flags    u8: bit 0: the input had arrived; bit 1: the presented moment is known; bit 2: types and rows equal the tick before
//	shown    varint, zigzag: the time from that moment to the tick, in tick.Span; 0 to 0xFFFE/64 ticks
//	types    u8: bit n: there is an input of type n, in the order of wire names; 0: no input
//	rows     quantize.Plan.WriteRow of each type set, with zeros up to the byte
const (
	recordedHere  = 1
	recordedShown = 2
	recordedSame  = 4
)

// mostBack bounds the time from the presented moment to its tick in a recording. It is the largest time that a client can
// send.
const mostBack = behindMost * (tick.OneTick / behindUnit)

// recorder writes and reads the inputs of a server's players.
type recorder struct {
	server *netcode.Server
	all    *queues
	open   []extend.Session
	on     bool                           // Write was called, so that a closing client may be recorded.
	gone   []byte                         // The encoded players that left in this frame.
	told   map[netcode.ClientID]*recorded // As last written.
	played map[netcode.ClientID]*recorded // As last read.
	room   []byte
	at     int // Counts the calls of Read.
}

// recorded has the inputs of a player in a tick.
type recorded struct {
	types uint8
	rows  []uint32 // A row of all types.
	at    int      // The Read that set it last; below 0: the chunk has no row yet.
}

func newRecorder(a *queues, s *netcode.Server) *recorder {
	bits := 0
	for _, plan := range a.in.plans {
		bits += plan.Bits()
	}
	return &recorder{
		server: s, all: a, room: make([]byte, bits/8+1+8),
		told: map[netcode.ClientID]*recorded{}, played: map[netcode.ClientID]*recorded{},
	}
}

// record returns the input part of recordings.
func (r *recorder) record() *extend.ServerRecord {
	return &extend.ServerRecord{Name: "input", Write: r.appendTick, Read: r.read, Stop: func() { r.on, r.gone = false, r.gone[:0] }}
}

// closed records the inputs of a client that closes in a frame with a simulated tick.
func (r *recorder) closed(c extend.Session) {
	delete(r.told, c.ID()) // Forget the last row, so that the player is written whole: a chunk may begin with this tick.
	if r.on && r.server.TickDue() {
		r.gone = r.appendPlayer(r.gone, c)
		delete(r.told, c.ID())
	}
	r.open = slices.DeleteFunc(r.open, func(one extend.Session) bool { return one == c })
}

// appendTick implements extend.ServerRecord.Write.
func (r *recorder) appendTick(dst []byte, whole bool) []byte {
	if whole {
		for _, p := range r.told {
			p.at = -1
		}
	}
	r.on = true
	dst = wire.AppendVarint(dst, uint64(min(r.server.Steps(), reach)))
	dst = append(dst, r.gone...)
	r.gone = r.gone[:0]
	for _, c := range r.open {
		dst = r.appendPlayer(dst, c)
	}
	return dst
}

// appendPlayer appends the inputs of a player in the ticks of the frame.
func (r *recorder) appendPlayer(dst []byte, c extend.Session) []byte {
	q, told := ofSession(c), r.told[c.ID()]
	dst = wire.AppendVarint(dst, uint64(c.ID()))
	now := r.server.Tick()
	for at := now - tick.Tick(min(r.server.Steps(), reach)) + 1; at <= now; at++ {
		flags, types := byte(0), uint8(0)
		if q.window.Holds(at) && !q.repeated[at%slots] {
			flags |= recordedHere
		}
		shown, ok := c.Presented(at)
		if c.Local() && !c.Recorded() {
			shown = (now - tick.Tick(r.server.Steps())).Begin() // The newest capture at the time of the host's step.
		}
		if ok {
			flags |= recordedShown
		}
		if told == nil {
			told = &recorded{rows: make([]uint32, r.all.in.lanes), at: -1}
			r.told[c.ID()] = told
		}
		if told.at >= 0 {
			flags |= recordedSame
		}
		told.at = 0
		for n := range r.all.in.plans {
			lanes, old := q.input(n, at, at), r.all.in.of(told.rows, n)
			if lanes == nil {
				continue
			}
			types |= 1 << n
			if told.types>>n&1 == 0 || !slices.Equal(lanes, old) {
				flags &^= recordedSame
				copy(old, lanes)
			}
		}
		if types != told.types {
			flags &^= recordedSame
			told.types = types
		}
		dst = append(dst, flags)
		if ok {
			back := min(max(at.Begin().Sub(shown), 0), mostBack) // Session.Presented may return any moment, for a silent client or from another extension.
			dst = wire.AppendVarint(dst, uint64(back)<<1)
		}
		if flags&recordedSame != 0 {
			continue
		}
		dst = append(dst, types)
		w := wire.NewBitWriter(r.room)
		for n, plan := range r.all.in.plans {
			if types>>n&1 != 0 {
				plan.WriteRow(&w, r.all.in.of(told.rows, n))
			}
		}
		dst = append(dst, r.room[:w.Finish()]...)
	}
	return dst
}

// read implements extend.ServerRecord.Read.
func (r *recorder) read(body []byte, whole bool) bool {
	if whole {
		clear(r.played)
	}
	r.at++
	steps, n, err := wire.ReadVarint(body)
	if err != nil || steps < 1 || steps > reach {
		return false
	}
	for body = body[n:]; len(body) > 0; {
		id, n, err := wire.ReadVarint(body)
		client := netcode.ClientID(id)
		if err != nil || id == 0 || uint64(client) != id {
			return false
		}
		body = body[n:]
		p := r.played[client]
		if p == nil {
			if len(r.played) == wire.MaxClients {
				return false
			}
			p = &recorded{rows: make([]uint32, r.all.in.lanes), at: -1}
			r.played[client] = p
		}
		for i := range steps {
			var ok bool
			if body, ok = r.readTick(body, client, p, r.server.Tick()-tick.Tick(steps-1-i)); !ok {
				return false
			}
		}
		p.at = r.at
	}
	for client, p := range r.played {
		if p.at != r.at {
			delete(r.played, client)
		}
	}
	return true
}

// readTick reads the inputs of a player in a tick and returns the remaining bytes.
func (r *recorder) readTick(body []byte, client netcode.ClientID, p *recorded, at tick.Tick) (rest []byte, ok bool) {
	if len(body) == 0 || body[0] > recordedHere|recordedShown|recordedSame || body[0]&recordedSame != 0 && p.at < 0 {
		return nil, false
	}
	flags := body[0]
	body = body[1:]
	shown := tick.Time{}
	if flags&recordedShown != 0 {
		v, n, err := wire.ReadVarint(body)
		if err != nil || v&1 != 0 || v>>1 > uint64(mostBack) {
			return nil, false // No client can send such a moment.
		}
		shown, body = at.Begin().Add(-tick.Span(v>>1)), body[n:]
	}
	if flags&recordedSame == 0 {
		if len(body) == 0 || body[0]>>len(r.all.in.plans) != 0 {
			return nil, false
		}
		p.types = body[0]
		b := wire.NewBitReader(body[1:])
		for n, plan := range r.all.in.plans {
			if p.types>>n&1 != 0 && !plan.ReadRow(&b, r.all.in.of(p.rows, n)) {
				return nil, false
			}
		}
		if b.Read(uint(b.Remaining()%8)) != 0 || b.Failed() {
			return nil, false
		}
		body = body[len(body)-b.Remaining()/8:]
	}
	p.at = r.at
	if c := extend.OfServer(r.server).Session(client); c != nil && c.Recorded() {
		p.replay(ofSession(c), at, flags&recordedHere != 0, shown)
	}
	return body, true
}

// replay puts recorded inputs into the queue of a player. here is false if an earlier input stood in.
func (p *recorded) replay(q *queue, at tick.Tick, here bool, shown tick.Time) {
	slot := at % slots
	q.window.Judge(at, at-1)
	if p.types == 0 {
		clear(q.types) // No earlier input stands in.
	}
	for n := range q.in.plans {
		copy(q.row(n, at), q.in.of(p.rows, n))
	}
	q.types[slot], q.moments[slot], q.repeated[slot] = p.types, shown, !here
	q.newest = max(q.newest, at)
}

// Recorded returns a recorded player's input of the tick that a playback shows, on the server that plays it (record.Play
// of a recording with record.Inputs). client is the id that the player had. ok is false without an input of T in this
// tick.
func Recorded[T any](s *netcode.Server, client netcode.ClientID) (v T, ok bool) {
	a := queuesOf(s)
	if a == nil {
		return v, false
	}
	n, p := a.in.number(reflect.TypeFor[T]()), a.recorder.played[client]
	if n < 0 || p == nil || p.types>>n&1 == 0 {
		return v, false
	}
	a.in.plans[n].Dequantise(a.in.of(p.rows, n), reflect.ValueOf(&v).UnsafePointer())
	return v, true
}
