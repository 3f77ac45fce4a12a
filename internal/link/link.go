package link

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode/congestion"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// closeRepeats is the number of close messages. An ack ends them earlier.
	closeRepeats = 4
	// CloseEvery is the time between two close messages.
	CloseEvery = 100 * time.Millisecond
	// LeastPacket is the smallest budget for a packet of state or messages, in bytes: 64 beside headers, checksum and
	// feedback. A smaller rest is saved for the next tick.
	LeastPacket = 96
)

// Link is the common part of a connection at both ends: the packet layer, the queues of messages, the budget and the
// close.
type Link struct {
	Conn     *peer.Conn      // The packet layer.
	Address  transport.Addr  // The address of the other end.
	Remote   wire.ClientID   // The id of the other end, 0 for a server.
	Outgoing *peer.Outgoing  // Messages to send.
	Arrivals peer.Arrivals   // The channels of received messages.
	Source   *message.Source // The other end's messages in the queues of Dispatch.
	Budget   peer.Budget     // Bytes that may be sent now.
	Saves    time.Duration   // The budget saves up the rate of this time, at least of two ticks.
	lent     bool            // Messages had the last loan of the budget: state gets the next.
	bounded  bool            // In the last tick the budget delayed something, and the rate did not.
	skipper  peer.Skipper

	Frame    *tick.Frame    // The frame of this end.
	Out      *outbox.Buffer // The packets of this end for Drain.
	Counters *Counters      // Counts for all links of this end.
	config   Config

	ReceivedAt time.Duration // The time of the newest received packet.
	SentAt     time.Duration // The time of the newest sent packet that must be acknowledged.

	gotMessages bool // Messages of the game arrived in this frame.
	tooMuch     bool // They exceed the quota.
	floods      int  // Frames beyond the quota, less frames with messages within it.

	Reason     *errs.CloseError // The reason of the end; nil before.
	leaveEnd   time.Duration    // The other end closed: its messages are handled until then at most.
	flushing   bool             // Waiting messages are delivered before the close message, until flushEnd.
	flushEnd   time.Duration
	closeFirst uint64 // The sequence of the first close message.
	closesLeft int
	closeAt    time.Duration
	PacketSize int  // Bytes of the largest packet that this end sends.
	Fitted     int  // Bytes of the largest packet of state: less if the path takes less.
	CloseAcked bool // The other end acknowledged a close message.

	Sent func(packet []byte) // Gets each packet; may be nil.
	// Undelivered gets each reliable message that is dropped before it was acknowledged, see peer.Outgoing.EachUnconfirmed; may be nil.
	Undelivered func(p peer.Post, body []byte, whole bool)
}

// Config is the part of an end's configuration that links use. The fields are those of netcode.Config.
type Config struct {
	PacketSize    int                 // The most bytes of a packet.
	SendBudget    int                 // Bytes per second; negative: no bound.
	TickInterval  time.Duration       // The time between two network ticks.
	Outgoing      peer.OutgoingConfig // Bounds of messages that wait to be sent.
	FloodFrames   int                 // The number of frames beyond the quota that ends the connection.
	ReliableStall time.Duration       // The longest wait of reliable messages.
	FlushTimeout  time.Duration       // The longest wait of a close for the delivery of messages.
	LeaveTimeout  time.Duration       // The longest wait for the handlers of messages after the other end closed.
}

// Counters counts the limits that links reach, as in netcode.Stats.
type Counters struct {
	BudgetSpent    uint64 // Times that the budget was too small for a packet.
	SentRingFull   uint64 // Packets without room in the ring of sent packets.
	OutputFull     uint64 // Packets without room for Drain.
	QueueOverflows uint64 // Connections that ended because a reliable message did not fit its queue.
	Stalled        uint64 // Connections that ended because reliable messages waited too long.
	RateLimited    uint64 // Connections that ended because far too many messages arrived.
	FlushesCut     uint64 // Closes with undelivered messages.
}

// Start initialises the link for a new connection.
func (l *Link) Start(config Config, address transport.Addr, conn *peer.Conn, remote wire.ClientID, pool *peer.Pool, seed peer.SkipSeed) {
	now := l.Frame.Now
	l.config, l.Address, l.Conn, l.Remote = config, address, conn, remote
	l.Outgoing = peer.NewOutgoing(config.Outgoing, pool)
	l.PacketSize, l.Fitted = l.config.PacketSize, l.config.PacketSize
	l.Arrivals = peer.Arrivals{}
	l.Source = message.NewSource(remote)
	l.Budget, l.lent = peer.NewBudget(l.config.SendBudget, now), false
	l.Budget.Pace(l.Conn.Control.Rate())
	l.skipper = peer.NewSkipper(seed)
	l.ReceivedAt, l.SentAt = now, now
	l.gotMessages, l.tooMuch, l.floods = false, false, 0
	l.Reason, l.flushing, l.closesLeft, l.CloseAcked = nil, false, 0, false
}

// Refill fills the budget at the rate of congestion control. It saves up at most two ticks, or Saves if that is longer.
func (l *Link) Refill() {
	l.Budget.Refill(l.Frame.Now, l.Conn.Control.Rate(), max(2*l.config.TickInterval, l.Saves))
}

// EndTick tells congestion control whether its rate delayed something in this tick. waits means that something waits to
// be sent.
func (l *Link) EndTick(waits bool) {
	waits = waits && l.Conn.CanSend()
	paced := waits && l.Budget.Paced()
	l.bounded = waits && !paced
	l.Conn.Control.Tick(l.Frame.Now, paced)
}

// Line returns the state of congestion control for the sent packets.
func (l *Link) Line() congestion.State {
	state := l.Conn.Control.State()
	if state.Reason == congestion.Application && l.bounded {
		state.Reason = congestion.Bound // The budget delays packets.
	}
	return state
}

// OutOfBudget reports whether the budget is too small for a packet, and counts that.
func (l *Link) OutOfBudget() bool {
	if left := l.Budget.Left(); left < 0 || left >= LeastPacket {
		return false
	}
	l.Counters.BudgetSpent++
	return true
}

// Begin opens the next packet, as large as the budget, congestion control and the path allow. ok is false without room
// for it.
func (l *Link) Begin() (b peer.Builder, ok bool) {
	if b, ok = l.open(l.Conn.CanSend()); ok {
		size := l.Conn.PathSize()
		if l.Saves == 0 { // Saved state is sent in as few packets as possible, since all must arrive.
			size = min(size, l.Conn.Control.PacketSize()-peer.PacketOverhead)
		}
		if left := l.Budget.Left(); left >= 0 {
			size = min(size, max(left, LeastPacket))
		}
		b.Limit(size)
	}
	return b, ok
}

// mayGrow returns the number of bytes by which a packet may become larger than Begin made it, for one entity or message that does
// not fit otherwise: what the budget has, and what it lends.
func (l *Link) mayGrow(b *peer.Builder) int {
	if left := l.Budget.Left(); left >= 0 && !l.Budget.MayBorrow() {
		return min(max(left-b.Size(), 0), b.Spare())
	}
	return b.Spare()
}

// borrow lends a packet the bytes that the budget lacks for its present size, and reports whether there were any.
func (l *Link) borrow(b *peer.Builder) bool {
	left := l.Budget.Left()
	if left < 0 || b.Size() <= left {
		return false
	}
	l.Budget.Borrow(b.Size() - left)
	return true
}

// pathLeft returns the number of bytes by which a packet may grow up to the known size of the path.
func (l *Link) pathLeft(b *peer.Builder) int { return max(l.Conn.PathSize()-b.Size(), 0) }

// FitPath limits the state of a view to packets of a size, the SettledSize of the path.
func (l *Link) FitPath(view *snapshot.View, size int) {
	l.Fitted = size
	view.SetPayload(peer.MaxPayload(size))
}

// Probe sends a keep-alive that is padded with zeros to n bytes, the ProbeDue of the path, if the budget allows.
func (l *Link) Probe(n int, payload []byte) {
	if left := l.Budget.Left(); left >= 0 && left < n || !l.Conn.CanSend() {
		return
	}
	room := l.Out.Room(l.config.PacketSize)
	if room == nil {
		l.Counters.OutputFull++
		return
	}
	b := l.Conn.BeginProbe(room, n)
	rest := b.Payload()
	clear(rest[copy(rest, payload):])
	b.Add(wire.MessageKeepAlive, tick.Initialization, len(rest))
	l.Finish(&b)
}

// open opens the next packet if may is true and there is room. Packets that only acknowledge, or only show that this end
// is alive, have a reserve in the ring of sent packets (Conn.CanSign): two ends that both wait for acknowledgements must
// not block each other.
func (l *Link) open(may bool) (peer.Builder, bool) {
	if !may {
		l.Counters.SentRingFull++
		return peer.Builder{}, false
	}
	room := l.Out.Room(l.config.PacketSize)
	if room == nil {
		l.Counters.OutputFull++
		return peer.Builder{}, false
	}
	return l.Conn.Begin(room), true
}

// Finish closes a packet and queues it for Drain.
func (l *Link) Finish(b *peer.Builder) {
	acknowledges := b.Empty()
	packet := l.Conn.Finish(b, l.Frame.Clock.Tick(), l.Frame.Now)
	if acknowledges {
		l.Budget.TakeAck(len(packet))
	} else {
		l.SentAt = l.Frame.Now
		l.Budget.Take(len(packet))
	}
	l.Out.Commit(l.Address, len(packet))
	if l.Sent != nil {
		l.Sent(packet)
	}
	if l.skipper.Due() {
		l.Conn.Skip()
	}
}

// MessagesWait reports whether there is something to send besides state: messages, or credit for the other end's
// messages.
func (l *Link) MessagesWait() bool {
	_, credit := l.Arrivals.CreditDue()
	return credit || l.Outgoing.Pending()
}

// AddMessages writes credit and messages into a packet, in order, as many as fit. If state waits too, only the first
// message may take more than half of a packet, so that messages never starve the state. If half of a packet is too small
// for state, packets of messages and of state alternate.
//
// A message larger than its share of the budget borrows the rest; borrowed is then true.
func (l *Link) AddMessages(b *peer.Builder, stateWaits bool) (borrowed bool) {
	if low, due := l.Arrivals.CreditDue(); due && b.Fits(peer.CreditSize) {
		peer.AppendCredit(b.Payload()[:0], low)
		b.Add(wire.MessageCredit, tick.Initialization, peer.CreditSize)
		l.Arrivals.CreditSent(b.Sequence())
	}
	if !l.Outgoing.Pending() {
		return false
	}
	room := b.Room()
	share := room + wire.MessageHeaderSize
	if stateWaits && room/2 >= snapshot.MinPayload {
		l.Outgoing.Fill(b, room/2)
		if b.Room() < room {
			return false
		}
		share = room / 2
	}
	if most := l.mayGrow(b); most > 0 && !(stateWaits && l.lent) {
		if need := l.Outgoing.Next(b); need > share {
			grown := need - share
			if fits := l.pathLeft(b); grown > fits { // A packet exceeds the path size only if the message does not fit otherwise.
				grown = max(fits, need-room-wire.MessageHeaderSize)
			}
			b.Grow(min(grown, most))
			l.borrow(b)
			l.Outgoing.Fill(b, need)
			l.lent = true
			return true
		}
	}
	l.Outgoing.Fill(b, b.Room()+wire.MessageHeaderSize)
	return false
}

// AddState writes rows of a view that the other end lacks into a packet, as many as its share of the budget allows. It
// returns the payload, nil without rows. One entity or group that is larger than the share borrows the rest.
func (l *Link) AddState(b *peer.Builder, view *snapshot.View, cache *snapshot.EncodeCache) (state []byte) {
	share := b.Room()
	spare, lends := b.Spare(), l.mayGrow(b)
	if !b.Empty() { // A packet exceeds the path size only if it has nothing else.
		spare = min(spare, l.pathLeft(b))
	}
	lend, whole := lends > 0, lends == b.Spare()
	spare = b.Grow(min(spare, lends))
	n := view.WriteWithin(cache, b.Payload(), share, lend, b.Sequence())
	if n > 0 {
		state = b.Payload()[:n]
		b.Add(wire.MessageSnapshot, tick.Initialization, n)
	}
	if spare > 0 {
		b.Grow(max(n-share, 0) - spare)
		l.borrow(b)
		l.lent = l.lent && !whole
	}
	return state
}

// SendMessages sends packets of messages until no message waits, or the budget or the ring of sent packets is used up.
func (l *Link) SendMessages() {
	for l.MessagesWait() {
		if l.OutOfBudget() {
			return
		}
		b, ok := l.Begin()
		if !ok {
			return
		}
		if l.AddMessages(&b, false); b.Empty() {
			return
		}
		l.Finish(&b)
	}
}

// ResyncSize is the size of a resync message in bytes: the requested epoch, little-endian.
const ResyncSize = 2

// ParseResync reads the payload of a resync message.
func ParseResync(payload []byte) uint16 { return binary.LittleEndian.Uint16(payload) }

// SendResync sends a packet that requests all state of the other end again. Messages share the packet.
func (l *Link) SendResync(epoch uint16) {
	if l.Budget.Spent() {
		l.Counters.BudgetSpent++
		return
	}
	if b, ok := l.Begin(); ok {
		binary.LittleEndian.PutUint16(b.Payload(), epoch)
		b.Add(wire.MessageResync, tick.Initialization, ResyncSize)
		l.AddMessages(&b, false)
		l.Finish(&b)
	}
}

// SendAck sends a packet that only acknowledges.
func (l *Link) SendAck() {
	if b, ok := l.open(l.Conn.CanSign(l.Frame.Now)); ok {
		l.Finish(&b)
	}
}

// RepeatAck sends the newest acknowledgement once more.
func (l *Link) RepeatAck() {
	room := l.Out.Room(peer.AckSize)
	if room == nil {
		l.Counters.OutputFull++
		return
	}
	n := l.Conn.Again(room)
	if n == 0 {
		l.SendAck()
		return
	}
	l.Budget.TakeAck(n)
	l.Out.Commit(l.Address, n)
	if l.Sent != nil {
		l.Sent(room[:n])
	}
}

// KeepAlive sends a message that must be acknowledged, if no packet was sent for the time every. It measures the link and
// shows that this end is alive. It reports whether it sent a packet.
func (l *Link) KeepAlive(every time.Duration, payload []byte) (sent bool) {
	if l.Frame.Now-l.SentAt < every {
		return false
	}
	b, ok := l.open(l.Conn.CanSign(l.Frame.Now))
	if ok {
		b.Add(wire.MessageKeepAlive, tick.Initialization, copy(b.Payload(), payload))
		l.Finish(&b)
	}
	return ok
}

// PulseSize is the size of a server's keep-alive in bytes: the 16 low bits of its tick, little-endian. Zeros behind the
// tick mean that state of the tick may be missing. A client's keep-alive is empty.
const PulseSize = 2

// ParsePulse returns the low bits of the tick in a payload of PulseSize bytes or more.
func ParsePulse(payload []byte) uint16 { return binary.LittleEndian.Uint16(payload) }

// PulsePayload returns the payload of this end's keep-alives, which is empty at a client. complete means that the server
// has sent all state up to the tick.
func (l *Link) PulsePayload(room *[PulseSize + 1]byte, complete bool) []byte {
	if l.Remote == 0 {
		return nil
	}
	binary.LittleEndian.PutUint16(room[:], l.Frame.Clock.Tick().Low())
	if complete {
		return room[:PulseSize]
	}
	return room[:]
}

// Shift compensates for a stall of this process, in which nothing was read.
func (l *Link) Shift(stall time.Duration) {
	l.ReceivedAt += stall
	l.leaveEnd += stall
}

// NoteMessages notes that messages of the game arrived in this frame, and whether the queues refused some.
func (l *Link) NoteMessages() {
	l.gotMessages, l.tooMuch = true, l.tooMuch || l.Source.Refused() > 0
}

// SetPacketSize bounds the packets that this end sends, in bytes. It returns false, without any effect, while messages
// wait that were fragmented for another size.
func (l *Link) SetPacketSize(n int) bool {
	if !l.Outgoing.SetPacketSize(n) {
		return false
	}
	l.Conn.SetPacketSize(n)
	l.PacketSize, l.Fitted = n, n
	return true
}

// SetBudget bounds the bytes sent per second. A negative value disables the bound and congestion control.
func (l *Link) SetBudget(bytesPerSecond int) {
	l.Conn.SetBound(Bound(bytesPerSecond))
	l.Budget.SetBound(bytesPerSecond)
	l.Budget.Pace(l.Conn.Control.Rate())
}

// maxBudget is the highest budget that counts as a bound, in bytes per second.
const maxBudget = 1 << 30

// Bound returns the most bytes per second that a budget can take of a line, with the headers of IP and UDP, if all
// packets are small. It is 0 for an unlimited budget.
func Bound(budget int) int {
	if budget < 0 {
		return 0
	}
	budget = min(budget, maxBudget)
	return budget + budget/LeastPacket*peer.PacketOverhead
}

// Overrun returns the reason to end the connection, nil without a reason. It is called once a frame. The reasons: a queue
// of reliable messages overflowed at an end, or a client exceeded its quota for long. t is the tick that messages wait
// for.
func (l *Link) Overrun(t tick.Tick) *errs.CloseError {
	if freed := l.Source.TakeFreed(); freed > 0 {
		l.Arrivals.Freed(freed)
	}
	if l.gotMessages {
		if l.tooMuch && l.Remote != 0 { // A server does not know its clients' quotas, and clients trust it.
			l.floods++
		} else {
			l.floods = max(l.floods-1, 0)
		}
		l.gotMessages, l.tooMuch = false, false
	}
	if err := l.Source.Fault(); err != nil {
		l.Counters.QueueOverflows++
		return &errs.CloseError{Reason: errs.ReasonQueueOverflow, Detail: err.Error()}
	}
	if l.floods >= l.config.FloodFrames {
		l.Counters.RateLimited++
		return &errs.CloseError{Reason: errs.ReasonRateLimit}
	}
	if blocked := l.Outgoing.Blocked(l.Frame.Now, t); blocked >= l.config.ReliableStall {
		l.Counters.Stalled++
		return &errs.CloseError{Reason: errs.ReasonQueueOverflow, Detail: fmt.Sprintf("reliable messages waited for %v", blocked)}
	}
	return nil
}

// Acked handles an acknowledgement.
func (l *Link) Acked(seq uint64) {
	if l.Reason != nil && !l.flushing && seq >= l.closeFirst {
		l.CloseAcked = true
	}
	l.Outgoing.Acked(seq)
	l.Arrivals.Acked(seq)
}

// Lost handles a packet that is presumed lost.
func (l *Link) Lost(seq uint64) {
	l.Outgoing.Lost(seq)
	l.Arrivals.Lost(seq)
}

// StartClose begins the end of a connection. With flush, waiting and unacknowledged reliable messages are delivered
// before the first close message, for at most Config.FlushTimeout.
func (l *Link) StartClose(reason *errs.CloseError, flush bool) {
	l.Reason = reason
	if flush && l.config.FlushTimeout > 0 && l.hasUnconfirmed() {
		l.flushing, l.flushEnd = true, l.Frame.Now+l.config.FlushTimeout
		return
	}
	l.sendFirstClose()
}

// DropOutgoing drops all messages to the other end, and tells Undelivered.
func (l *Link) DropOutgoing() {
	if l.Undelivered != nil {
		l.Outgoing.EachUnconfirmed(l.Undelivered)
	}
	l.Outgoing.Clear()
}

// hasUnconfirmed reports whether the other end may lack messages, as far as this end knows.
func (l *Link) hasUnconfirmed() bool { return l.Outgoing.Unconfirmed() > 0 || l.Outgoing.Waiting() > 0 }

// flush delivers messages. It sends the first close message when no message is left or the time is over.
func (l *Link) flush(out peer.Outcome) {
	if l.Frame.Due {
		l.Conn.DetectLost(l.Frame.Now, out)
	}
	l.Refill()
	l.SendMessages()
	if l.Frame.Due {
		l.EndTick(l.MessagesWait())
	}
	if !l.Conn.CanSend() {
		var room [PulseSize + 1]byte
		l.KeepAlive(CloseEvery, l.PulsePayload(&room, false))
	}
	switch {
	case !l.hasUnconfirmed():
	case l.Frame.Now >= l.flushEnd:
		l.Counters.FlushesCut++
	default:
		if l.Frame.Due && l.Conn.AckDue() {
			l.SendAck()
		}
		return
	}
	l.sendFirstClose()
}

// ContinueClose runs a frame of a connection that is over: it flushes or repeats the close message. It reports whether
// the close is done: acknowledged, or sent often enough.
func (l *Link) ContinueClose(out peer.Outcome) (over bool) {
	switch {
	case l.flushing:
		l.flush(out)
		return false
	case l.CloseAcked:
		return true
	case l.Frame.Now < l.closeAt:
		return false
	case l.closesLeft == 0:
		return true
	}
	l.sendClose()
	return false
}

// sendFirstClose sends the first close message. ContinueClose sends the repeats.
func (l *Link) sendFirstClose() {
	l.flushing = false
	l.DropOutgoing()
	l.closesLeft = closeRepeats
	l.closeFirst = l.Conn.Next()
	l.sendClose()
}

// sendClose sends the close message once.
func (l *Link) sendClose() {
	l.closesLeft--
	l.closeAt = l.Frame.Now + CloseEvery
	if b, ok := l.open(l.Conn.HasRoom()); ok {
		payload := peer.AppendClose(b.Payload()[:0], *l.Reason)
		b.Add(wire.MessageClose, tick.Initialization, len(payload))
		l.Finish(&b)
	}
}

// ClosingPacket handles a packet that arrived after this end closed. Credit lets waiting messages leave. A close message
// of the other end ends the wait; closed reports it. A packet with a message that has no effect any more is not
// acknowledged, so that its sender does not count it as handled.
func (l *Link) ClosingPacket(in peer.Incoming, role peer.Role) (closed bool) {
	dropped := false
	r := in.Messages()
	for r.Next() {
		switch {
		case peer.Allowed(peer.StateClosing, role, r.Header.Type) != peer.VerdictAccept || r.Channel != 0:
			dropped = true
		case r.Header.Type == wire.MessageClose:
			closed = true
		case r.Header.Type == wire.MessageCredit:
			if low, err := peer.ParseCredit(r.Payload); err == nil {
				l.Outgoing.Credit(low)
			}
		}
	}
	if r.Err() == nil && !dropped {
		l.Conn.Accept(in, l.Frame.Now)
	}
	return closed
}

// StartDrain begins the wait for the handlers of messages that the other end sent before it closed in order. This end
// then sends only acknowledgements of the close message.
func (l *Link) StartDrain(reason *errs.CloseError) {
	l.Reason, l.leaveEnd = reason, l.Frame.Now+l.config.LeaveTimeout
	l.DropOutgoing()
}

// Drained reports whether that wait is over. The inbound queues have counted the waiting messages of the source.
func (l *Link) Drained() bool {
	return l.Source.Unhandled() == 0 || l.Source.Fault() != nil || l.Frame.Now >= l.leaveEnd
}
