package predict

import (
	"slices"

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
	made     byTick[madeEffect]   // The last Window ticks.
	ordinals map[effectName]uint8 // By kind and name: the newest ordinal of the present step.
	before   []madeEffect         // The effects of the earlier run of the present tick.
	matched  []bool
	next     int // The place in before after the newest match: a replay has mostly the same order.
	first    bool
	play     []func(Effect)
	cancel   []func(Effect)
	newest   netcode.Tick
	calls    []Effect // Effects to play at the end of the step.

	claims byTick[claim] // At a client with OnCancel: the effects that it played in the last claimTicks.
	unsent []claimed     // Those that the server does not know yet, the first played first.
	flight int           // Those that it was sent and has not judged, or not told so. At most claimsAtMost.
}

// effectName identifies an effect of a step at both ends, but for its ordinal.
type effectName struct {
	kind uint16
	name uint64 // The name of its entity; 0: none that both ends know.
}

// madeEffect is an effect of a step. Both ends know it by its kind, name and ordinal.
type madeEffect struct {
	Effect
	name    uint64 // See effectName.
	ordinal uint8  // It is the n-th of its kind and name in the step, from 1.
}

// OnEffect adds a function that plays an effect. It is called once for each effect, at the end of the step, and not again
// in replays.
func (s *Simulation) OnEffect(f func(Effect)) { s.effects.play = append(s.effects.play, f) }

// OnCancel adds a function that is called for an effect that was played here and that the server did not make in its tick.
// An example is the muzzle flash of a shot that was corrected away. The client learns it from a replay that does not have
// the effect, or from the server, a round trip after the effect.
func (s *Simulation) OnCancel(f func(Effect)) { s.effects.cancel = append(s.effects.cancel, f) }

// Effect plays an effect in this tick. A replay matches its effects with the played ones by kind and entity.
func (s *Step) Effect(kind uint16, e ecs.Entity, value uint64) {
	f := &s.simulation.effects
	made := madeEffect{Effect: Effect{Kind: kind, Entity: e, Value: value, Tick: s.Tick}, name: s.simulation.nameOf(e)}
	n := effectName{kind, made.name}
	made.ordinal = min(f.ordinals[n], 254) + 1
	f.ordinals[n] = made.ordinal
	f.made.add(s.Tick, made)
	if f.wasPlayed(&made) || !f.mayPlay(s.simulation.client, &made) {
		return
	}
	if !f.first {
		made.Age = f.newest - s.Tick
		s.simulation.stats.Late++
	}
	f.calls = append(f.calls, made.Effect)
}

// begin prepares the effects of a step.
func (f *effects) begin(t netcode.Tick, first bool) {
	f.first, f.next = first, 0
	f.before = append(f.before[:0], f.made.of(t)...)
	f.matched = slices.Grow(f.matched[:0], len(f.before))[:len(f.before)]
	clear(f.matched)
	clear(f.ordinals)
	f.made.clear(t)
	f.newest = max(f.newest, t)
	if first {
		f.newest = t
	}
}

// wasPlayed reports whether an earlier run of the tick has made an effect, and marks that one as matched.
func (f *effects) wasPlayed(made *madeEffect) bool {
	for n := range f.before {
		i := (f.next + n) % len(f.before)
		if !f.matched[i] && f.before[i].Kind == made.Kind && f.before[i].Entity == made.Entity {
			f.matched[i], f.next = true, i+1
			return true
		}
	}
	return false
}

// end calls the functions of the game.
func (f *effects) end(s *Simulation) {
	for i := range f.before {
		if !f.matched[i] {
			f.takeBack(s, &f.before[i])
		}
	}
	for _, e := range f.calls {
		f.callHooks(s, "OnEffect", f.play, e)
	}
	f.calls = f.calls[:0]
}

// takeBack cancels an effect that a replay does not have.
func (f *effects) takeBack(s *Simulation, made *madeEffect) {
	if c := f.claimOf(made.Tick, made.Kind, made.name, made.ordinal); c != nil {
		if !c.plays {
			return // The server has refused it.
		}
		c.plays = false
	}
	s.stats.Cancelled++
	f.callHooks(s, "OnCancel", f.cancel, made.Effect)
}

// forget forgets the effects of a connection.
func (f *effects) forget() {
	clear(f.made.ticks)
	f.newest, f.claims, f.unsent, f.flight = 0, byTick[claim]{}, f.unsent[:0], 0
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
