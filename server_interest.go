package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
)

// SetInterest makes a policy decide who may see what, from the next network tick on; package interest has the usual
// ones. Without a policy every client sees everything that was not hidden from it by Hide. With one, Show and Hide hold
// until the policy says otherwise.
//
// Nil takes the policy away, at once: every client sees every entity, with all components, also those that Hide had hidden
// before the policy or during it, and those that spawn from then on. Hide what is to stay hidden right after it, and
// no byte about it is sent. Where there is no policy, nil changes nothing.
func (s *Server) SetInterest(policy Interest) {
	if s.interest != nil {
		for _, c := range s.sessions {
			if c.state == connected || c.state == leaving {
				s.interest.Leave(c.id)
			}
		}
	}
	if policy == nil && s.interest != nil {
		for _, c := range s.sessions {
			if c.state == connected {
				s.observe(c)
				c.view.ShowAll()
			}
		}
	}
	s.interest = policy
}

// judgeInterest asks the policy about every client, when the world of this tick is known and nothing of it is sent yet.
func (s *Server) judgeInterest() {
	if !s.frame.due || s.store.Tick() == 0 {
		return
	}
	s.interest.Prepare(s.store)
	for _, c := range s.sessions {
		if c.state == connected {
			s.observe(c)
			s.interest.Update(c.id, c.view)
			s.missViewpoint(c)
		}
	}
}

// blindTicks is for how many network ticks a client may be without a viewpoint before that is told of.
const blindTicks = 64

// missViewpoint tells, once a client, that it sees nothing because nobody said where it looks from.
func (s *Server) missViewpoint(c *Session) {
	rule, ok := s.interest.(interface{ Blind(client ClientID) bool })
	switch {
	case !ok || c.blind == blindTicks: // it was told of
	case !rule.Blind(c.id):
		c.blind = 0
	default:
		if c.blind++; c.blind == blindTicks {
			s.Report(&ViewpointError{Client: c.id, Ticks: blindTicks})
		}
	}
}

// reportGroups names the groups that have become too large to be sent in one piece.
func (s *Server) reportGroups() {
	for _, group := range s.store.LargeGroups() {
		s.stats.LargeGroups++
		s.Report(&GroupError{Group: group, Members: len(s.store.Members(group)), Max: peer.MaxPayload(s.config.PacketSize)})
	}
	s.store.ClearLargeGroups()
}

// Interest is the rule for who may see what.
type Interest = snapshot.Interest
