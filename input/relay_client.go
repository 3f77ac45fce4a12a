package input

import (
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

// RelayStats counts the inputs of other players that arrived at a client.
type RelayStats struct {
	Packets   uint64 // Packets with inputs of other players.
	Taken     uint64 // Accepted inputs of single ticks: new ticks, and ticks whose input the server changed.
	Guessed   uint64 // Accepted inputs that came after their tick was due here and that differ from their guess.
	OutOfTime uint64 // Ignored inputs of ticks 192 or more before the client's tick, or 64 or more after it.
	Forgotten uint64 // Players that were dropped because there were more than 256.
}

// RelayStatsOf returns a copy of the counters of a client.
func RelayStatsOf(c *netcode.Client) RelayStats {
	if r, ok := extend.ExtensionOf[*relayedPlayers](c); ok {
		return r.stats
	}
	return RelayStats{}
}

// relayedPlayers is a client's state: the inputs of other players.
type relayedPlayers struct {
	in      *types
	players map[netcode.ClientID]*relayedPlayer
	free    []*relayedPlayer
	stats   RelayStats
	since   tick.Tick // The oldest tick whose input differed from its guess since the last call of Guessed; None: no tick.
	scratch []uint32
	run     []uint32 // The rows of the section that is read.
	decay   [maxTypes]func(lanes []uint32, age int)
}

// relayedPlayer has the inputs of another player, by tick modulo Window.
type relayedPlayer struct {
	ticks  [Window]tick.Tick
	types  [Window]uint8
	rows   []uint32
	newest tick.Tick
}

// newRelayedPlayers makes the state of a client.
func newRelayedPlayers(in *types) *relayedPlayers {
	r := &relayedPlayers{
		in: in, players: map[netcode.ClientID]*relayedPlayer{}, scratch: make([]uint32, in.lanes), run: make([]uint32, in.lanes*(relayReach+relayAhead)),
	}
	for _, d := range in.relays.decays {
		n := in.number(d.of)
		r.decay[n] = d.make(in.plans[n])
	}
	return r
}

// Client implements extend.ClientSide.
func (e relayEnds) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	in := e.in
	r := newRelayedPlayers(in)
	return extend.ClientHooks{
		State:  r,
		Opened: r.restart,
		Section: &extend.ClientSection{
			Check: func(payload []byte) error { return readRelayed(in, payload, r.run, func(uint16, relayedRun) {}) },
			Take:  func(_ uint64, payload []byte) { r.take(payload, c.Time().Tick) },
		},
	}
}

// restart begins a connection.
func (r *relayedPlayers) restart() {
	for id := range r.players {
		r.forget(id)
	}
	r.since = tick.None
}

// take stores the inputs of a section.
func (r *relayedPlayers) take(payload []byte, now tick.Tick) {
	r.stats.Packets++
	_ = readRelayed(r.in, payload, r.run, func(low uint16, run relayedRun) {
		p := r.player(run.client)
		newest := tick.Near(low, now) + tick.Tick(run.newest)
		for i := range run.ticks {
			at := newest - tick.Tick(run.ticks-1-i)
			if at <= tick.None || at <= now-Window || at >= now+reach {
				r.stats.OutOfTime++
				continue
			}
			r.keep(p, at, now, run.types, r.run[i*r.in.lanes:(i+1)*r.in.lanes])
		}
	})
}

// keep stores a player's input of a tick.
func (r *relayedPlayers) keep(p *relayedPlayer, at, now tick.Tick, types uint8, rows []uint32) {
	asGuessed := true
	for n := range r.in.plans {
		if r.in.relays.types>>n&1 != 0 {
			guess := r.of(p, n, at)
			asGuessed = asGuessed && (guess != nil) == (types>>n&1 != 0) && (guess == nil || slices.Equal(guess, r.in.of(rows, n)))
		}
	}
	slot := at % Window
	if p.ticks[slot] == at && asGuessed {
		return // The input was sent before.
	}
	r.stats.Taken++
	p.ticks[slot], p.types[slot], p.newest = at, types, max(p.newest, at)
	copy(p.rows[int(slot)*r.in.lanes:], rows)
	if at <= now && !asGuessed {
		r.stats.Guessed++
		if r.since == tick.None || at < r.since {
			r.since = at
		}
	}
}

// player returns the inputs of a player. It makes them if necessary; at the limit it drops the player with the oldest
// newest tick.
func (r *relayedPlayers) player(id netcode.ClientID) *relayedPlayer {
	if p := r.players[id]; p != nil {
		return p
	}
	if len(r.players) == relayPlayers {
		var oldest netcode.ClientID
		for id, p := range r.players {
			if o := r.players[oldest]; o == nil || p.newest < o.newest || p.newest == o.newest && id < oldest {
				oldest = id
			}
		}
		r.forget(oldest)
		r.stats.Forgotten++
	}
	var p *relayedPlayer
	if n := len(r.free); n > 0 {
		p, r.free = r.free[n-1], r.free[:n-1]
	} else {
		p = &relayedPlayer{rows: make([]uint32, Window*r.in.lanes)}
	}
	r.players[id] = p
	return p
}

// forget drops a player.
func (r *relayedPlayers) forget(id netcode.ClientID) {
	p := r.players[id]
	p.ticks, p.newest = [Window]tick.Tick{}, tick.None
	r.free = append(r.free, p)
	delete(r.players, id)
}

// of returns a player's input of one type in a tick: the received input, or a guess from the newest input before it. It
// is nil without either. The lanes are valid until the next call.
func (r *relayedPlayers) of(p *relayedPlayer, n int, at tick.Tick) []uint32 {
	for t := at; t > at-reach && t > tick.None; t-- {
		slot := t % Window
		if p.ticks[slot] != t {
			continue
		}
		if p.types[slot]>>n&1 == 0 {
			return nil
		}
		lanes := r.in.of(p.rows[int(slot)*r.in.lanes:], n)
		if t == at {
			return lanes
		}
		guess := r.in.of(r.scratch, n)
		copy(guess, lanes)
		r.in.plans[n].ClearEvents(guess)
		if f := r.decay[n]; f != nil {
			f(guess, int(at-t))
		}
		return guess
	}
	return nil
}

// Relayed returns the input of another player in a tick, as the server relayed it: see Relay. For an input that did not
// arrive yet, the newest earlier input stands in for at most 63 ticks, without its events: see Decay. ok is false without
// an input, and if T is not relayed. It allocates nothing.
func Relayed[T any](c *netcode.Client, player netcode.ClientID, at netcode.Tick) (v T, ok bool) {
	r, has := extend.ExtensionOf[*relayedPlayers](c)
	if !has || r.players[player] == nil {
		return v, false
	}
	n := r.in.number(reflect.TypeFor[T]())
	if n < 0 || r.in.relays.types>>n&1 == 0 {
		return v, false
	}
	lanes := r.of(r.players[player], n, at)
	if lanes == nil {
		return v, false
	}
	r.in.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
	return v, true
}

// Guessed returns the oldest tick in which an input of another player differed from the guess of Relayed, since the last
// call. ok is false without such a tick.
func Guessed(c *netcode.Client) (oldest netcode.Tick, ok bool) {
	r, has := extend.ExtensionOf[*relayedPlayers](c)
	if !has || r.since == tick.None {
		return tick.None, false
	}
	oldest, r.since = r.since, tick.None
	return oldest, true
}
