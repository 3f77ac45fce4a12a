package turns

import (
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// none is the index of no slot.
const none = int32(-1)

// line has the datagrams that wait of one peer, or of all lines that take turns in it: the peers of a host, the hosts of a network, the
// networks of a class.
type line struct {
	up          *line // The line that this one takes turns in; nil for a class.
	left, right *line // Neighbours in that line, while something waits.
	turn        *line // The child whose turn is next; nil if nothing waits.
	children    int   // Number of children that take turns.
	n           int   // Number of datagrams that wait in it.
	used        bool  // Some peer is in it: scratch of Queue.sweep.

	// Of a peer only.
	from          transport.Addr
	first, newest int32 // Slots.
	session       bool
	heard         time.Duration // When its last datagram came.
	local         netip.Addr    // The address of this machine to which it sends; zero: not known.
	sent          time.Duration // When its last datagram to that address came.
}

// hear notes a datagram that came to an address of this machine. Somebody who forges the address of a peer with a session moves it to
// another one only while the peer is silent.
func (p *line) hear(local netip.Addr, at time.Duration) {
	p.heard = at
	if p.local != local && p.session && at-p.sent < localTime {
		return
	}
	p.local, p.sent = local, at
}

// push adds a slot to the line of a peer.
func (l *line) push(slots []slot, at int32) {
	slots[at].after, slots[at].before = none, l.newest
	if l.n == 0 {
		l.first, slots[at].before = at, none
	} else {
		slots[l.newest].after = at
	}
	l.newest = at
	for ; l != nil; l = l.up {
		if l.n++; l.n == 1 && l.up != nil {
			l.enter()
		}
	}
}

// pop removes the oldest slot of the line of a peer.
func (l *line) pop(slots []slot) (at int32) {
	at = l.first
	l.first = slots[at].after
	if l.n > 1 {
		slots[l.first].before = none
	}
	l.count()
	return at
}

// drop removes the newest slot of the line of a peer.
func (l *line) drop(slots []slot) (at int32) {
	at = l.newest
	l.newest = slots[at].before
	if l.n > 1 {
		slots[l.newest].after = none
	}
	l.count()
	return at
}

// count counts a slot less in a line and in those above.
func (l *line) count() {
	for ; l != nil; l = l.up {
		if l.n--; l.n == 0 && l.up != nil {
			l.leave()
		}
	}
}

// enter gives the line the last turn of the line above.
func (l *line) enter() {
	l.up.children++
	next := l.up.turn
	if next == nil {
		l.left, l.right, l.up.turn = l, l, l
		return
	}
	l.left, l.right = next.left, next
	next.left.right, next.left = l, l
}

// leave takes the line out of the turns of the line above.
func (l *line) leave() {
	l.up.children--
	switch {
	case l.right == l:
		l.up.turn = nil
	case l.up.turn == l:
		l.up.turn = l.right
	}
	l.left.right, l.right.left = l.right, l.left
	l.left, l.right = nil, nil
}

// next returns the peer whose turn it is in a class that is not empty, and moves the turns on.
func (l *line) next() *line {
	for l.turn != nil {
		child := l.turn
		l.turn = child.right
		l = child
	}
	return l
}

// below returns the child of l that has the peer p, nil if p is not in l.
func (p *line) below(l *line) *line {
	for ; p != nil; p = p.up {
		if p.up == l {
			return p
		}
	}
	return nil
}

// longest returns the child with the most waiting, where one datagram more would wait in mine. It returns mine if mine then had its share
// or more: so a flood costs no search.
func (l *line) longest(mine *line) *line {
	best, most := l.turn, 0
	if mine != nil {
		best, most = mine, mine.n+1
		children := l.children
		if mine.n == 0 {
			children++
		}
		if most*children > l.n {
			return mine
		}
	}
	for child := l.turn; child != nil; {
		if child.n > most {
			best, most = child, child.n
		}
		if child = child.right; child == l.turn {
			break
		}
	}
	return best
}
