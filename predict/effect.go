package predict

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// Effect is a sound, a flash or a particle that a step plays.
type Effect struct {
	Kind   uint16       // The game's own number for it.
	Entity ecs.Entity   // Where it plays; the zero entity: nowhere.
	Value  uint64       // The game's.
	Tick   netcode.Tick // That plays it.
	Age    netcode.Tick // Ticks that went by since, when only a corrected replay made it; 0: it plays at once.
}

// effects is the effects of the last ticks.
type effects struct {
	played  [Window][]Effect // By tick modulo Window.
	ticks   [Window]netcode.Tick
	before  []Effect // Of the tick that is replayed, as it was played; Kind and Entity are matched.
	matched []bool
	tick    netcode.Tick
	first   bool
	play    []func(Effect)
	cancel  []func(Effect)
	newest  netcode.Tick
	calls   []Effect // To play, when the step is over.
}

// OnEffect adds a function that plays an effect: once for each that a step makes, and not again in replays. It is called when the step
// is over.
func (s *Simulation) OnEffect(f func(Effect)) { s.effects.play = append(s.effects.play, f) }

// OnCancel adds a function that is called for an effect that was played, and that the corrected replay of its tick does not
// make: a muzzle flash of a shot that never was.
func (s *Simulation) OnCancel(f func(Effect)) { s.effects.cancel = append(s.effects.cancel, f) }

// Effect plays an effect in this tick. Effects of a replay are matched with those played by their kind and entity.
func (s *Step) Effect(kind uint16, e ecs.Entity, value uint64) {
	f := &s.simulation.effects
	at := &f.played[s.Tick%Window]
	made := Effect{Kind: kind, Entity: e, Value: value, Tick: s.Tick}
	*at = append(*at, made)
	if f.wasPlayed(made) {
		return
	}
	if !f.first {
		made.Age = f.newest - s.Tick
		s.simulation.stats.Late++
	}
	f.calls = append(f.calls, made)
}

// begin prepares for the effects of a step.
func (f *effects) begin(t netcode.Tick, first bool) {
	n := t % Window
	f.tick, f.first = t, first
	f.before, f.matched = f.before[:0], f.matched[:0]
	if f.ticks[n] == t {
		f.before = append(f.before, f.played[n]...)
	}
	for range f.before {
		f.matched = append(f.matched, false)
	}
	f.played[n], f.ticks[n] = f.played[n][:0], t
	f.newest = max(f.newest, t)
	if first {
		f.newest = t
	}
}

// wasPlayed finds an effect among those that were played, and takes it from there.
func (f *effects) wasPlayed(made Effect) bool {
	for i := range f.before {
		if !f.matched[i] && f.before[i].Kind == made.Kind && f.before[i].Entity == made.Entity {
			f.matched[i] = true
			return true
		}
	}
	return false
}

// end calls the functions of the game.
func (f *effects) end(s *Simulation) {
	for i, e := range f.before {
		if !f.matched[i] {
			s.stats.Cancelled++
			f.tell(s, "OnCancel", f.cancel, e)
		}
	}
	for _, e := range f.calls {
		f.tell(s, "OnEffect", f.play, e)
	}
	f.calls = f.calls[:0]
}

// tell calls functions of the game with an effect.
func (f *effects) tell(s *Simulation, hook string, to []func(Effect), e Effect) {
	for _, call := range to {
		if s.server != nil {
			s.server.end.Contain(hook, func() { call(e) })
		} else {
			s.client.end.Contain(hook, func() { call(e) })
		}
	}
}
