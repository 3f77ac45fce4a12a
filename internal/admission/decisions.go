package admission

import (
	"slices"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// Decision is a client that asks for a place, and what the game says to it.
//
//	Open --> Given or Refused --> Over
//	  |                             ^
//	  +-------- its time is over ---+
type Decision struct {
	Address  transport.Addr // Where the client is.
	Nonce    uint64         // Of its attempt.
	State    State          // How far it is.
	Identity string         // Of Accept.
	Reason   *peer.Error    // Of Refuse.

	until time.Duration // The end of its time; 0: it does not wait yet.
}

// State counts the steps of a decision.
type State uint8

// The states of a decision.
const (
	Open    State = iota // Not decided.
	Given                // Accept was called.
	Refused              // Refuse was called.
	Over                 // It has its effect, or its time was over.
)

// IsOpen reports whether the decision still waits for the game.
func (d *Decision) IsOpen(now time.Duration) bool {
	return d.State == Open && (d.until == 0 || now < d.until)
}

// Accept gives the client a place. One that waits stays for grace at least, so that the next Join of its client finds it.
func (d *Decision) Accept(identity string, grace time.Duration) {
	d.State, d.Identity = Given, identity
	if d.until != 0 {
		d.until = max(d.until, grace)
	}
}

// Refuse refuses the client.
func (d *Decision) Refuse(reason *peer.Error) { d.State, d.Reason = Refused, reason }

// Decisions are the decisions that wait.
type Decisions struct {
	Waiting []*Decision       // In the order in which they came.
	refused peer.PastSessions // The refusals of late: a Join that comes again gets the same one, and the game is not asked.
}

// NewDecisions returns a list without decisions.
func NewDecisions() Decisions { return Decisions{refused: peer.NewPastSessions()} }

// Refusal returns the reason with which an attempt was refused, nil if it was not.
func (d *Decisions) Refusal(nonce uint64, now time.Duration) *peer.Error {
	return d.refused.Find(nonce, now)
}

// Deny keeps the reason with which an attempt is refused.
func (d *Decisions) Deny(nonce uint64, reason *peer.Error, now time.Duration) {
	d.refused.Add(nonce, reason, now)
}

// Find returns the decision about a client that waits, nil if there is none.
func (d *Decisions) Find(from transport.Addr, nonce uint64) *Decision {
	for _, one := range d.Waiting {
		if one.Nonce == nonce && one.Address == from {
			return one
		}
	}
	return nil
}

// Wait makes a decision wait until a time.
func (d *Decisions) Wait(one *Decision, until time.Duration) {
	one.until = until
	d.Waiting = append(d.Waiting, one)
}

// Crowded reports whether too many decisions wait about clients of an address or of its network: as many as may have places.
func (d *Decisions) Crowded(from transport.Addr, limits Limits) bool {
	ip := from.IP.Addr()
	if IsExempt(ip) {
		return false
	}
	address, network := 0, 0
	for _, one := range d.Waiting {
		other := one.Address.IP.Addr()
		if IsExempt(other) {
			continue
		}
		if peer.AddressPrefix(other) == peer.AddressPrefix(ip) {
			address++
		}
		if peer.NetworkPrefix(other) == peer.NetworkPrefix(ip) {
			network++
		}
	}
	return limits.reached(ip, address, network) != None
}

// Settle ends a decision.
func (d *Decisions) Settle(one *Decision) {
	one.State = Over
	if i := slices.Index(d.Waiting, one); i >= 0 {
		d.Waiting = slices.Delete(d.Waiting, i, i+1)
	}
}

// Expire ends the decisions whose time is over, and refuses with late the clients about whom the game did not decide. It returns how
// many these are.
func (d *Decisions) Expire(now time.Duration, late *peer.Error) (n uint64) {
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
	}
	clear(d.Waiting[len(kept):])
	d.Waiting = kept
	return n
}
