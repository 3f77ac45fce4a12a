package netcode

import (
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// collectionsWaiting is how many bytes may wait for a client before it is sent the changed collections whole,
	// later: what has left its sight by then is never sent.
	collectionsWaiting = 16 << 10
	// collectionsPieces is how many packets' worth may wait while pieces of whole collections are added.
	collectionsPieces = 2
	// collectionsBeside is what stands in a packet beside a body: headers, message number, entity.
	collectionsBeside = 24
)

// sendCollections queues for each client what it lacks of collections, once a frame, when it is known what it may see.
func (s *Server) sendCollections() {
	origin := s.collections.origin
	for _, id := range s.store.Ended() {
		origin.Drop(id)
	}
	s.store.ClearEnded()
	dirty := origin.Dirty()
	for _, c := range s.sessions {
		if c.state != connected {
			continue
		}
		c.view.Observe()
		c.collector.handed = 0
		if c.collector.reader == nil {
			c.collector.reader = collections.NewReader()
		}
		s.recallCollections(c)
		r := c.collector.reader
		for _, content := range dirty {
			r.Follow(content, &c.collector)
		}
		for _, id := range c.view.Met() {
			for number := range s.protocol.collections {
				if content := origin.Find(number, id); content != nil {
					r.Meet(content, &c.collector)
				}
			}
		}
		c.view.ClearMet()
		r.Fill(&c.collector)
	}
	origin.Settle()
}

// recallCollections takes back what collections have to say to a client about entities that have left its sight since it was
// last asked. Fill follows, which sends anew the elements that named such an entity.
func (s *Server) recallCollections(c *Session) {
	l := &c.collector
	if l.sights == c.view.Sights() {
		return
	}
	l.sights, l.amends = c.view.Sights(), true
	c.outgoing.Recall(collectionsChannel(), l)
	l.amends = false
}

// recall takes back what waits for a client about entities that have left its sight, whoever said it, before anything leaves in
// this frame.
func (s *Server) recall(c *Session) {
	l := &c.collector
	l.recalled = c.view.Sights()
	s.stats.Recalled += c.outgoing.RecallAll(l)
}

// collector is a client as its collections see it. It implements collections.Link and peer.Recaller.
type collector struct {
	server   *Server
	session  *Session
	reader   *collections.Reader
	sights   uint64 // Of the view, when what waits of collections was last looked through,
	recalled uint64 // and all that waits,
	kept     uint64 // or what the host's player has.
	handed   int    // Bytes that were handed to the host's player in this frame.
	amends   bool   // Names are taken out of what waits of collections, too.
}

// Gone implements peer.Recaller.
func (l *collector) Gone(id wire.NetworkID) bool { return !l.session.view.Visible(id) }

// Blank implements peer.Recaller. A message of the game was for the client's eyes when it was sent first; what the client may
// have of it already is sent again as it is.
func (l *collector) Blank(kind wire.MessageType, body []byte) {
	if kind == l.server.protocol.collectionType {
		collections.Blank(body)
	}
}

// Amend implements peer.Recaller.
func (l *collector) Amend(kind wire.MessageType, body []byte) int {
	switch {
	case kind != l.server.protocol.collectionType:
		return copy(body, l.server.unseen(l.session, kind, body))
	case !l.amends:
		return len(body)
	}
	return l.reader.Amend(l.server.protocol.collections, body, l)
}

// Life implements collections.Link.
func (l *collector) Life(id wire.NetworkID) (tick.Tick, bool) { return l.session.view.Life(id) }

// Held implements collections.Link.
func (l *collector) Held(id wire.NetworkID) bool { return l.session.view.Held(id) }

// Names implements collections.Link.
func (l *collector) Names(id wire.NetworkID) bool { return l.session.view.Visible(id) }

// Sights implements collections.Link.
func (l *collector) Sights() uint64 { return l.session.view.Sights() }

// Room implements collections.Link.
func (l *collector) Room() bool {
	if l.session.near != nil {
		return l.handed < collectionsWaiting
	}
	return l.session.outgoing.Waiting() < collectionsPieces*l.session.packetSize
}

// Limit implements collections.Link.
func (l *collector) Limit() int {
	return peer.MaxPayload(l.session.packetSize) - collectionsBeside
}

// Push implements collections.Link.
func (l *collector) Push(id wire.NetworkID, body []byte) error {
	c := l.session
	if c.outgoing.Waiting() > collectionsWaiting || l.handed > collectionsWaiting {
		return ErrBackPressure
	}
	p := peer.Post{
		Type: l.server.protocol.collectionType, Stage: collectionsStage, Channel: collectionsChannel(),
		Flags: wire.FlagEntity, Entity: id,
	}
	if c.near != nil {
		l.handed += len(body)
		return c.handBytes(0, &p, body)
	}
	if err := c.outgoing.Push(&p, body); err != nil {
		return c.failed(err, collectionsName, &p, len(body))
	}
	l.server.record(c.id, &p, body)
	return nil
}
