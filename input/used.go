package input

import (
	"errors"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The server reports to a client the inputs that it used in place of the client's. An input came too late and an earlier
// one stood in, or a tick had a late press of an earlier tick. A client that predicts replays these ticks with the used
// inputs. [TellUsed] enables it. The section, from the server to a client:
//
//	 0      1 …
//	+-------+-------------------------------------------------------------+
//	| count | for each tick: tick, types, and the row of each type set    |
//	+-------+-------------------------------------------------------------+
//
//	count  8 bits, 1 to 16; then follows one bit string, least significant bit first, with zeros up to the byte
//	tick   16 bits, the low bits of the simulated tick
//	types  8 bits; bit n: there was an input of type n, in the order of wire names; 0: no input
//	rows   quantize.Plan.WriteRow

const (
	// usedAtMost bounds the ticks in a section.
	usedAtMost = 16
	// usedSent is the number of sent packets whose sections are stored until they are acknowledged.
	usedSent = 64
)

// errUsed is the error of an illegal section.
var errUsed = errors.New("inputs that were used are not legal")

// TellUsed makes servers of the protocol report to each client the inputs that they used in place of its own. Package
// predict calls it. It panics on a frozen protocol.
func TellUsed(p *netcode.Protocol) {
	in := typesOf(p)
	if in.tells {
		return
	}
	in.tells = true
	extend.OfProtocol(p).Extend(extend.Extension{Name: "used inputs", ToClient: extend.FreeSection, Server: usedEnds{in}, Client: usedEnds{in}})
}

// usedEnds makes the hooks of both ends.
type usedEnds struct{ in *types }

// usedInputs has the inputs of the last ticks that differ from the client's own.
type usedInputs struct {
	in     *types
	news   uint64    // Bit n: the client has not acknowledged row n.
	opened tick.Tick // The first tick that was simulated in the session.
	told   bool      // A packet of this network tick has the section.

	ticks []tick.Tick // By tick modulo reach, at a client Window: the tick of a row. At a server only rows with a bit in news are valid.
	types []uint8
	rows  []uint32 // Likewise: a row of all types.
	sent  [usedSent]sentUsed
}

// sentUsed is the section of a sent packet.
type sentUsed struct {
	packet uint64
	upTo   tick.Tick
	rows   uint64 // Bits as in news.
}

func newUsedInputs(in *types, ticks int) *usedInputs {
	return &usedInputs{in: in, ticks: make([]tick.Tick, ticks), types: make([]uint8, ticks), rows: make([]uint32, in.lanes*ticks)}
}

// row returns the lanes of all types of a tick.
func (u *usedInputs) row(at tick.Tick) []uint32 {
	from := int(at) % len(u.ticks) * u.in.lanes
	return u.rows[from : from+u.in.lanes]
}

// Server implements extend.ServerSide.
func (e usedEnds) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	of := func(c extend.Session) *usedInputs {
		u, _ := extend.ExtensionOf[*usedInputs](c)
		return u
	}
	// telling has a bit for each client with unreported inputs, by its id modulo 64. The state of other clients is rarely
	// in a cache, and is not read for each packet.
	telling := uint64(0)
	tells := func(c extend.Session) bool { return telling>>(c.ID()%64)&1 != 0 }
	return extend.ServerHooks{
		Opened: func(extend.Session) any { return newUsedInputs(e.in, reach) },
		BeforeSend: func() {
			if !s.TickDue() {
				return
			}
			telling = 0
			for client := range s.Clients {
				c := extend.OfServer(s).Session(client)
				if q, u := ofSession(c), of(c); q != nil && u != nil && !c.Local() {
					if u.note(q, s.Tick(), s.Steps()); u.news != 0 {
						telling |= 1 << (client % 64)
					}
				}
			}
		},
		Section: &extend.ServerSection{
			Due: func(c extend.Session, _ bool) bool { return tells(c) && of(c).news != 0 && !of(c).told },
			Write: func(c extend.Session, room []byte, packet uint64) int {
				if !tells(c) {
					return 0
				}
				return of(c).writeBeside(room, packet, c.View().Pending())
			},
			Acked: func(c extend.Session, packet uint64) {
				if tells(c) {
					of(c).acked(packet)
				}
			},
		},
	}
}

// note stores the inputs of the ticks of this frame, where they differ from the client's.
func (u *usedInputs) note(q *queue, now tick.Tick, steps int) {
	u.told = false
	if u.opened == tick.None {
		u.opened = now
	}
	for at := now - tick.Tick(steps) + 1; at <= now; at++ {
		n := at % reach
		u.news &^= 1 << n
		silent := q.newest == tick.None && at-u.opened >= reach // The client has sent no input for reach ticks.
		if at <= tick.None || silent || q.window.Holds(at) && !q.lateEventsIn(at) {
			continue
		}
		u.store(q, at)
	}
	for _, at := range q.disputes {
		if n := at % reach; u.ticks[n] == at { // It was told before.
			u.news |= 1 << n
		} else if at > now-reach {
			u.store(q, at)
		}
	}
	q.disputes = q.disputes[:0]
}

// store stores the inputs of a tick that the client must be told.
func (u *usedInputs) store(q *queue, at tick.Tick) {
	n := at % reach
	u.ticks[n], u.types[n], u.news = at, 0, u.news|1<<n
	for number := range q.in.plans {
		if lanes := q.input(number, at, at); lanes != nil {
			u.types[n] |= 1 << number
			copy(u.in.of(u.row(at), number), lanes)
		}
	}
}

// lateEventsIn reports whether a tick has events of an earlier tick.
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

// writeBeside writes a section into half of the room if state waits, or into all of it if no tick fits so.
func (u *usedInputs) writeBeside(room []byte, packet uint64, stateWaits bool) int {
	if stateWaits {
		if n := u.write(room[:len(room)/2], packet); n > 0 {
			return n
		}
	}
	return u.write(room, packet)
}

// write writes as many ticks as fit into the first packet of a network tick, the newest first. It returns the length in
// bytes.
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

// newest returns the newest unreported tick, None without any.
func (u *usedInputs) newest() (newest tick.Tick) {
	for n, at := range u.ticks {
		if u.news>>n&1 != 0 {
			newest = max(newest, at)
		}
	}
	return newest
}

// before returns the newest unreported tick before another tick, None without any.
func (u *usedInputs) before(at tick.Tick) tick.Tick {
	for t := at - 1; t > at-reach && t > tick.None; t-- {
		if n := t % reach; u.news>>n&1 != 0 && u.ticks[n] == t {
			return t
		}
	}
	return tick.None
}

// writeTick writes the inputs of one tick.
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

// acked handles the ack of a packet.
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
	since tick.Tick // The oldest tick reported since the last call of Corrected; None: no tick.
}

// Client implements extend.ClientSide.
func (e usedEnds) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	in := e.in
	p := &playerInputs{usedInputs: *newUsedInputs(in, Window)}
	scratch := make([]uint32, in.lanes)
	return extend.ClientHooks{
		State: p,
		Opened: func() {
			p.since = tick.None
			clear(p.ticks)
		},
		Section: &extend.ClientSection{
			Check: func(payload []byte) error {
				return readUsed(in, payload, scratch, func(uint16, uint8, []uint32) {})
			},
			Take: func(_ uint64, payload []byte) {
				_ = readUsed(in, payload, scratch, func(low uint16, types uint8, rows []uint32) {
					p.take(tick.Near(low, c.Time().Tick), c.Time().Tick, types, rows)
				})
			},
		},
	}
}

// take stores the input that the server used in a tick. It ignores a report that is known already.
func (p *playerInputs) take(at, now tick.Tick, types uint8, rows []uint32) {
	if at <= tick.None || at > now || at <= now-Window {
		return
	}
	if p.ticks[at%Window] == at && p.types[at%Window] == types && slices.Equal(p.row(at), rows) {
		return
	}
	p.ticks[at%Window], p.types[at%Window] = at, types
	copy(p.row(at), rows)
	if p.since == tick.None || at < p.since {
		p.since = at
	}
}

// readUsed decodes a section and calls each for every tick. The rows are valid during the call. Rows of missing types are
// 0.
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

// Own returns the input of the client's own player in a tick, for a game that predicts. It is the last Set before the
// tick began, or the input that the server reported as used. The call fixes the inputs of ticks up to now: a later Set in
// the frame counts for later ticks.
//
// ok is false for an unknown input, such as one of more than 191 ticks ago. It is also false if T is not an input; OnError
// gets that once. Own allocates nothing.
func Own[T any](c *netcode.Client, at netcode.Tick) (v T, ok bool) {
	t, n := bufferOf(c), -1
	if t != nil {
		n = t.in.number(reflect.TypeFor[T]())
	}
	if n < 0 {
		extend.Misused(c, "input.Own", reflect.TypeFor[T](), ErrNotRegistered)
		return v, false
	}
	lanes := t.simulatedRow(c, n, at)
	if lanes == nil {
		return v, false
	}
	t.in.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// simulatedRow returns the lanes for Own, nil without a known input.
func (t *inputBuffer) simulatedRow(c *netcode.Client, n int, at tick.Tick) []uint32 {
	if t.set != 0 && c.State() == netcode.Connected {
		t.record(c.Time().Tick, c.Present())
	}
	if p, ok := extend.ExtensionOf[*playerInputs](c); ok && at > tick.None && p.ticks[at%Window] == at {
		if p.types[at%Window]>>n&1 == 0 {
			return nil
		}
		return t.in.of(p.row(at), n)
	}
	if at <= tick.None || t.ticks[at%Window] != at || t.set>>n&1 == 0 {
		return nil
	}
	return t.row(n, at)
}

// Corrected returns the oldest tick whose input the server corrected since the last call. ok is false without such a
// tick.
func Corrected(c *netcode.Client) (oldest netcode.Tick, ok bool) {
	p, has := extend.ExtensionOf[*playerInputs](c)
	if !has || p.since == tick.None {
		return tick.None, false
	}
	oldest, p.since = p.since, tick.None
	return oldest, true
}
