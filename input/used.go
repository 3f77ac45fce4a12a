package input

import (
	"errors"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The server tells a client which inputs it used where they are not those of the client: one came too late, and an earlier one
// stood in, or a press of an earlier tick came with it. A client that predicts replays these ticks with what the server used.
// [TellUsed] turns it on. A section, from the server to a client:
//
//	 0      1 …
//	+-------+-------------------------------------------------------------+
//	| count | for each tick: tick, types, and the row of each type set    |
//	+-------+-------------------------------------------------------------+
//
//	count  8 bits, 1 to 16; what follows is one bit string, least significant bit first, with zeros up to the byte
//	tick   16 bits, the low bits of the tick that was simulated
//	types  8 bits; bit n: there was an input of type n, in the order of wire names; 0: there was none at all
//	rows   quantize.Plan.WriteRow

const (
	// usedAtMost is the most ticks in a section.
	usedAtMost = 16
	// usedSent is the number of packets whose sections are remembered until they are acknowledged.
	usedSent = 64
)

// errUsed is the error of a section that is not legal.
var errUsed = errors.New("inputs that were used are not legal")

// TellUsed makes servers of the protocol tell each client the inputs that they used in place of its own. Package predict calls it.
// It panics on a frozen protocol.
func TellUsed(p *netcode.Protocol) {
	in := typesOf(p)
	if in.tells {
		return
	}
	in.tells = true
	p.Extend(netcode.Extension{Name: "used inputs", ToClient: netcode.FreeSection, Server: usedEnds{in}, Client: usedEnds{in}})
}

// usedEnds makes the hooks of both ends.
type usedEnds struct{ in *types }

// usedInputs is the inputs of the last ticks that were not as the client set them.
type usedInputs struct {
	in     *types
	news   uint64    // Bit n: the client is not known to have the row at n.
	opened tick.Tick // The first tick that was simulated in the session.
	told   bool      // A packet of this network tick has the section.

	ticks [reach]tick.Tick // By tick modulo reach, where there is something to tell. At a server it is good where news has the bit.
	types [reach]uint8
	rows  []uint32 // By tick modulo reach, then of all types.
	sent  [usedSent]sentUsed
}

// sentUsed is the content of a packet.
type sentUsed struct {
	packet uint64
	upTo   tick.Tick
	rows   uint64 // Bits as of news.
}

func newUsedInputs(in *types) *usedInputs {
	return &usedInputs{in: in, rows: make([]uint32, in.lanes*reach)}
}

// row is the lanes of all types of a tick.
func (u *usedInputs) row(at tick.Tick) []uint32 {
	from := int(at%reach) * u.in.lanes
	return u.rows[from : from+u.in.lanes]
}

// Server implements netcode.ServerSide.
func (e usedEnds) Server(s *netcode.Server) netcode.ServerHooks {
	of := func(c *netcode.Session) *usedInputs {
		u, _ := netcode.ExtensionOf[*usedInputs](c)
		return u
	}
	// telling has a bit for each client, by its id modulo 64, who may have something to be told: the state of all others is in no near cache, and
	// is not looked at for each packet.
	telling := uint64(0)
	tells := func(c *netcode.Session) bool { return telling>>(c.ID()%64)&1 != 0 }
	return netcode.ServerHooks{
		Opened: func(*netcode.Session) any { return newUsedInputs(e.in) },
		BeforeSend: func() {
			if !s.TickDue() {
				return
			}
			telling = 0
			for client := range s.Clients {
				c := s.Session(client)
				if q, u := ofSession(c), of(c); q != nil && u != nil && !c.Local() {
					if u.note(q, s.Tick(), s.Steps()); u.news != 0 {
						telling |= 1 << (client % 64)
					}
				}
			}
		},
		Section: &netcode.ServerSection{
			Due: func(c *netcode.Session, _ bool) bool { return tells(c) && of(c).news != 0 && !of(c).told },
			Write: func(c *netcode.Session, room []byte, packet uint64) int {
				if !tells(c) {
					return 0
				}
				return of(c).write(room, packet)
			},
			Acked: func(c *netcode.Session, packet uint64) {
				if tells(c) {
					of(c).acked(packet)
				}
			},
		},
	}
}

// note keeps the inputs of the ticks that were simulated in this frame, where they are not those of the client.
func (u *usedInputs) note(q *queue, now tick.Tick, steps int) {
	u.told = false
	if u.opened == tick.None {
		u.opened = now
	}
	for at := now - tick.Tick(steps) + 1; at <= now; at++ {
		n := at % reach
		u.news &^= 1 << n
		silent := q.newest == tick.None && at-u.opened >= reach // Its player does nothing.
		if at <= tick.None || silent || q.window.Holds(at) && !q.lateEventsIn(at) {
			continue
		}
		u.ticks[n], u.types[n], u.news = at, 0, u.news|1<<n
		for number := range q.in.plans {
			if lanes := q.input(number, at, at); lanes != nil {
				u.types[n] |= 1 << number
				copy(u.in.of(u.row(at), number), lanes)
			}
		}
	}
}

// lateEventsIn reports whether a tick has events of an earlier one.
func (q *queue) lateEventsIn(at tick.Tick) bool {
	if q.late.tick != at {
		return false
	}
	for _, lane := range q.late.rows {
		if lane != 0 {
			return true
		}
	}
	return false
}

// write writes as many ticks as fit into the first packet of a network tick, the newest first.
func (u *usedInputs) write(room []byte, packet uint64) int {
	if u.news == 0 || u.told || len(room) < 2 {
		return 0
	}
	s, count := sentUsed{packet: packet}, 0
	w := wire.NewBitWriter(room[1:])
	for at := u.newest(); at > tick.None && count < usedAtMost; at = u.before(at) {
		mark := w
		if u.writeTick(&w, at); w.Overflowed() || w.Bits() > 8*len(room[1:]) {
			w = mark
			break
		}
		s.rows, s.upTo = s.rows|1<<(at%reach), max(s.upTo, at)
		count++
	}
	if count == 0 {
		return 0
	}
	room[0] = byte(count)
	u.sent[packet%usedSent], u.told = s, true
	return 1 + w.Finish()
}

// newest is the newest tick to tell, None if there is none.
func (u *usedInputs) newest() (newest tick.Tick) {
	for n, at := range u.ticks {
		if u.news>>n&1 != 0 {
			newest = max(newest, at)
		}
	}
	return newest
}

// before is the newest tick to tell before another one.
func (u *usedInputs) before(at tick.Tick) tick.Tick {
	for t := at - 1; t > at-reach && t > tick.None; t-- {
		if n := t % reach; u.news>>n&1 != 0 && u.ticks[n] == t {
			return t
		}
	}
	return tick.None
}

// writeTick writes one tick.
func (u *usedInputs) writeTick(w *wire.BitWriter, at tick.Tick) {
	types := u.types[at%reach]
	w.Write(uint64(at.Low()), 16)
	w.Write(uint64(types), 8)
	for n, plan := range u.in.plans {
		if types>>n&1 != 0 {
			plan.WriteRow(w, u.in.of(u.row(at), n))
		}
	}
}

// acked notes that the client has a packet.
func (u *usedInputs) acked(packet uint64) {
	s := &u.sent[packet%usedSent]
	if s.packet != packet {
		return
	}
	for n, at := range u.ticks {
		if s.rows>>n&1 != 0 && at <= s.upTo {
			u.news &^= 1 << n
		}
	}
	s.rows = 0
}

// playerInputs is a client's state: the inputs that the server used in place of its own.
type playerInputs struct {
	usedInputs
	since tick.Tick // The oldest tick that was told since the last call of Corrected; None: none.
}

// Client implements netcode.ClientSide.
func (e usedEnds) Client(c *netcode.Client) netcode.ClientHooks {
	in := e.in
	p := &playerInputs{usedInputs: usedInputs{in: in, rows: make([]uint32, in.lanes*reach)}}
	scratch := make([]uint32, in.lanes)
	return netcode.ClientHooks{
		State:  p,
		Opened: func() { p.ticks, p.since = [reach]tick.Tick{}, tick.None },
		Section: &netcode.ClientSection{
			Check: func(payload []byte) error {
				return readUsed(in, payload, scratch, func(uint16, uint8, []uint32) {})
			},
			Take: func(payload []byte) {
				_ = readUsed(in, payload, scratch, func(low uint16, types uint8, rows []uint32) {
					p.take(tailOf(c), tick.Near(low, c.Time().Tick), c.Time().Tick, types, rows)
				})
			},
		},
	}
}

// take keeps what the server used in a tick, if the client used something else. It did not where it was told before, and where the input that stood in
// is the same: a stick that is held.
func (p *playerInputs) take(t *tail, at, now tick.Tick, types uint8, rows []uint32) {
	if at <= tick.None || at > now || at <= now-reach {
		return
	}
	differs := false
	for n := range p.in.plans {
		used, told := t.used(p, n, at), p.in.of(rows, n)
		differs = differs || (used != nil) != (types>>n&1 != 0) || used != nil && !slices.Equal(used, told)
	}
	if !differs {
		return
	}
	p.ticks[at%reach], p.types[at%reach] = at, types
	copy(p.row(at), rows)
	if p.since == tick.None || at < p.since {
		p.since = at
	}
}

// readUsed reads a section. The rows are good during the call; those of a type that is not there are 0.
func readUsed(in *types, payload []byte, scratch []uint32, each func(low uint16, types uint8, rows []uint32)) error {
	if len(payload) < 2 || payload[0] == 0 || payload[0] > usedAtMost {
		return errUsed
	}
	r := wire.NewBitReader(payload[1:])
	for range payload[0] {
		low, types := uint16(r.Read(16)), uint8(r.Read(8))
		if types>>len(in.plans) != 0 {
			return errUsed
		}
		clear(scratch)
		for n, plan := range in.plans {
			if types>>n&1 != 0 && !plan.ReadRow(&r, in.of(scratch, n)) {
				return errUsed
			}
		}
		if r.Failed() {
			return errUsed
		}
		each(low, types, scratch)
	}
	if !r.Done() {
		return errUsed
	}
	return nil
}

// Own returns the input of the client's own player in a tick, for a game that predicts: the input with which the server simulates the
// tick. It is the last one of Set before the tick began, or the one that the server says it used. The call fixes the inputs of ticks up
// to now: a later Set in the frame is for later ticks. ok is false if the tick's input is not known, as more than 63 ticks back, and if
// T is no input; OnError is told of that once. It allocates nothing.
func Own[T any](c *netcode.Client, at netcode.Tick) (v T, ok bool) {
	t, n := tailOf(c), -1
	if t != nil {
		n = t.in.number(reflect.TypeFor[T]())
	}
	if n < 0 {
		netcode.Misused(c, "input.Own", reflect.TypeFor[T](), ErrNotRegistered)
		return v, false
	}
	lanes := t.own(c, n, at)
	if lanes == nil {
		return v, false
	}
	t.in.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// own is the lanes of Own, nil if nothing is known.
func (t *tail) own(c *netcode.Client, n int, at tick.Tick) []uint32 {
	if t.set != 0 && c.State() == netcode.Connected {
		t.settles = true
		t.note(c.Time().Tick, c.Present())
	}
	p, _ := netcode.ExtensionOf[*playerInputs](c)
	return t.used(p, n, at)
}

// used is the lanes of one type with which a tick is simulated here, nil if nothing is known. p may be nil.
func (t *tail) used(p *playerInputs, n int, at tick.Tick) []uint32 {
	if p != nil && at > tick.None && p.ticks[at%reach] == at {
		if p.types[at%reach]>>n&1 == 0 {
			return nil
		}
		return t.in.of(p.row(at), n)
	}
	if at <= tick.None || t.noted[at%reach] != at || t.set>>n&1 == 0 {
		return nil
	}
	return t.row(n, at)
}

// Corrected returns the oldest tick whose input the server told to be another than the client's since the last call. False: none.
func Corrected(c *netcode.Client) (oldest netcode.Tick, ok bool) {
	p, has := netcode.ExtensionOf[*playerInputs](c)
	if !has || p.since == tick.None {
		return tick.None, false
	}
	oldest, p.since = p.since, tick.None
	return oldest, true
}
