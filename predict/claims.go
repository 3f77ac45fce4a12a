package predict

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A client that takes effects back tells the server the effects that it played. The server compares them with the effects
// of its own step of that tick, and answers with those that it did not make.

const (
	// claimSeconds is the time for which both ends remember an effect.
	claimSeconds = 10
	// claimsInMessage bounds the effects of one message.
	claimsInMessage = 64
	// claimsAtMost bounds the effects of a client that wait for the server's step. The server ignores further ones.
	claimsAtMost = 256
)

// claims names effects. A client sends those that it played, a server those that it did not make.
type claims struct {
	Effects []claimed
}

// claimed is an effect that both ends know by these values.
type claimed struct {
	Tick    uint16 // The low bits of its tick.
	Kind    uint16
	Name    uint64 // See Simulation.nameOf.
	Ordinal uint8  // It is the n-th of its kind and name in the step, from 1.
}

// Serialize implements wire.Serializable.
func (m *claims) Serialize(s *wire.Serializer) {
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

// effect returns the effect of a claim, with the tick that is nearest to now.
func (c *claimed) effect(now netcode.Tick) madeEffect {
	return madeEffect{Effect: Effect{Kind: c.Kind, Tick: max(tick.Near(c.Tick, now), tick.None)}, name: c.Name, ordinal: c.Ordinal}
}

// handleClaims registers the message.
func handleClaims(p *netcode.Protocol) {
	netcode.Handle(p, func(ctx *netcode.Context, m *claims) {
		if server := netcode.ServerOf(ctx.End); server != nil {
			at, ok := netcode.ExtensionOf[*endState](server)
			if state, open := netcode.ExtensionOf[*sessionState](server.Session(ctx.Sender)); ok && open {
				state.claims.add(m.Effects, server.Tick())
				at.anyClaims = true
			}
			return
		}
		if c := netcode.ClientOf(ctx.End); c != nil {
			if r, open := netcode.ExtensionOf[*clientState](c); open && r.simulation != nil && r.simulation.client != nil {
				r.simulation.client.hearRefused(m.Effects)
			}
		}
	}, netcode.Named("netcode.predict.effects"), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(wire.MaxChannels-1))
}

// waitingClaims has the effects of a client that the server's simulation has not judged, at the server.
type waitingClaims []madeEffect

// add adds effects of a message. It ignores effects of ticks that no client predicts.
func (l *waitingClaims) add(effects []claimed, now netcode.Tick) {
	for i := range effects {
		if made := effects[i].effect(now); len(*l) < claimsAtMost && made.Tick < now+2*Window {
			*l = append(*l, made)
		}
	}
}

// noteMade stores the effects of the newest step of a server.
func (s *server) noteMade() {
	f, t := &s.sim.effects, s.sim.step.Tick
	old, rate := 0, netcode.Tick(s.end.TickRate())
	for old < len(s.made) && s.made[old].Tick+claimSeconds*rate < t {
		old++
	}
	s.made = append(slices.Delete(s.made, 0, old), f.made[t%Window]...)
}

// judgeClaims tells each client which of its effects the steps up to the newest one did not make.
func (s *server) judgeClaims() {
	if !s.state.anyClaims {
		return
	}
	s.state.anyClaims = false
	for client := range s.end.Clients {
		state, ok := netcode.ExtensionOf[*sessionState](s.end.Session(client))
		if !ok || len(state.claims) == 0 {
			continue
		}
		s.refused.Effects = s.refused.Effects[:0]
		for i := range state.claims {
			if c := &state.claims[i]; s.refuses(c) && len(s.refused.Effects) < claimsInMessage {
				s.refused.Effects = append(s.refused.Effects, claimed{c.Tick.Low(), c.Kind, c.name, c.ordinal})
			}
		}
		if len(s.refused.Effects) == 0 || netcode.Send(s.end, netcode.To(client), &s.refused) == nil {
			left := claimsInMessage
			state.claims = slices.DeleteFunc(state.claims, func(c madeEffect) bool {
				if s.refuses(&c) {
					left--
					return left >= 0
				}
				return c.Tick <= s.sim.step.Tick
			})
		}
		s.state.anyClaims = s.state.anyClaims || len(state.claims) > 0
	}
}

// refuses reports whether the simulation did not make an effect. It does not refuse effects of later ticks, nor of ticks so
// old that it has forgotten them.
func (s *server) refuses(c *madeEffect) bool {
	if t := s.sim.step.Tick; c.Tick > t || c.Tick+claimSeconds*netcode.Tick(s.end.TickRate()) < t {
		return false
	}
	n, _ := slices.BinarySearchFunc(s.made, c.Tick, func(m madeEffect, t netcode.Tick) int { return int(m.Tick - t) })
	count := uint8(0)
	for ; n < len(s.made) && s.made[n].Tick == c.Tick && count < c.ordinal; n++ {
		if m := &s.made[n]; m.Kind == c.Kind && (m.name == c.name || m.name == 0 || c.name == 0) {
			count++
		}
	}
	return count < c.ordinal
}
