package endpoint

import (
	"errors"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Link is a connection with the state that the game's messages need.
type Link struct {
	link.Link
	Session  extend.Session   // The session of this connection; nil at a client.
	View     *snapshot.View   // This end's state as the other end has it; nil if none is sent.
	State    *replica.Replica // The other end's state; nil if none is sent.
	Loopback *End             // The other end, if it is in this process; else nil. Such a link sends no packets. A recorded player's end has no Inbound.
	Held     *held.Queue      // Messages that are held back; nil if the other end is in this process.
	Older    *registry.Older  // The protocol of the connection, if it is an older build's.
	AckedOf  tick.Tick        // The newest tick of an acknowledged packet.

	end     *End
	records records // View, for acknowledgements.
	passed  uint64  // The number of the newest section passed to an end in this process.
	list    uint64  // The newest End.lists that the client is in.

	// While a recall runs.
	sights uint64                // The View's count of visibility changes at the last recall.
	raw    *Raw                  // The message type of Raw.Recall.
	amend  func(body []byte) int // The function of that Recall.
}

// records learns of sent packets. It is an interface so that the linker omits the code from clients that send no state.
type records interface {
	Acked(packet uint64)
	Lost(packet uint64)
}

// NewLink makes a link that is not started; session is nil at a client.
func (e *End) NewLink(session extend.Session) Link {
	return Link{Link: link.Link{Frame: e.Frame, Out: e.Out, Counters: &e.Counters.Links}, Session: session, end: e}
}

// Start begins a new connection.
func (l *Link) Start(address transport.Addr, conn *peer.Conn, remote wire.ClientID, seed peer.SkipSeed) {
	l.View, l.State, l.Loopback, l.Held, l.Older, l.AckedOf, l.passed = nil, nil, nil, nil, nil, tick.None, 0
	l.Link.Start(l.end.Config.Link, address, conn, remote, l.end.pool, seed)
}

// Show sets the view of this end's state for the other end.
func (l *Link) Show(view *snapshot.View) { l.View, l.records = view, view }

// outcome is a Link as peer.Outcome.
type outcome Link

// Acked implements peer.Outcome: the view records new baselines.
func (o *outcome) Acked(packet uint64, sentAt tick.Tick) {
	if o.View != nil {
		o.records.Acked(packet)
	}
	if o.View != nil || o.Session == nil { // A session without a view is over.
		o.end.Sections.tell(o.Session, packet, false)
	}
	o.AckedOf = max(o.AckedOf, sentAt)
	o.Link.Acked(packet)
}

// Lost implements peer.Outcome: the view marks entities to be sent again.
func (o *outcome) Lost(packet uint64) {
	if o.View != nil {
		o.records.Lost(packet)
	}
	if o.View != nil || o.Session == nil {
		o.end.Sections.tell(o.Session, packet, true)
	}
	o.Link.Lost(packet)
}

// Read opens a received packet. Its acknowledgements take effect.
func (l *Link) Read(packet []byte) (peer.Incoming, error) {
	in, err := l.Conn.Read(packet, l.Frame.Now, (*outcome)(l))
	in.Arrived -= l.Frame.Waited
	return in, err
}

// DetectLost finds sent packets that are lost.
func (l *Link) DetectLost() { l.Conn.DetectLost(l.Frame.Now, (*outcome)(l)) }

// ContinueClose runs a frame of a connection that is over. It reports whether the close is done.
func (l *Link) ContinueClose() (over bool) { return l.Link.ContinueClose((*outcome)(l)) }

// Accept acknowledges a packet that took effect. It returns the reason if the other end closes with it.
func (l *Link) Accept(in peer.Incoming, got *Contents) (closed *errs.CloseError) {
	l.Conn.Accept(in, l.Frame.Now)
	if got.closed != nil || l.Conn.AckNow() {
		l.SendAck()
	}
	return got.closed
}

// SetPacketSize implements SetPacketSize of both ends.
func (l *Link) SetPacketSize(n int) error {
	size := l.end.Config.Link.PacketSize
	switch {
	case l.Loopback != nil:
	case n < wire.MinPacketSize || n > size:
		return &errs.PacketSizeError{Size: n, Min: wire.MinPacketSize, Max: size}
	case !l.Link.SetPacketSize(n):
		return errs.ErrMessagesWait
	}
	if l.View != nil {
		l.View.SetPayload(peer.MaxPayload(n))
	}
	return nil
}

// DropHeld drops the held messages of a connection that is over.
func (l *Link) DropHeld() {
	if l.Held == nil {
		return
	}
	if list := l.Held.Messages(); l.Undelivered != nil {
		for i := range list {
			if m := &list[i]; !m.Gone() && m.Channel.Delivery().Reliable() {
				l.Undelivered(m.Post, l.Held.Body(m), true)
			}
		}
	}
	l.end.Counters.DelayedDropped += uint64(l.Held.Count)
	l.Held = nil
}

// Forget drops the queued messages of the other end, whose connection is over.
func (l *Link) Forget() {
	if l.Source != nil {
		l.end.tellUnhandled(l)
		l.end.Counters.OfTheGone += uint64(l.end.Inbound.Drop(l.Source))
	}
}

// deliverLocal passes an encoded message to the other end of a link in this process.
func (l *Link) deliverLocal(sender wire.ClientID, p *peer.Post, body []byte) error {
	if l.Loopback.Inbound == nil {
		return nil // The session of a recorded player.
	}
	local := localMessage(p)
	return l.Loopback.Inbound.PushLocal(l.Loopback.sourceOf(sender), &local, body)
}

// sourceOf returns the source of messages from an end in this process.
func (e *End) sourceOf(sender wire.ClientID) *message.Source {
	if l, err := e.owner.LinkTo(sender); err == nil {
		return l.Source
	}
	return e.Inbound.Local()
}

// failed counts an error of the queue to a peer and returns the error for Send.
func (l *Link) failed(err error, name string, p *peer.Post, size int) error {
	switch counters := &l.end.Counters; {
	case errors.Is(err, peer.ErrTooLarge):
		counters.TooLarge++
		return &errs.TooLargeError{Name: name, Size: size, Max: l.Outgoing.MaxBody(p)}
	case errors.Is(err, peer.ErrQueueFull):
		counters.OutboxFull++
		return errs.ErrQueueFull
	case errors.Is(err, peer.ErrBackPressure):
		counters.BackPressure++
		return errs.ErrBackPressure
	case errors.Is(err, peer.ErrEntity):
		return errs.ErrNotVisible
	}
	return err
}
