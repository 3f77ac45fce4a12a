package transfer

import (
	"errors"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
)

const (
	leastAhead = 2 * pieceSize // Bytes of pieces that may wait in the queue of messages: a packet of them,
	mostAhead  = 64 << 10      // or more where they leave at once.
	// mostAnswers bounds what must be told and found no room. An end that lets more of it wait does not read.
	mostAnswers = 256
	unread      = 128 << 10 // Bytes of a transfer that may be on their way, before its receiver tells that it has some.
)

// end is the feature on a server or a client.
type end struct {
	feature *feature
	server  *netcode.Server // Nil on a client.
	client  *netcode.Client // Nil on a server.
	handler *Handler
	peers   map[netcode.ClientID]*peerState
	order   []*peerState
	later   []func() // Calls of game code that wait for the next frame.
	piece   piece
}

// peerState is the transfers of one connection.
type peerState struct {
	session   *netcode.Session // Nil on a client.
	id        netcode.ClientID
	last      uint32 // The newest number of a transfer that is sent,
	newest    uint32 // and of one that came.
	sending   []*Sending
	receiving []*Receiving
	ahead     int // Bytes of pieces that may wait to leave.
	turn      int
	answers   []func() error // Messages that found no room, at most mostAnswers.
}

// Server implements netcode.ServerSide.
func (f *feature) Server(s *netcode.Server) netcode.ServerHooks {
	e := &end{feature: f, server: s, peers: map[netcode.ClientID]*peerState{}}
	return netcode.ServerHooks{
		State:      e,
		Opened:     func(c *netcode.Session) any { e.open(&peerState{session: c, id: c.ID()}); return nil },
		Closed:     func(c *netcode.Session) { e.close(c.ID()) },
		BeginFrame: e.tell,
		BeforeSend: func() { e.pump(s.TickDue()) },
	}
}

// Client implements netcode.ClientSide.
func (f *feature) Client(c *netcode.Client) netcode.ClientHooks {
	e := &end{feature: f, client: c, peers: map[netcode.ClientID]*peerState{}}
	return netcode.ClientHooks{
		State:      e,
		Opened:     func() { e.close(0); e.open(&peerState{}) },
		Closed:     func() { e.close(0) },
		BeginFrame: e.tell,
		BeforeSend: func() { e.pump(c.TickDue()) },
	}
}

// open begins a connection.
func (e *end) open(p *peerState) {
	p.ahead = leastAhead
	e.peers[p.id] = p
	e.order = append(e.order, p)
}

// close ends a connection, and all of its transfers.
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

// tell calls game code.
func (e *end) tell() {
	for len(e.later) > 0 {
		f := e.later[0]
		e.later = slices.Delete(e.later, 0, 1)
		f()
	}
}

// limit is the size of the largest transfer that leaves this end, or comes to it.
func (e *end) limit(leaves bool) int {
	if leaves == (e.server != nil) {
		return max(e.feature.config.FromServer, 0)
	}
	return max(e.feature.config.FromClient, 0)
}

// refuse ends a connection whose messages are not legal.
func (e *end) refuse(p *peerState, reason *netcode.CloseError) {
	if e.client != nil {
		e.client.End(reason)
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

// later reports whether a message found no room in the queue, or the connection is about to end: it is sent in a later frame, if ever.
func later(err error) bool {
	return errors.Is(err, netcode.ErrBackPressure) || errors.Is(err, netcode.ErrNotConnected)
}

// answer sends what ends a transfer, or tells how far it is. If the queue is full, it is sent in a later frame.
func answer[T any](e *end, p *peerState, m T) {
	if e.peers[p.id] != p {
		return
	}
	if len(p.answers) > 0 || later(post(e, p, &m)) {
		if len(p.answers) == mostAnswers {
			e.refuse(p, &netcode.CloseError{Reason: peer.ReasonQueueOverflow, Detail: "answers to transfers do not leave"})
			return
		}
		p.answers = append(p.answers, func() error { return post(e, p, &m) })
	}
}

// sendAnswers sends what found no room.
func (p *peerState) sendAnswers() {
	for len(p.answers) > 0 && !later(p.answers[0]()) {
		p.answers = slices.Delete(p.answers, 0, 1)
	}
}

// waiting is the number of bytes of messages that wait to leave.
func (e *end) waiting(p *peerState) int {
	if e.client != nil {
		return e.client.Waiting()
	}
	return p.session.Waiting()
}

// pump gives the queues of messages as many pieces as leave soon.
func (e *end) pump(due bool) {
	for _, p := range e.order {
		if p.sendAnswers(); len(p.sending) > 0 {
			e.feed(p, due)
		}
	}
}

// feed gives pieces to the queue of one connection. On a network tick it judges by what is left how many leave at once: twice as many
// as last time, or half.
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

// next is the transfer whose turn it is, of the first few; nil if none has a piece to send.
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
