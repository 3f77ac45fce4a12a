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
	made    [Window][]madeEffect // By tick modulo Window.
	ticks   [Window]netcode.Tick
	before  []madeEffect // The effects of the earlier run of the present tick.
	matched []bool
	tick    netcode.Tick
	first   bool
	play    []func(Effect)
	cancel  []func(Effect)
	newest  netcode.Tick
	calls   []Effect // Effects to play at the end of the step.

	claims []claim // At a client with OnCancel: the effects that it played in the last claimSeconds.
	unsent int     // The claims at the end of the list that the server does not know yet.
}

// madeEffect is an effect of a step. Both ends know it by its kind, name and ordinal.
type madeEffect struct {
	Effect
	name    uint64 // The name of Entity; 0: none that both ends know.
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
	at := &f.made[s.Tick%Window]
	made := madeEffect{Effect: Effect{Kind: kind, Entity: e, Value: value, Tick: s.Tick}, name: s.simulation.nameOf(e), ordinal: 1}
	for i := range *at {
		if m := &(*at)[i]; m.Kind == kind && m.name == made.name && m.ordinal < 255 {
			made.ordinal = m.ordinal + 1
		}
	}
	*at = append(*at, made)
	if f.wasPlayed(&made) || !f.mayPlay(&made) {
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
	n := t % Window
	f.tick, f.first = t, first
	f.before, f.matched = f.before[:0], f.matched[:0]
	if f.ticks[n] == t {
		f.before = append(f.before, f.made[n]...)
	}
	for range f.before {
		f.matched = append(f.matched, false)
	}
	f.made[n], f.ticks[n] = f.made[n][:0], t
	f.newest = max(f.newest, t)
	if first {
		f.newest = t
	}
}

// wasPlayed reports whether an earlier run of the tick has made an effect, and marks that one as matched.
func (f *effects) wasPlayed(made *madeEffect) bool {
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
	if c := f.claimOf(made); c != nil {
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
	f.ticks, f.newest = [Window]netcode.Tick{}, 0
	f.claims, f.unsent = f.claims[:0], 0
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

// claim is an effect that a client has played.
type claim struct {
	madeEffect
	plays   bool // It was not cancelled.
	refused bool // The server did not make it.
}

// claimOf returns the claim of an effect, nil without one.
func (f *effects) claimOf(made *madeEffect) *claim {
	for i := len(f.claims) - 1; i >= 0; i-- {
		if c := &f.claims[i]; c.Tick == made.Tick && c.Kind == made.Kind && c.name == made.name && c.ordinal == made.ordinal {
			return c
		}
	}
	return nil
}

// mayPlay notes that an effect is played. It reports false for one that the server has refused.
func (f *effects) mayPlay(made *madeEffect) bool {
	if len(f.cancel) == 0 {
		return true
	}
	if !f.first {
		if c := f.claimOf(made); c != nil {
			c.plays = !c.refused
			return c.plays
		}
	}
	f.claims, f.unsent = append(f.claims, claim{madeEffect: *made, plays: true}), f.unsent+1
	return true
}

// sendClaims sends the newest claims to the server, and forgets the oldest ones.
func (c *client) sendClaims() {
	f, m := &c.sim.effects, &c.claimed
	old := 0
	for old < len(f.claims)-f.unsent && f.claims[old].Tick+netcode.Tick(claimSeconds*c.end.TickRate()) < c.now {
		old++
	}
	f.claims = slices.Delete(f.claims, 0, old)
	for f.unsent > 0 {
		m.Effects = m.Effects[:0]
		for _, made := range f.claims[len(f.claims)-f.unsent:][:min(f.unsent, claimsInMessage)] {
			m.Effects = append(m.Effects, claimed{made.Tick.Low(), made.Kind, made.name, made.ordinal})
		}
		if netcode.Send(c.end, netcode.ToServer(), m) != nil {
			return // It is tried again in the next frame.
		}
		f.unsent -= len(m.Effects)
	}
}

// hearRefused cancels effects that the server did not make.
func (c *client) hearRefused(refused []claimed) {
	for _, r := range refused {
		made := r.effect(c.now)
		if claim := c.sim.effects.claimOf(&made); claim != nil && !claim.refused {
			claim.refused = true
			if claim.plays {
				claim.plays = false
				c.sim.stats.Cancelled++
				c.sim.effects.callHooks(c.sim, "OnCancel", c.sim.effects.cancel, claim.Effect)
			}
		}
	}
}
