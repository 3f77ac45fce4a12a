package turns

import (
	"net/netip"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/transport"
)

const (
	// sessionTurns is the number of turns of peers with a session for each turn of another peer.
	sessionTurns = 3
	// slotStep is the unit of a slot's memory in bytes.
	slotStep = 128
	// silence is the age of the last datagram from which a peer with a session is forgotten.
	silence = time.Minute
	// localTime is the time for which a peer with a session keeps its address of this machine without a datagram to it.
	localTime = time.Second
)

// slot is the place of one datagram. Its memory fits the longest that it has stored.
type slot struct {
	data          []byte
	at            time.Duration
	before, after int32 // Neighbours in the line of its peer; after also links the free slots.
}

// group identifies a host or the network around it, in one class. Peers of this machine, such as a proxy, and peers without IP are in
// none: each has turns of its own.
type group struct {
	prefix  netip.Prefix
	session bool
}

// Queue is a queue of datagrams with a fixed number of slots. Its methods may be called from any goroutine.
type Queue struct {
	mu      sync.Mutex
	size    int // Maximum bytes of a datagram.
	most    int // Maximum number of datagrams that wait of one peer.
	slots   []slot
	free    int32
	unused  int   // Number of free slots.
	others  line  // The class of peers without a session.
	members line  // The class of peers with one.
	turns   int   // Turns that members have had since the last one of others.
	told    bool  // Rank was called.
	ranked  bool  // Some peer had a session.
	last    *line // The peer of the last Take.
	peers   map[transport.Addr]*line
	groups  map[group]*line
	limit   int // Number of lines from which unused ones are forgotten.
}

// New returns a queue for a number of datagrams of at most size bytes, of which a peer has at most most.
func New(slots, size, most int) *Queue {
	q := &Queue{size: size, most: most, slots: make([]slot, slots), unused: slots, peers: map[transport.Addr]*line{}, groups: map[group]*line{}, limit: 2 * slots}
	for i := range q.slots {
		q.slots[i].after = int32(i) - 1
	}
	q.free = int32(slots) - 1
	return q
}

// Put stores a copy of a datagram that came at a time, to an address of this machine, zero if unknown. It returns the number of datagrams that were lost for it, 0 or 1, and whether it
// was stored: a lost one is this one, or one of a peer that has more waiting.
func (q *Queue) Put(from transport.Addr, local netip.Addr, datagram []byte, at time.Duration) (lost int, stored bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.peerOf(from, at)
	p.hear(local, at)
	if p.n >= q.most {
		return 1, false
	}
	if q.unused == 0 || !p.session && q.ranked && q.others.n >= max(len(q.slots)/4, 1) {
		loser := q.loser(p)
		if loser == p {
			return 1, false
		}
		q.release(loser.drop(q.slots))
		lost = 1
	}
	i := q.free
	s := &q.slots[i]
	q.free, q.unused = s.after, q.unused-1
	if cap(s.data) < len(datagram) {
		s.data = make([]byte, 0, min((len(datagram)+slotStep-1)/slotStep*slotStep, max(q.size, len(datagram))))
	}
	s.data, s.at = append(s.data[:0], datagram...), at
	p.push(q.slots, i)
	return lost, true
}

// loser returns the peer that loses its newest datagram when one more of p would wait: the one with the most of the host with the most.
func (q *Queue) loser(p *line) *line {
	l, more := &q.members, 0
	if !p.session {
		more = 1
	}
	if q.others.n+more > len(q.slots)/4 {
		l = &q.others
	}
	for mine := p.below(l); mine != nil || l.turn != nil; mine = p.below(l) {
		l = l.longest(mine)
	}
	return l
}

// release frees a slot.
func (q *Queue) release(at int32) {
	q.slots[at].after, q.free, q.unused = q.free, at, q.unused+1
}

// Take removes the next datagram and copies it into buf. size exceeds len(buf) if it did not fit, and is 0 if none waits.
func (q *Queue) Take(buf []byte) (size int, from transport.Addr, at time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	class := &q.members
	if class.n == 0 || q.others.n > 0 && q.turns >= sessionTurns {
		class = &q.others
		q.turns = -1
	}
	q.turns++
	if class.n == 0 {
		return 0, transport.Addr{}, 0
	}
	p := class.next()
	i := p.pop(q.slots)
	s := &q.slots[i]
	size, at = len(s.data), s.at
	copy(buf, s.data)
	q.release(i)
	q.last = p
	return size, p.from, at
}

// Rank tells whether the peer of the last Take has a session with the layer above. It returns the peer if that has changed.
func (q *Queue) Rank(session bool) (from transport.Addr, changed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.told = true
	if p := q.last; p != nil && p.session != session && q.peers[p.from] == p {
		q.ranked = q.ranked || session
		q.move(p, session)
		return p.from, true
	}
	return transport.Addr{}, false
}

// move moves a peer with what waits of it into the other class.
func (q *Queue) move(p *line, session bool) {
	waits := p.n
	first := p.first
	for range waits {
		p.count()
	}
	p.session, p.up = session, q.upOf(p.from, session)
	for range waits {
		next := q.slots[first].after
		p.push(q.slots, first)
		first = next
	}
}

// Crowded reports whether a peer has no session, much waits of such peers, and its network has its share of that: then reading more of it can
// wait.
func (q *Queue) Crowded(from transport.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, l := q.peers[from], &q.others
	if p == nil || p.session || l.n < max(len(q.slots)/8, 16) {
		return false
	}
	return p.below(l).n*l.children >= l.n
}

// LocalOf returns the address of this machine that a peer sends to, zero if it is not known.
func (q *Queue) LocalOf(from transport.Addr) netip.Addr {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.peers[from]; p != nil {
		return p.local
	}
	return netip.Addr{}
}

// Told reports whether Rank was called before: the layer above tells who has a session.
func (q *Queue) Told() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.told
}

// Forget ends the session of a peer that is gone. What waits of it can still be taken.
func (q *Queue) Forget(from transport.Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.peers[from]; p != nil && p.n == 0 {
		delete(q.peers, from)
	} else if p != nil && p.session {
		q.move(p, false)
	}
}

// peerOf returns the line of a peer.
func (q *Queue) peerOf(from transport.Addr, now time.Duration) *line {
	if p := q.peers[from]; p != nil {
		return p
	}
	if len(q.peers)+len(q.groups) >= q.limit {
		q.sweep(now)
	}
	p := &line{from: from, first: none, newest: none, up: q.upOf(from, false)}
	q.peers[from] = p
	return p
}

// upOf returns the line in which a peer takes turns: that of its host.
func (q *Queue) upOf(from transport.Addr, session bool) *line {
	class := &q.others
	if session {
		class = &q.members
	}
	host, ok := hosts.Of(from.IP.Addr())
	if !ok {
		return class
	}
	if network := host.Network(); network != host.Prefix {
		class = q.groupOf(group{network, session}, class)
	}
	return q.groupOf(group{host.Prefix, session}, class)
}

// groupOf returns the line of a group.
func (q *Queue) groupOf(name group, up *line) *line {
	l := q.groups[name]
	if l == nil {
		l = &line{up: up}
		q.groups[name] = l
	}
	return l
}

// sweep forgets peers that have nothing waiting, without a session or silent, and the groups of none.
func (q *Queue) sweep(now time.Duration) {
	for _, l := range q.groups {
		l.used = false
	}
	for from, p := range q.peers {
		if p.n == 0 && (!p.session || now-p.heard > silence) {
			delete(q.peers, from)
		} else {
			for l := p.up; l != nil; l = l.up {
				l.used = true
			}
		}
	}
	for name, l := range q.groups {
		if !l.used {
			delete(q.groups, name)
		}
	}
	q.limit = max(2*len(q.slots), 2*(len(q.peers)+len(q.groups)))
}
