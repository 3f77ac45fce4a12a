package input

import (
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A recording (record.Inputs) has the inputs of each player in each tick as the server used them. The part of a tick:
//
//	steps    varint, the ticks of the frame, 1 to 64; then for each player
//	client   varint, and for each of the ticks, the oldest first:
//	flags    u8: bit 0: its input was there; bit 1: the moment that the player saw is told; bit 2: types and rows are those of the tick before
//	shown    varint, zigzag: how far that moment is before the tick, in tick.Span; 0 to 0xFFFE/64 ticks
//	types    u8: bit n: there is an input of type n, in the order of wire names; 0: none stands for the tick
//	rows     quantize.Plan.WriteRow of each type set, with zeros up to the byte
const (
	recordedHere  = 1
	recordedShown = 2
	recordedSame  = 4
)

// mostBack bounds how far the moment that a player saw lies before its tick in a recording: as far as a client can tell.
const mostBack = behindMost * (tick.OneTick / behindUnit)

// recorder writes and reads the inputs of a server's players.
type recorder struct {
	server *netcode.Server
	all    *queues
	open   []*netcode.Session
	on     bool                           // Write was called: a client that ends may be recorded.
	gone   []byte                         // Players that ended in this frame.
	told   map[netcode.ClientID]*recorded // As written last,
	played map[netcode.ClientID]*recorded // or as read last.
	room   []byte
	at     int // Counts Read.
}

// recorded is the inputs of a player in a tick.
type recorded struct {
	types uint8
	rows  []uint32 // Of all types.
	at    int      // The Read that told of it; below 0: the chunk has nothing of it.
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

// record returns the part of recordings.
func (r *recorder) record() *netcode.ServerRecord {
	return &netcode.ServerRecord{Name: "input", Write: r.appendTick, Read: r.read, Stop: func() { r.on, r.gone = false, r.gone[:0] }}
}

// closed keeps the inputs of a client that ends in a frame whose tick was simulated.
func (r *recorder) closed(c *netcode.Session) {
	delete(r.told, c.ID()) // It is told whole: a chunk may begin with this tick.
	if r.on && r.server.TickDue() {
		r.gone = r.appendPlayer(r.gone, c)
		delete(r.told, c.ID())
	}
	r.open = slices.DeleteFunc(r.open, func(one *netcode.Session) bool { return one == c })
}

// appendTick implements netcode.ServerRecord.Write.
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
func (r *recorder) appendPlayer(dst []byte, c *netcode.Session) []byte {
	q, told := ofSession(c), r.told[c.ID()]
	dst = wire.AppendVarint(dst, uint64(c.ID()))
	now := r.server.Tick()
	for at := now - tick.Tick(min(r.server.Steps(), reach)) + 1; at <= now; at++ {
		flags, types := byte(0), uint8(0)
		if q.window.Holds(at) && !q.stood[at%slots] {
			flags |= recordedHere
		}
		shown, ok := c.Presented(at)
		if c.Local() && !c.Recorded() {
			shown = (now - tick.Tick(r.server.Steps())).Begin() // When its game asked, this was the newest capture.
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
			back := min(max(at.Begin().Sub(shown), 0), mostBack) // Session.Presented may tell any moment: of a client that is silent, or of another extension.
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

// read implements netcode.ServerRecord.Read.
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
			if len(r.played) == netcode.MaxClients {
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

// readTick reads the inputs of a player in a tick, and returns the rest.
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
			return nil, false // No client tells of such a moment.
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
	if c := r.server.Session(client); c != nil && c.Recorded() {
		p.replay(ofSession(c), at, flags&recordedHere != 0, shown)
	}
	return body, true
}

// replay makes recorded inputs those of a tick in a queue. here is false where earlier ones stood in.
func (p *recorded) replay(q *queue, at tick.Tick, here bool, shown tick.Time) {
	slot := at % slots
	q.window.Judge(at, at-1)
	if p.types == 0 {
		clear(q.types) // None stands in any more.
	}
	for n := range q.in.plans {
		copy(q.row(n, at), q.in.of(p.rows, n))
	}
	q.types[slot], q.shown[slot], q.stood[slot] = p.types, shown, !here
	q.newest = max(q.newest, at)
}

// Recorded returns the input of a recorded player in the tick that a playback shows (record.Play of a recording with record.Inputs), on the
// server that plays it. client is the id that the player had. It is false if the recording has no input of T for the player in this tick.
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
