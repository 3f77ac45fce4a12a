package predict

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A client that takes effects back tells the server the effects that it played. The server compares them with the effects
// of its own step of that tick, and answers with those that it did not make.

const (
	// claimSeconds is the time for which both ends remember an effect. An effect that the server was not told in a quarter of it is
	// cancelled.
	claimSeconds = 20
	// claimsInMessage bounds the effects of one message.
	claimsInMessage = 64
	// claimsAtMost bounds the effects of a client that the server was sent and has not judged, or not told so. Further ones wait
	// at the client.
	claimsAtMost = 512
	// claimsUntold is the number of judged effects that the server tells at the latest.
	claimsUntold = claimsAtMost / 4
)

// claims names effects. A client sends those that it played, a server those that it did not make.
type claims struct {
	Judged  uint16 // From a server: the effects that it judged since its last message.
	Effects []claimed
}

// claimed is an effect that both ends know by these values.
type claimed struct {
	Tick    uint16 // The low bits of its tick.
	Kind    uint16
	Name    uint64 // See nameOfEffect.
	Ordinal uint8  // It is the n-th of its kind and name in the step, from 1.
}

// Serialize implements wire.Serializable.
func (m *claims) Serialize(s *wire.Serializer) {
	s.Uint16(&m.Judged)
	n := len(m.Effects)
	s.Count(&n, claimsInMessage, 6)
	if s.IsReading() {
		m.Effects = slices.Grow(m.Effects[:0], n)[:n]
	}
	for i := range m.Effects {
		e := &m.Effects[i]
		s.Uint16(&e.Tick)
		s.Uint16(&e.Kind)
		s.PackedUint64(&e.Name)
		s.Uint8(&e.Ordinal)
	}
}

// at returns the tick that is nearest to now.
func (c *claimed) at(now netcode.Tick) netcode.Tick { return max(tick.Near(c.Tick, now), tick.None) }

// handleClaims registers the message.
func handleClaims(p *netcode.Protocol) {
	netcode.Handle(p, func(ctx *netcode.Context, m *claims) {
		if server := netcode.ServerOf(ctx.End); server != nil {
			at, ok := extend.ExtensionOf[*endState](server)
			if state, open := extend.ExtensionOf[*sessionState](extend.OfServer(server).Session(ctx.Sender)); ok && open {
				state.claims.add(m.Effects)
				at.anyClaims = true
			}
			return
		}
		if c := netcode.ClientOf(ctx.End); c != nil {
			if r, open := extend.ExtensionOf[*clientState](c); open && r.simulation != nil && r.simulation.client != nil {
				r.simulation.client.hearJudged(m)
			}
		}
	}, netcode.Named("netcode.predict.effects"), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(wire.MaxChannels-1))
}

// claimTicks returns the number of ticks of claimSeconds. A replay reaches no farther.
func claimTicks(tickRate int) int { return max(claimSeconds*tickRate, 2*Window) }

// waitingClaims has the effects of a client at the server, at most claimsAtMost of waiting and judged.
type waitingClaims struct {
	waiting []claimed // Those of later ticks than the newest step.
	refused []claimed // Judged ones that the server did not make and has not told.
	judged  int       // Judged ones that are not told, with those of refused.
}

// add adds effects of a message. It ignores those that no client sends that waits for the server's judgement.
func (l *waitingClaims) add(effects []claimed) {
	l.waiting = append(l.waiting, effects[:min(len(effects), max(claimsAtMost-len(l.waiting)-l.judged, 0))]...)
}

// keepMade stores the effects of a step, once a client told of its effects.
func (s *server) keepMade(t netcode.Tick) {
	if s.made.ticks == nil {
		return
	}
	s.made.clear(t)
	for _, m := range s.sim.effects.made.of(t) {
		s.made.add(t, effectName{m.Kind, m.name})
	}
}

// judgeClaims tells each client which of its effects the steps up to the newest one did not make.
func (s *server) judgeClaims() {
	if !s.state.anyClaims {
		return
	}
	if s.state.anyClaims = false; s.made.ticks == nil {
		s.made = newByTick[effectName](claimTicks(s.end.TickRate()))
		for t := max(s.sim.step.Tick-Window, 0) + 1; t <= s.sim.step.Tick; t++ {
			s.keepMade(t)
		}
	}
	for client := range s.end.Clients {
		if state, ok := extend.ExtensionOf[*sessionState](extend.OfServer(s.end).Session(client)); ok {
			s.judge(&state.claims)
			s.tellJudged(client, &state.claims)
			s.state.anyClaims = s.state.anyClaims || len(state.claims.waiting) > 0 || len(state.claims.refused) > 0
		}
	}
}

// judge judges the effects of a client up to the newest step.
func (s *server) judge(l *waitingClaims) {
	later := l.waiting[:0]
	for _, c := range l.waiting {
		t := c.at(s.sim.step.Tick)
		if t > s.sim.step.Tick && t < s.sim.step.Tick+2*Window {
			later = append(later, c)
			continue
		}
		if l.judged++; s.refuses(t, &c) {
			l.refused = append(l.refused, c)
		}
	}
	l.waiting = later
}

// tellJudged tells a client what was judged. If it cannot be sent, it is tried again in the next frame.
func (s *server) tellJudged(client netcode.ClientID, l *waitingClaims) {
	for len(l.refused) > 0 || l.judged >= claimsUntold {
		n := min(len(l.refused), claimsInMessage)
		left := len(l.refused) - n
		s.refused.Judged, s.refused.Effects = uint16(l.judged-left), append(s.refused.Effects[:0], l.refused[:n]...)
		if netcode.Send(s.end, netcode.To(client), &s.refused) != nil {
			return
		}
		l.judged, l.refused = left, slices.Delete(l.refused, 0, n)
	}
}

// refuses reports whether the simulation did not make an effect, as far as it remembers.
func (s *server) refuses(t netcode.Tick, c *claimed) bool {
	count := uint8(0)
	for _, m := range s.made.of(t) {
		if m.kind == c.Kind && (m.name == c.Name || m.name == 0 || c.Name == 0) {
			if count++; count == c.Ordinal {
				return false
			}
		}
	}
	return count < c.Ordinal
}

// sendClaims sends the server the oldest effects that it does not know, as many as it may be sent. Those that waited too long
// are cancelled.
func (c *client) sendClaims() {
	f, m, sent := &c.sim.effects, &c.claimed, 0
	for sent < len(f.unsent) && f.unsent[sent].at(c.now) < c.now-netcode.Tick(claimTicks(c.end.TickRate())/4) {
		c.refuse(&f.unsent[sent])
		sent++
	}
	for {
		n := min(len(f.unsent)-sent, claimsInMessage, claimsAtMost-f.flight)
		m.Effects = append(m.Effects[:0], f.unsent[sent:][:n]...)
		if n == 0 || netcode.Send(c.end, netcode.ToServer(), m) != nil {
			break // It is tried again in the next frame.
		}
		sent, f.flight = sent+n, f.flight+n
	}
	f.unsent = slices.Delete(f.unsent, 0, sent)
}

// hearJudged cancels effects that the server did not make.
func (c *client) hearJudged(m *claims) {
	c.sim.effects.flight = max(c.sim.effects.flight-int(m.Judged), 0)
	for i := range m.Effects {
		c.refuse(&m.Effects[i])
	}
}

// refuse cancels an effect that the server did not make. Of several of its kind and name it is one that the newest run of the
// tick lacks, if there is one.
func (c *client) refuse(r *claimed) {
	f := &c.sim.effects
	played, chosen := f.made.of(r.at(c.now)), (*madeEffect)(nil)
	for i := range played {
		p := &played[i]
		if p.cancelled || p.Kind != r.Kind || p.name != r.Name {
			continue
		}
		if chosen == nil || !p.inRun || chosen.inRun && p.ordinal == r.Ordinal {
			chosen = p
		}
	}
	if chosen != nil {
		chosen.cancelled = true
		c.sim.stats.Cancelled++
		f.callHooks(c.sim, "OnCancel", f.cancel, chosen.Effect)
	}
}

// byTick is a ring of the values of the last ticks. The zero value has no room.
type byTick[T any] struct {
	ticks  []netcode.Tick // By tick modulo the length: the tick of the values.
	values [][]T
}

// newByTick returns a ring with a number of ticks. It has room for two values of each, so that few values allocate nothing.
func newByTick[T any](ticks int) byTick[T] {
	r, room := byTick[T]{make([]netcode.Tick, ticks), make([][]T, ticks)}, make([]T, 2*ticks)
	for n := range r.values {
		r.values[n] = room[2*n : 2*n : 2*n+2]
	}
	return r
}

// of returns the values of a tick, nil if the ring has none.
func (r *byTick[T]) of(t netcode.Tick) []T {
	if len(r.ticks) == 0 || r.ticks[int(t)%len(r.ticks)] != t {
		return nil
	}
	return r.values[int(t)%len(r.ticks)]
}

// clear makes place for the values of a tick.
func (r *byTick[T]) clear(t netcode.Tick) {
	n := int(t) % len(r.ticks)
	r.ticks[n], r.values[n] = t, r.values[n][:0]
}

// add adds a value to a tick.
func (r *byTick[T]) add(t netcode.Tick, value T) {
	n := int(t) % len(r.ticks)
	if r.ticks[n] != t {
		r.clear(t)
	}
	r.values[n] = append(r.values[n], value)
}
