package transfer

import (
	"errors"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
)

const (
	leastAhead = 2 * pieceSize // Minimum of peerState.ahead in bytes: a packet of pieces.
	mostAhead  = 64 << 10      // Maximum of peerState.ahead in bytes.
	// mostAnswers is the maximum number of answers that wait for room in the queue. A peer with more of them does not read: its
	// connection ends.
	mostAnswers = 256
	unread      = 128 << 10 // Maximum bytes of a transfer that are sent and not confirmed.
)

// end is the feature's state on a server or a client.
type end struct {
	feature *feature
	server  *netcode.Server // nil on a client.
	client  *netcode.Client // nil on a server.
	handler *Handler
	peers   map[netcode.ClientID]*peerState
	order   []*peerState
	later   []func() // Calls of the game's functions, due in the next frame.
	piece   piece
}

// peerState is the state of one connection.
type peerState struct {
	session   extend.Session // nil on a client.
	id        netcode.ClientID
	last      uint32 // Newest ID of a sent transfer.
	newest    uint32 // Newest ID of a received transfer.
	sending   []*Sending
	receiving []*Receiving
	ahead     int // Maximum bytes of pieces in the message queue.
	turn      int
	answers   []func() error // Messages that found no room in the queue, at most mostAnswers.
}

// Server implements extend.ServerSide.
func (f *feature) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	e := &end{feature: f, server: s, peers: map[netcode.ClientID]*peerState{}}
	return extend.ServerHooks{
		State:      e,
		Opened:     func(c extend.Session) any { e.open(&peerState{session: c, id: c.ID()}); return nil },
		Closed:     func(c extend.Session) { e.close(c.ID()) },
		BeginFrame: e.tell,
		BeforeSend: func() { e.pump(s.TickDue()) },
	}
}

// Client implements extend.ClientSide.
func (f *feature) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	e := &end{feature: f, client: c, peers: map[netcode.ClientID]*peerState{}}
	return extend.ClientHooks{
		State:      e,
		Opened:     func() { e.close(0); e.open(&peerState{}) },
		Closed:     func() { e.close(0) },
		BeginFrame: e.tell,
		BeforeSend: func() { e.pump(c.TickDue()) },
	}
}

// open registers a new connection.
func (e *end) open(p *peerState) {
	p.ahead = leastAhead
	e.peers[p.id] = p
	e.order = append(e.order, p)
}

// close removes a connection and fails its transfers.
func (e *end) close(id netcode.ClientID) {
	p := e.peers[id]
	if p == nil {
		return
	}
	delete(e.peers, id)
	e.order = slices.DeleteFunc(e.order, func(other *peerState) bool { return other == p })
	for _, s := range p.sending {
		s.finish(ErrDisconnected)
	}
	for _, r := range p.receiving {
		r.fail(ErrDisconnected)
	}
	p.sending, p.receiving = nil, nil
}

// tell calls the game's functions.
func (e *end) tell() {
	for i := 0; i < len(e.later); i++ { // They may add more.
		e.later[i]()
	}
	clear(e.later)
	e.later = e.later[:0]
}

// limit returns the maximum size of a transfer that this end sends or receives.
func (e *end) limit(leaves bool) int {
	if leaves == (e.server != nil) {
		return max(e.feature.config.FromServer, 0)
	}
	return max(e.feature.config.FromClient, 0)
}

// refuse ends a connection whose messages are invalid.
func (e *end) refuse(p *peerState, reason *netcode.CloseError) {
	if e.client != nil {
		extend.OfClient(e.client).End(reason)
	} else {
		p.session.End(reason)
	}
}

// post sends a message to the other end of a connection.
func post[T any](e *end, p *peerState, m *T) error {
	if e.client != nil {
		return netcode.Send(e.client, netcode.ToServer(), m)
	}
	return netcode.Send(e.server, netcode.To(p.id), m)
}

// later reports whether a message could not be queued now: the queue is full, or the connection is closing.
func later(err error) bool {
	return errors.Is(err, errs.ErrBackPressure) || errors.Is(err, errs.ErrNotConnected)
}

// answer sends a message that ends or confirms a transfer. If the queue is full it is sent in a later frame.
func answer[T any](e *end, p *peerState, m T) {
	if e.peers[p.id] != p {
		return
	}
	if len(p.answers) > 0 || later(post(e, p, &m)) {
		if len(p.answers) == mostAnswers {
			e.refuse(p, &netcode.CloseError{Reason: errs.ReasonQueueOverflow, Detail: "answers to transfers do not leave"})
			return
		}
		p.answers = append(p.answers, func() error { return post(e, p, &m) })
	}
}

// sendAnswers sends the answers that found no room before.
func (p *peerState) sendAnswers() {
	sent := 0
	for sent < len(p.answers) && !later(p.answers[sent]()) {
		sent++
	}
	p.answers = slices.Delete(p.answers, 0, sent)
}

// waiting returns the number of message bytes in the send queue.
func (e *end) waiting(p *peerState) int {
	if e.client != nil {
		return extend.OfClient(e.client).Waiting()
	}
	return p.session.Waiting()
}

// pump feeds the message queues of all connections.
func (e *end) pump(due bool) {
	for _, p := range e.order {
		if p.sendAnswers(); len(p.sending) > 0 {
			e.feed(p, due)
		}
	}
}

// feed adds pieces to the message queue of one connection. On a network tick it adapts the amount: doubled if the queue is empty,
// halved if more than half is left.
func (e *end) feed(p *peerState, due bool) {
	waiting := e.waiting(p)
	if due {
		switch {
		case waiting == 0:
			p.ahead = min(2*p.ahead, mostAhead)
		case waiting > p.ahead/2:
			p.ahead = max(p.ahead/2, leastAhead)
		}
	}
	for room := p.ahead - waiting; room > 0; {
		s := p.next(e.feature.config.AtOnce)
		if s == nil {
			return
		}
		n, err := s.step()
		switch {
		case later(err):
			return
		case err != nil:
			s.drop()
			s.finish(err)
		}
		room -= n
	}
}

// next returns the next transfer with something to send, round-robin among the first atOnce; nil if there is none.
func (p *peerState) next(atOnce int) *Sending {
	n := min(len(p.sending), atOnce)
	for range n {
		p.turn++
		if s := p.sending[p.turn%n]; s.ready() {
			return s
		}
	}
	return nil
}
