package predict

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// Effect is a sound, a flash or a particle that a step plays.
type Effect struct {
	Kind   uint16       // The game's own number of the kind of effect.
	Entity ecs.Entity   // The place of the effect; the zero entity: no place.
	Value  uint64       // Data of the game.
	Tick   netcode.Tick // The tick whose step plays it.
	Age    netcode.Tick // The number of ticks since its tick, if only a replay has it; 0: it plays at once.
}

// effects stores the effects of the last ticks.
type effects struct {
	played  [Window][]Effect // By tick modulo Window.
	ticks   [Window]netcode.Tick
	before  []Effect // The effects of the earlier run of the present tick.
	matched []bool
	tick    netcode.Tick
	first   bool
	play    []func(Effect)
	cancel  []func(Effect)
	newest  netcode.Tick
	calls   []Effect // Effects to play at the end of the step.
}

// OnEffect adds a function that plays an effect. It is called once for each effect, at the end of the step, and not again
// in replays.
func (s *Simulation) OnEffect(f func(Effect)) { s.effects.play = append(s.effects.play, f) }

// OnCancel adds a function that is called for an effect that was played, if the replay of its tick does not have it. An
// example is the muzzle flash of a shot that was corrected away.
func (s *Simulation) OnCancel(f func(Effect)) { s.effects.cancel = append(s.effects.cancel, f) }

// Effect plays an effect in this tick. A replay matches its effects with the played ones by kind and entity.
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

// begin prepares the effects of a step.
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

// wasPlayed reports whether an earlier run of the tick has played an effect, and marks the played one as matched.
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
			f.callHooks(s, "OnCancel", f.cancel, e)
		}
	}
	for _, e := range f.calls {
		f.callHooks(s, "OnEffect", f.play, e)
	}
	f.calls = f.calls[:0]
}

// callHooks calls functions of the game with an effect.
func (f *effects) callHooks(s *Simulation, hook string, to []func(Effect), e Effect) {
	for _, call := range to {
		if s.server != nil {
			s.server.end.Contain(hook, func() { call(e) })
		} else {
			s.client.end.Contain(hook, func() { call(e) })
		}
	}
}
