package admission

import (
	"slices"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
)

// Decision is a client that wants to join, and the game's answer.
//
//	Open --> Given or Refused --> Over
//	  |                             ^
//	  +-------- its time is over ---+
type Decision struct {
	Address  transport.Addr   // Address of the client.
	Nonce    uint64           // Nonce of its attempt.
	User     string           // The user that the transport proved; empty: none.
	State    State            // How far it is.
	Identity string           // From Accept.
	Reason   *errs.CloseError // From Refuse.

	until time.Duration // End of the time to decide; 0: it does not wait yet.
	held  *hosts.Held[*Decision]
}

// State is a step of a decision.
type State uint8

// Values of State.
const (
	Open    State = iota // Not decided.
	Given                // Accept was called.
	Refused              // Refuse was called.
	Over                 // It took effect, or its time is over.
)

// IsOpen reports whether the game may still decide.
func (d *Decision) IsOpen(now time.Duration) bool {
	return d.State == Open && (d.until == 0 || now < d.until)
}

// Accept accepts the client. A waiting decision stays at least until grace, so that the next Join of its client finds it.
func (d *Decision) Accept(identity string, grace time.Duration) {
	d.State, d.Identity = Given, identity
	if d.until != 0 {
		d.until = max(d.until, grace)
	}
}

// Refuse refuses the client.
func (d *Decision) Refuse(reason *errs.CloseError) { d.State, d.Reason = Refused, reason }

// Decisions is the list of waiting decisions.
type Decisions struct {
	Waiting []*Decision // In order of arrival.
	hosts   *hosts.Table[*Decision]
	refused peer.PastSessions // Recent refusals: a repeated Join gets the same answer without asking the game.
}

// NewDecisions returns a list without decisions.
func NewDecisions() Decisions {
	return Decisions{hosts: hosts.NewTable[*Decision](false), refused: peer.NewPastSessions()}
}

// Refusal returns the reason for which an attempt was refused, nil if it was not.
func (d *Decisions) Refusal(nonce uint64, now time.Duration) *errs.CloseError {
	return d.refused.Find(nonce, now)
}

// Deny stores the reason for which an attempt is refused.
func (d *Decisions) Deny(nonce uint64, reason *errs.CloseError, now time.Duration) {
	d.refused.Add(nonce, reason, now)
}

// Find returns the waiting decision about a client and its proved user, nil if there is none.
func (d *Decisions) Find(from transport.Addr, nonce uint64, user string) *Decision {
	for _, one := range d.Waiting {
		if one.Nonce == nonce && one.Address == from && one.User == user {
			return one
		}
	}
	return nil
}

// Wait adds a decision that waits until a time.
func (d *Decisions) Wait(one *Decision, until time.Duration) {
	one.until, one.held = until, d.hosts.Add(one.Address.IP.Addr(), one)
	d.Waiting = append(d.Waiting, one)
}

// Crowded reports whether too many decisions about clients of a host or its network are waiting: as many as its limit of places.
func (d *Decisions) Crowded(from transport.Addr, limits Limits) bool {
	return limits.reached(from.IP.Addr(), d.hosts.Counts).Scope != None
}

// MakeRoom reports whether there is room for another decision if at most so many may wait. If there is none, it ends the newest open
// decision of the host with the most, if that has more than the host of from would have.
func (d *Decisions) MakeRoom(from transport.Addr, most int) bool {
	if len(d.Waiting) < most {
		return true
	}
	least := d.hosts.LoadOf(from.IP.Addr()) + 1
	for drop := d.hosts.Worst(least); drop != nil; drop = d.hosts.Worst(least) {
		if drop.Of.State == Open {
			d.Settle(drop.Of)
			return true
		}
		d.hosts.Keep(drop, true) // The game has decided.
	}
	return false
}

// Settle ends a decision.
func (d *Decisions) Settle(one *Decision) {
	one.State = Over
	if i := slices.Index(d.Waiting, one); i >= 0 {
		d.Waiting = slices.Delete(d.Waiting, i, i+1)
		d.hosts.Remove(one.held)
	}
}

// Expire ends the decisions whose time is over. It refuses undecided clients with late, and returns their number.
func (d *Decisions) Expire(now time.Duration, late *errs.CloseError) (n uint64) {
	kept := d.Waiting[:0]
	for _, one := range d.Waiting {
		if now < one.until {
			kept = append(kept, one)
			continue
		}
		if one.State == Open {
			n++
			d.refused.Add(one.Nonce, late, now)
		}
		one.State = Over
		d.hosts.Remove(one.held)
	}
	clear(d.Waiting[len(kept):])
	d.Waiting = kept
	return n
}
