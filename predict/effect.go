package predict

import (
	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
)

// Effect is a sound, a flash or a particle that a step plays.
type Effect struct {
	Kind   uint16        // The game's own number of the kind of effect.
	Entity netecs.Entity // The place of the effect; the zero entity: no place.
	Value  uint64        // Data of the game.
	Tick   netcode.Tick  // The tick whose step plays it.
	Age    netcode.Tick  // The number of ticks since its tick, if only a replay has it; 0: it plays at once.
}

// effects stores the effects of the last ticks.
type effects struct {
	made     byTick[madeEffect]   // The effects that were played: of the last Window ticks at a server, claimTicks at a client.
	ordinals map[effectName]uint8 // By kind and name: the newest ordinal of the present tick.
	next     int                  // The place after the newest match: a replay has mostly the same order.
	first    bool
	play     []func(Effect)
	cancel   []func(Effect)
	newest   netcode.Tick
	calls    []Effect // Effects to play at the end of the step.

	unsent []claimed // At a client with OnCancel: effects that the server does not know yet, the first played first.
	flight int       // Those that it was sent and has not judged, or not told so. At most claimsAtMost.
}

// effectName identifies an effect of a step at both ends, but for its ordinal.
type effectName struct {
	kind uint16
	name uint64 // See nameOfEffect.
}

// madeEffect is an effect that a step played. Both ends know it by its kind, name and ordinal.
type madeEffect struct {
	Effect
	name      uint64 // See effectName.
	ordinal   uint8  // It is the n-th of its kind and name in the tick, from 1.
	inRun     bool   // The newest run of the tick has it.
	cancelled bool   // The server did not make it.
}

// OnEffect adds a function that plays an effect. It is called once for each effect, at the end of the step, and not again
// in replays.
func (s *Simulation) OnEffect(f func(Effect)) { s.effects.play = append(s.effects.play, f) }

// OnCancel adds a function that is called for an effect that was played here and that the server did not make in its tick.
// An example is the muzzle flash of a shot that was corrected away. The client learns it from the server, a round trip after
// the effect. A replay without the effect cancels nothing: it may lack an entity that the server has removed since.
func (s *Simulation) OnCancel(f func(Effect)) { s.effects.cancel = append(s.effects.cancel, f) }

// Effect plays an effect in this tick. A replay matches its effects with the played ones by kind and entity, and of several
// first with one of the same value. An effect at no place is matched by kind and value, at the server too: with the number of
// its player as the value, it is not taken for another player's. Without a value it matches each of its kind in the tick.
func (s *Step) Effect(kind uint16, e netecs.Entity, value uint64) {
	sim := s.simulation
	f := &sim.effects
	made := madeEffect{Effect: Effect{Kind: kind, Entity: e, Value: value, Tick: s.Tick}, name: sim.nameOfEffect(e, value), inRun: true}
	if !f.first {
		if f.wasPlayed(&made) {
			return
		}
		made.Age = f.newest - s.Tick
		sim.stats.Late++
	}
	n := effectName{kind, made.name}
	made.ordinal = min(f.ordinals[n], 254) + 1
	f.ordinals[n] = made.ordinal
	f.made.add(s.Tick, made)
	f.calls = append(f.calls, made.Effect)
	if sim.client != nil && len(f.cancel) > 0 {
		f.unsent = append(f.unsent, claimed{s.Tick.Low(), kind, made.name, made.ordinal})
	}
}

// nameOfEffect returns the name by which both ends know an effect: of its entity, or of its value if it is at no place. 0:
// none that both ends know.
func (s *Simulation) nameOfEffect(e netecs.Entity, value uint64) uint64 {
	if e.IsZero() && value != 0 {
		return 1<<62 | value*0x9E3779B97F4A7C15>>2 // No network id has that bit alone, and SpawnOf has bit 63.
	}
	return s.nameOf(e)
}

// effectTicks returns the number of ticks whose effects an end stores: those that can be replayed, and at a client those that
// the server can refuse.
func (s *Simulation) effectTicks() int {
	if s.server != nil {
		return Window
	}
	return claimTicks(s.client.end.TickRate())
}

// begin prepares the effects of a step. A replay has those that the earlier runs played.
func (f *effects) begin(t netcode.Tick, first bool) {
	f.first, f.next = first, 0
	clear(f.ordinals)
	if f.newest = max(f.newest, t); first {
		f.newest = t
		f.made.clear(t)
		return
	}
	played := f.made.of(t)
	for i := range played {
		played[i].inRun = false
		f.ordinals[effectName{played[i].Kind, played[i].name}] = played[i].ordinal
	}
}

// wasPlayed reports whether an earlier run of the tick has played an effect, and marks that one.
func (f *effects) wasPlayed(made *madeEffect) bool {
	played, match := f.made.of(made.Tick), -1
	for n := range played {
		i := (f.next + n) % len(played)
		if p := &played[i]; p.inRun || p.Kind != made.Kind || p.name != made.name || p.name == 0 && p.Entity != made.Entity {
			continue
		}
		if match < 0 {
			match = i
		}
		if played[i].Value == made.Value {
			match = i
			break
		}
	}
	if match < 0 {
		return false
	}
	played[match].inRun, f.next = true, match+1
	return true
}

// end calls the functions of the game.
func (f *effects) end(s *Simulation) {
	for _, e := range f.calls {
		f.callHooks(s, "OnEffect", f.play, e)
	}
	f.calls = f.calls[:0]
}

// forget forgets the effects of a connection.
func (f *effects) forget() {
	f.made = byTick[madeEffect]{}
	f.newest, f.unsent, f.flight = 0, f.unsent[:0], 0
}

// callHooks calls functions of the game with an effect.
func (f *effects) callHooks(s *Simulation, hook string, to []func(Effect), e Effect) {
	for _, call := range to {
		if s.server != nil {
			extend.Contain(extend.OfServer(s.server.end), hook, func() { call(e) })
		} else {
			extend.Contain(extend.OfClient(s.client.end), hook, func() { call(e) })
		}
	}
}
