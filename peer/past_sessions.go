package peer

import "time"

const (
	// maxPast is the number of ended sessions that a server remembers.
	maxPast = 1024
	// pastFor is the time for which it remembers one. A cookie, and so a Join, is valid for two buckets at most.
	pastFor = 2 * CookieBucket
)

// PastSessions remembers for a while which sessions are over, so that a late or repeated Join makes no second session of the same
// Hello. Where too many end at a time the oldest are forgotten. Its memory is allocated at once: a server's heap does not grow with
// the clients that have left.
type PastSessions struct {
	ring []pastSession
	next int
}

// pastSession is one that is over.
type pastSession struct {
	nonce  uint64
	until  time.Duration
	reason Error
}

// NewPastSessions returns room for maxPast.
func NewPastSessions() PastSessions { return PastSessions{ring: make([]pastSession, maxPast)} }

// Add remembers a session that is over.
func (p *PastSessions) Add(nonce uint64, reason *Error, now time.Duration) {
	p.ring[p.next] = pastSession{nonce, now + pastFor, *reason}
	p.next = (p.next + 1) % maxPast
}

// Find returns why the session of a nonce is over, nil if there was none.
func (p *PastSessions) Find(nonce uint64, now time.Duration) *Error {
	for i := range p.ring {
		if one := &p.ring[i]; one.nonce == nonce && now < one.until {
			return &one.reason
		}
	}
	return nil
}
