package netcode

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// closeRepeats is the number of close messages, closeEvery the time between two. An ack ends them earlier.
	closeRepeats = 4
	closeEvery   = 100 * time.Millisecond
	// leastPacket is the smallest budget for a packet of state or messages, in bytes: 64 beside headers, checksum and
	// feedback. A smaller rest is saved for the next tick.
	leastPacket = 96
)

// link is the part of a connection that both ends have: the packet layer, the queues of messages to send and received, and the close.
type link struct {
	conn     *peer.Conn
	address  transport.Addr
	remote   wire.ClientID // The id of the other end.
	near     *endpointCore // The other end, where it is in this process; nil else. Then no packets are sent.
	outgoing *peer.Outgoing
	held     *heldMessages // Messages that wait for their entity; nil on a client, and for one in this process.
	arrivals peer.Arrivals
	source   *message.Source
	budget   peer.Budget
	lent     bool          // Messages had the last loan of the budget: state gets the next one.
	bounded  bool          // In the last tick the budget kept something from being sent, and the rate did not.
	saves    time.Duration // So much of the rate may be saved up, two ticks at least.
	skipper  peer.Skipper

	frame  *frame
	config *Config
	out    *outbox.Buffer
	stats  *Stats

	receivedAt time.Duration // Time of the newest packet that came.
	sentAt     time.Duration // Time of the newest packet sent that must be acknowledged.

	gotMessages bool // Messages of the game came in this frame.
	tooMuch     bool // They exceed the quota.
	floods      int  // Frames beyond the quota, less frames with messages within it.

	reason     *peer.Error   // Reason of the end; nil before.
	leaveEnd   time.Duration // The other end closed: its messages are handled until then at most.
	flushing   bool          // Waiting messages are delivered before the close message, until flushEnd.
	flushEnd   time.Duration
	closeFirst uint64 // Sequence of the first close message.
	closesLeft int
	closeAt    time.Duration
	packetSize int  // Bytes of the largest packet that this end sends.
	fitted     int  // Bytes of the largest packet of state: less where the path takes less.
	closeAcked bool // The other end acknowledged a close message.

	handed uint64 // Sections that were handed to an end in this process.

	sent func(packet []byte) // Tells extensions of each packet; nil where none asks.
}

// start sets the fields of a fresh connection.
func (l *link) start(address transport.Addr, conn *peer.Conn, remote wire.ClientID, pool *peer.Pool, seed peer.SkipSeed) {
	now := l.frame.now
	l.address, l.conn, l.remote, l.near = address, conn, remote, nil
	l.outgoing, l.held = peer.NewOutgoing(l.config.outgoing(), pool), nil
	l.packetSize, l.fitted = l.config.PacketSize, l.config.PacketSize
	l.arrivals = peer.Arrivals{}
	l.source = message.NewSource(remote)
	l.budget, l.lent = peer.NewBudget(l.config.SendBudget, now), false
	l.budget.Pace(l.conn.Control().Rate())
	l.skipper = peer.NewSkipper(seed)
	l.receivedAt, l.sentAt = now, now
	l.gotMessages, l.tooMuch, l.floods = false, false, 0
	l.reason, l.flushing, l.closesLeft, l.closeAcked = nil, false, 0, false
}

// refill fills the budget at the rate of congestion control, of which two ticks, or saves if that is more, may be saved up.
func (l *link) refill() {
	l.budget.Refill(l.frame.now, l.conn.Control().Rate(), max(2*l.config.interval(), l.saves))
}

// endTick tells congestion control whether the rate kept something from being sent in this tick.
func (l *link) endTick(waits bool) {
	waits = waits && l.conn.CanSend()
	paced := l.budget.Paced()
	l.bounded = waits && !paced
	l.conn.Control().Tick(l.frame.now, waits && paced)
}

// line returns the state of congestion control of what this end sends.
func (l *link) line() LineState {
	state := l.conn.Control().State()
	if state.Reason == congestion.Application && l.bounded {
		state.Reason = congestion.Bound // There is more to send than the budget allows.
	}
	return state
}

// short reports whether the budget is too small for a packet, and counts it.
func (l *link) short() bool {
	if left := l.budget.Left(); left < 0 || left >= leastPacket {
		return false
	}
	l.stats.BudgetSpent++
	return true
}

// beginPacket opens the next packet, as large as the budget, congestion control and the path allow. It returns false where there is no room for it.
func (l *link) beginPacket() (b peer.Builder, ok bool) {
	if b, ok = l.open(l.conn.CanSend()); ok {
		size := l.conn.PathSize()
		size = min(size, l.conn.Control().PacketSize()-peer.PacketOverhead)
		if left := l.budget.Left(); left >= 0 {
			size = min(size, max(left, leastPacket))
		}
		b.Limit(size)
	}
	return b, ok
}

// mayGrow reports whether a packet may become larger than beginPacket made it, for one entity or message that does not fit else, and
// whether the budget lends what it takes.
func (l *link) mayGrow() (may, borrows bool) {
	if left := l.budget.Left(); left < 0 || left >= l.packetSize {
		return true, false
	}
	return l.budget.MayBorrow(), true
}

// pathLeft returns how many bytes a packet may grow by until it is as large as the path is known to take.
func (l *link) pathLeft(b *peer.Builder) int { return max(l.conn.PathSize()-b.Size(), 0) }

// fitPath makes the state of a view fit what the path is known to take.
func (l *link) fitPath(view *snapshot.View) {
	if n := l.conn.SettledSize(); n != l.fitted {
		l.fitted = n
		view.SetPayload(peer.MaxPayload(n))
	}
}

// probe sends a keep-alive that is padded with zeros, if it is to be learned whether the path takes packets of a size.
func (l *link) probe(payload []byte) {
	n := l.conn.ProbeDue(l.frame.now)
	if left := l.budget.Left(); n == 0 || left >= 0 && left < n || !l.conn.CanSend() {
		return
	}
	room := l.out.Room(l.config.PacketSize)
	if room == nil {
		l.stats.OutputFull++
		return
	}
	b := l.conn.BeginProbe(room, n)
	rest := b.Payload()
	clear(rest[copy(rest, payload):])
	b.Add(wire.MessageKeepAlive, tick.Initialization, len(rest))
	l.finish(&b)
}

// sign opens a packet that only acknowledges, or proves that this end is alive. It sometimes gets room where other packets get
// none: two ends that both wait for acknowledgements must not block each other.
func (l *link) sign() (peer.Builder, bool) { return l.open(l.conn.CanSign(l.frame.now)) }

// open opens the next packet if the ring of sent packets has room for it.
func (l *link) open(may bool) (peer.Builder, bool) {
	if !may {
		l.stats.SentRingFull++
		return peer.Builder{}, false
	}
	room := l.out.Room(l.config.PacketSize)
	if room == nil {
		l.stats.OutputFull++
		return peer.Builder{}, false
	}
	return l.conn.Begin(room), true
}

// finish closes a packet and queues it for Drain.
func (l *link) finish(b *peer.Builder) {
	if !b.Empty() {
		l.sentAt = l.frame.now
	}
	packet := l.conn.Finish(b, l.frame.clock.Tick(), l.frame.now)
	l.budget.Take(len(packet))
	l.out.Commit(l.address, len(packet))
	if l.sent != nil {
		l.sent(packet)
	}
	if l.skipper.Due() {
		l.conn.Skip()
	}
}

// wants reports whether there is something to send beside state: messages, or credit for those of the other end.
func (l *link) wants() bool {
	_, credit := l.arrivals.CreditDue()
	return credit || l.outgoing.Pending()
}

// load puts credit and messages into a packet, in order, as many as fit. If state waits too, only the first message may take
// more than half of a packet, so that messages never starve the state. Where half of a packet is too small for state,
// packets of messages and of state alternate. A message larger than its share of the budget borrows the rest; borrowed is
// true then.
func (l *link) load(b *peer.Builder, stateWaits bool) (borrowed bool) {
	if low, due := l.arrivals.CreditDue(); due && b.Fits(peer.CreditSize) {
		binary.LittleEndian.PutUint32(b.Payload(), low)
		b.Add(wire.MessageCredit, tick.Initialization, peer.CreditSize)
		l.arrivals.CreditSent(b.Sequence())
	}
	if !l.outgoing.Pending() {
		return false
	}
	room := b.Room()
	share := room + wire.MessageHeaderSize
	if stateWaits && room/2 >= snapshot.MinPayload {
		l.outgoing.Fill(b, room/2)
		if b.Room() < room {
			return false
		}
		share = room / 2
	}
	if may, borrows := l.mayGrow(); b.Spare() > 0 && may && !(stateWaits && l.lent) {
		if need := l.outgoing.Next(b); need > share {
			grown := need - share
			if fits := l.pathLeft(b); grown > fits { // Beyond the path only for what does not fit it else.
				grown = max(fits, need-room-wire.MessageHeaderSize)
			}
			if grown = b.Grow(grown); borrows {
				l.budget.Borrow(grown)
			}
			l.outgoing.Fill(b, need)
			l.lent = true
			return true
		}
	}
	l.outgoing.Fill(b, b.Room()+wire.MessageHeaderSize)
	return false
}

// addState writes rows of a view that the other end lacks into a packet, as many as its share of the budget takes, and
// returns their payload, nil if there were none. One entity, or group, that is larger than the share borrows the rest.
func (l *link) addState(b *peer.Builder, view *snapshot.View, desk *snapshot.EncodeCache) (state []byte) {
	share := b.Room()
	lend, borrows := l.mayGrow()
	spare := b.Spare()
	if !b.Empty() { // Beyond the path only for what does not fit it else.
		spare = min(spare, l.pathLeft(b))
	}
	spare = b.Grow(spare)
	n := view.WriteWithin(desk, b.Payload(), share, lend, b.Sequence())
	if n > 0 {
		state = b.Payload()[:n]
		b.Add(wire.MessageSnapshot, tick.Initialization, n)
	}
	if spare > 0 {
		borrowed := max(n-share, 0)
		if borrows {
			l.budget.Borrow(borrowed)
		}
		b.Grow(borrowed - spare)
		l.lent = l.lent && !lend
	}
	return state
}

// sendMessages sends packets of messages until nothing waits, or the budget or the ring of sent packets is used up.
func (l *link) sendMessages() {
	for l.wants() {
		if l.short() {
			return
		}
		b, ok := l.beginPacket()
		if !ok {
			return
		}
		if l.load(&b, false); b.Empty() {
			return
		}
		l.finish(&b)
	}
}

// sendAck sends a packet that only acknowledges.
func (l *link) sendAck() {
	if b, ok := l.sign(); ok {
		l.finish(&b)
	}
}

// repeatAck sends the newest acknowledgement once more.
func (l *link) repeatAck() {
	room := l.out.Room(peer.AckSize)
	if room == nil {
		l.stats.OutputFull++
		return
	}
	n := l.conn.Again(room)
	if n == 0 {
		l.sendAck()
		return
	}
	l.budget.Take(n)
	l.out.Commit(l.address, n)
	if l.sent != nil {
		l.sent(room[:n])
	}
}

// keepAlive sends a message that must be acknowledged, if none was sent for a while: it measures the link and proves that
// this end is alive. It reports whether it sent one.
func (l *link) keepAlive(every time.Duration, payload []byte) (sent bool) {
	if l.frame.now-l.sentAt < every {
		return false
	}
	b, ok := l.sign()
	if ok {
		b.Add(wire.MessageKeepAlive, tick.Initialization, copy(b.Payload(), payload))
		l.finish(&b)
	}
	return ok
}

// silent reports whether nothing came for the silence timeout.
func (l *link) silent() bool { return l.frame.now-l.receivedAt >= l.config.SilenceTimeout }

// overrun returns, once a frame, the reason to end the connection; nil if there is none. A queue of reliable messages
// overflowed at one of the two ends, or a client exceeded its quota for long. t is the tick that messages wait for.
func (l *link) overrun(t tick.Tick) *peer.Error {
	l.arrivals.Freed(l.source.TakeFreed())
	if l.gotMessages {
		if l.tooMuch && l.remote != 0 { // A server does not know the quotas of its clients, and they trust it.
			l.floods++
		} else {
			l.floods = max(l.floods-1, 0)
		}
		l.gotMessages, l.tooMuch = false, false
	}
	if err := l.source.Fault(); err != nil {
		l.stats.QueueOverflows++
		return &peer.Error{Reason: peer.ReasonQueueOverflow, Detail: err.Error()}
	}
	if l.floods >= l.config.FloodFrames {
		l.stats.RateLimited++
		return &peer.Error{Reason: peer.ReasonRateLimit}
	}
	if blocked := l.outgoing.Blocked(l.frame.now, t); blocked >= l.config.ReliableStall {
		l.stats.Stalled++
		return &peer.Error{Reason: peer.ReasonQueueOverflow, Detail: fmt.Sprintf("reliable messages waited for %v", blocked)}
	}
	return nil
}

// acked takes an acknowledgement.
func (l *link) acked(seq uint64) {
	if l.reason != nil && !l.flushing && seq >= l.closeFirst {
		l.closeAcked = true
	}
	l.outgoing.Acked(seq)
	l.arrivals.Acked(seq)
}

// lost takes a packet that is presumed lost.
func (l *link) lost(seq uint64) {
	l.outgoing.Lost(seq)
	l.arrivals.Lost(seq)
}

// startClose begins the end of a connection. With flush, waiting messages and reliable ones that are not acknowledged are
// delivered before the first close message, for Config.FlushTimeout at most.
func (l *link) startClose(reason *peer.Error, flush bool) {
	l.reason = reason
	if flush && l.config.FlushTimeout > 0 && l.hasUnconfirmed() {
		l.flushing, l.flushEnd = true, l.frame.now+l.config.FlushTimeout
		return
	}
	l.sendFirstClose()
}

// hasUnconfirmed reports whether the other end may lack messages, as far as this end knows.
func (l *link) hasUnconfirmed() bool { return l.outgoing.Unconfirmed() > 0 || l.outgoing.Waiting() > 0 }

// flush delivers messages, and sends the first close message when none is left or the time is over.
func (l *link) flush(out peer.Outcome) {
	if l.frame.due {
		l.conn.DetectLost(l.frame.now, out)
	}
	l.refill()
	l.sendMessages()
	if l.frame.due {
		l.endTick(l.wants())
	}
	if !l.conn.CanSend() {
		l.keepAlive(closeEvery, nil)
	}
	switch {
	case !l.hasUnconfirmed():
	case l.frame.now >= l.flushEnd:
		l.stats.FlushesCut++
	default:
		if l.frame.due && l.conn.AckDue() {
			l.sendAck()
		}
		return
	}
	l.sendFirstClose()
}

// continueClose is a frame of a connection that is over: it flushes, or repeats the close message. It reports whether the
// close is done.
func (l *link) continueClose(out peer.Outcome) (over bool) {
	if l.flushing {
		l.flush(out)
		return false
	}
	return l.repeatClose()
}

// sendFirstClose sends the first close message; repeatClose sends the others.
func (l *link) sendFirstClose() {
	l.flushing = false
	l.outgoing.Clear()
	l.closesLeft = closeRepeats
	l.closeFirst = l.conn.Next()
	l.sendClose()
}

// repeatClose repeats the close message and reports whether that is over: acknowledged, or sent often enough.
func (l *link) repeatClose() (over bool) {
	if l.closeAcked {
		return true
	}
	if l.frame.now < l.closeAt {
		return false
	}
	if l.closesLeft == 0 {
		return true
	}
	l.sendClose()
	return false
}

// sendClose sends the close message once.
func (l *link) sendClose() {
	l.closesLeft--
	l.closeAt = l.frame.now + closeEvery
	if b, ok := l.open(l.conn.HasRoom()); ok {
		payload := peer.AppendClose(b.Payload()[:0], *l.reason)
		b.Add(wire.MessageClose, tick.Initialization, len(payload))
		l.finish(&b)
	}
}

// closingPacket takes a packet that came after this end closed: credit lets waiting messages leave, and a close message of
// the other end ends the wait. It reports whether there was one. A packet with a message that has no effect any more is not
// acknowledged, so that its sender does not count it as handled.
func (l *link) closingPacket(in peer.Incoming, role peer.Role) (closed bool) {
	dropped := false
	r := in.Messages()
	for r.Next() {
		switch {
		case peer.Allowed(peer.StateClosing, role, r.Header.Type) != peer.VerdictAccept || r.Channel != 0:
			dropped = true
		case r.Header.Type == wire.MessageClose:
			closed = true
		case r.Header.Type == wire.MessageCredit && len(r.Payload) == peer.CreditSize:
			l.outgoing.Credit(parseCredit(r.Payload))
		}
	}
	if r.Err() == nil && !dropped {
		l.conn.Accept(in, l.frame.now)
	}
	return closed
}

// PacketSizeError says that a packet size is out of its range.
type PacketSizeError struct {
	Size     int // Bytes that were asked for.
	Min, Max int // Bytes that are possible: MinPacketSize to the Config.PacketSize of the server.
}

// Error implements error.
func (e *PacketSizeError) Error() string {
	return fmt.Sprintf("netcode: a packet size is from %d to %d bytes, not %d: Config.PacketSize of the server is the most", e.Min, e.Max, e.Size)
}

// SetPacketSize bounds the packets that the server sends to one client, in bytes: for a client whose path takes less than
// Config.PacketSize. n is from MinPacketSize to Config.PacketSize. The client bounds its own by Client.SetPacketSize. Call it in
// OnConnect: while messages for the client wait or are not acknowledged, it returns ErrMessagesWait and changes nothing. The other errors
// are ErrNotConnected and *PacketSizeError. The player of a host has no packets.
func (s *Server) SetPacketSize(client ClientID, n int) error {
	c := s.client(client)
	if c == nil {
		return ErrNotConnected
	}
	if err := c.setPacketSize(n, s.config.PacketSize); err != nil {
		return err
	}
	c.view.SetPayload(peer.MaxPayload(n))
	return nil
}

// SetPacketSize bounds the packets that this client sends, in bytes: for a path that takes less than what the server allows. n is
// from MinPacketSize to Config.PacketSize of the server. It holds for this connection: call it in OnConnect. The errors are those of
// Server.SetPacketSize.
func (c *Client) SetPacketSize(n int) error {
	if c.state != Connected {
		return ErrNotConnected
	}
	if err := c.setPacketSize(n, c.agreed.PacketSize); err != nil {
		return err
	}
	if c.up.view != nil {
		c.up.view.SetPayload(peer.MaxPayload(n))
	}
	return nil
}

// SetBudget bounds the bytes that the server sends to one client in a second, as Config.SendBudget does for all: congestion
// control stays below it, and below 0 there is neither. 0 is that of Config.SendBudget again. It holds for this connection. The
// budget counts packets without the 28 bytes of IP and UDP, LineState.Rate with them. The error is ErrNotConnected. The player of a
// host has no packets.
func (s *Server) SetBudget(client ClientID, bytesPerSecond int) error {
	c := s.client(client)
	if c == nil {
		return ErrNotConnected
	}
	if bytesPerSecond == 0 {
		bytesPerSecond = s.config.SendBudget
	}
	c.conn.SetBound(lineBound(bytesPerSecond))
	c.budget.SetBound(bytesPerSecond)
	c.budget.Pace(c.conn.Control().Rate())
	return nil
}

// setPacketSize is SetPacketSize for either end.
func (l *link) setPacketSize(n, most int) error {
	switch {
	case l.near != nil:
		return nil
	case n < MinPacketSize || n > most:
		return &PacketSizeError{Size: n, Min: MinPacketSize, Max: most}
	case !l.outgoing.SetPacketSize(n):
		return ErrMessagesWait
	}
	l.conn.SetPacketSize(n)
	l.packetSize, l.fitted = n, n
	return nil
}

// stallLimit is the longest gap between two frames that counts as silence of the other end.
const stallLimit = time.Second

// frame is the present moment of a server or a client.
type frame struct {
	clock tick.Clock
	now   time.Duration
	due   bool // A network tick falls into this frame.
	steps int  // Number of ticks in this frame.
	begun bool
	given time.Duration // Time of the last frame as it was given: now continues when the clock is set back.
}

// after returns the time d later, or the latest possible one.
func (f *frame) after(d time.Duration) time.Duration {
	if d > 0 && f.now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return f.now + d
}

// begin moves to the next frame. It returns the part of the gap since the last one that was a stall of this process. Nothing
// was read meanwhile, so it must not count as silence of the other end.
func (f *frame) begin(now time.Duration) (stall time.Duration) {
	gone := max(now-f.given, 0)
	if f.begun {
		stall = max(gone-stallLimit, 0)
		f.now += gone
	} else {
		f.now = now
	}
	f.begun, f.given = true, now
	f.steps = f.clock.Advance(f.now)
	f.due = f.steps > 0
	return stall
}

// isOrderly reports whether an end that closes for this reason delivers its messages first, so that they are to be handled:
// the reasons of the game, and those of netcode that are no fault.
func isOrderly(reason *peer.Error) bool {
	switch reason.Reason {
	case peer.ReasonClosed, peer.ReasonKicked, peer.ReasonShuttingDown:
		return true
	}
	return !reason.Reason.Ours()
}

// startDrain begins the wait for the handlers of messages that the other end sent before it closed in order. Nothing is sent
// there any more but acknowledgements of its close message.
func (l *link) startDrain(reason *peer.Error) {
	l.reason, l.leaveEnd = reason, l.frame.now+l.config.LeaveTimeout
	l.outgoing.Clear()
}

// drained reports whether that wait is over. The inbound queues have counted the waiting messages of the source.
func (l *link) drained() bool {
	return l.source.Unhandled() == 0 || l.source.Fault() != nil || l.frame.now >= l.leaveEnd
}
