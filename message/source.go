package message

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Source is one end that messages come from: the connection to it holds one. It is its quota of the frame, what of it waits
// for a tick or an entity, and what became of its messages. It belongs to one Inbound.
type Source struct {
	id        wire.ClientID
	frame     uint64 // to which the quota belongs
	messages  int    // in that frame, waiting ones included
	bytes     int
	kept      int // bytes of its packets that Keep has copied
	filling   uint64
	held      int // bytes in the frame, since that was last empty: Inbound.filling counts how often it was
	refused   int
	unhandled int // reliable ones that wait, when CountUnhandled last looked
	freed     int
	fault     error
	deferred  deferred
	listed    bool // the Inbound knows that something of it is deferred
	inside    bool // it is in this process
	crowd     [tick.NumStages]crowded
	place     uint64 // of its newest UnreliableSequenced message
	lines     *lines // nil before anything came that has an order
}

// NewSource returns the source of the messages of one end.
func NewSource(id wire.ClientID) *Source { return &Source{id: id} }

// ID returns who it is.
func (s *Source) ID() wire.ClientID { return s.id }

// TakeFreed returns the cost of the reliable messages that were handled or given up since the last call: credit to grant.
func (s *Source) TakeFreed() int {
	n := s.freed
	s.freed = 0
	return n
}

// Unhandled returns how many of its reliable messages Inbound.CountUnhandled found that wait.
func (s *Source) Unhandled() int { return s.unhandled }

// Fault returns why the connection cannot go on, nil while it can: a reliable message of it had to be dropped, with
// ErrFull or, of an end in this process, ErrDeferredFull. It stays.
func (s *Source) Fault() error { return s.fault }

// Refused returns how many messages went beyond its quota in the frame that it last sent in.
func (s *Source) Refused() int { return s.refused }

// Deferred returns how many of its messages wait for a tick, an entity or each other, and the bytes of their payloads.
func (s *Source) Deferred() (messages, bytes int) { return s.deferred.count, s.deferred.bytes }

// enter begins the source's quota of a frame.
func (s *Source) enter(frame uint64) {
	if s.frame != frame {
		s.frame, s.messages, s.bytes, s.kept, s.refused = frame, 0, 0, 0, 0
	}
}

// fail keeps the first fault.
func (s *Source) fail(err error) {
	if s.fault == nil {
		s.fault = err
	}
}
