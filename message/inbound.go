package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Existence tells whether an entity exists here.
type Existence uint8

// The answers.
const (
	Exists Existence = iota // it exists
	NotYet                  // it may still come
	Never                   // it existed, or will never exist
)

// Config configures an Inbound. Only Registry is needed.
type Config struct {
	Registry *Registry     // frozen
	Local    wire.ClientID // id of this end; SetLocal changes it
	End      Endpoint      // for Context.End
	Limits   Limits        // zero fields take their defaults

	// Exists tells whether messages about an entity may be handled; nil: every entity exists.
	Exists func(id wire.NetworkID) Existence
	// Ready reports whether the state of an entity as of a tick, sent by from, is in the world. It returns true for an
	// entity that will get no such state. Nil: always true.
	Ready func(from wire.ClientID, id wire.NetworkID, state tick.Tick) bool
	// Special handles messages of calls, and types below wire.FirstUserMessage. The payload is valid during the call.
	// Nil: such messages are dropped.
	Special func(ctx *Context, payload []byte)
	// Panicked is called after a handler panicked. The other handlers of its stage still run. It may be nil.
	Panicked func(ctx *Context, value any)
	// Unhandled is called for each dropped message whose type has no handler here. It may be nil.
	Unhandled func(t wire.MessageType)
}

// Inbound stores received messages until their stage runs. Its memory grows up to the limits and is reused. One source
// alone cannot displace the messages of others within a frame: its quota prevents that. An Inbound belongs to one
// goroutine.
type Inbound struct {
	config  Config
	limits  Limits
	codecs  [1 << 8]Codec
	frames  [2]frame
	cur     *frame // one of frames; the other one was the last
	number  uint64
	now     time.Duration
	tick    tick.Tick
	due     tick.Tick  // messages for ticks up to this one need not wait
	stage   tick.Stage // the present stage
	stats   Stats
	history *History // of the handled messages; may be nil
	scratch Scratch

	local       *Source
	from        origin // origin of the messages of Push
	waiting     []*Source
	newPlaces   []int // new places of deferred messages, by old place
	checks      int   // number of checks of deferred messages
	fairQueues  [tick.NumStages]fairQueue
	sourceBytes int    // bytes of a frame reserved for each source
	sharedBytes int    // bytes used beyond the reserved ones
	emptied     uint64 // increments whenever the frame is emptied
	buffer      []byte // payload of the deferred message that is handled
	draining    bool
	queues      bool // queue loopback messages instead of handling them at once

	nested   int // loopback messages handled at once since Drain began
	depth    int
	contexts [MaxNested + 1]Context // by nesting depth
}

// NewInbound returns empty queues. It panics without a frozen registry.
func NewInbound(c Config) *Inbound {
	if c.Registry == nil || !c.Registry.frozen {
		panic("message: an Inbound needs a frozen registry")
	}
	in := &Inbound{
		config: c, limits: c.Limits.WithDefaults(),
		stage: tick.Update, number: 1, local: NewSource(c.Local),
	}
	for _, t := range c.Registry.types {
		in.codecs[t.id] = t.Codec
	}
	in.local.inside = true
	in.sourceBytes = in.limits.Bytes / 2 / in.limits.Sources
	in.cur = &in.frames[0]
	in.from = origin{source: in.local, peer: c.Local}
	for i := range in.contexts {
		in.contexts[i].scratch = &in.scratch
	}
	return in
}

// Codec returns the codec of a type at this end, with the handler that its messages get; nil if there is no such type.
func (in *Inbound) Codec(t wire.MessageType) Codec { return in.codecs[t] }

// SetCodec gives a type of the registry another handler at this end. c is the codec of the type, but for the handler.
func (in *Inbound) SetCodec(t wire.MessageType, c Codec) {
	in.codecs[t] = c
}

// SetLocal sets the id of this end.
func (in *Inbound) SetLocal(id wire.ClientID) {
	in.config.Local, in.local.id = id, id
}

// Queue(true) makes messages of this process wait for the next Drain of their stage, even in the present stage.
func (in *Inbound) Queue(on bool) { in.queues = on }

// Keep adds the messages that are handled from now on to a history; nil ends that.
func (in *Inbound) Keep(h *History) { in.history = h }

// Local returns the source of loopback messages, for its Fault.
func (in *Inbound) Local() *Source { return in.local }

// Scratch returns the codec memory of this end.
func (in *Inbound) Scratch() *Scratch { return &in.scratch }

// Stage returns the present stage: that of the newest Drain; tick.Initialization before the first Drain of a frame;
// tick.Update before the first frame.
func (in *Inbound) Stage() tick.Stage { return in.stage }

// Stats returns the counters since the beginning.
func (in *Inbound) Stats() Stats { return in.stats }

// Waiting returns the number of messages queued for a stage, without deferred ones.
func (in *Inbound) Waiting(stage tick.Stage) int {
	if !stage.Valid() {
		return 0
	}
	return in.cur.stages[stage].live
}

// Begin starts a frame: it renews the quotas, moves unhandled messages of the last frame to the front, and drops
// messages deferred for too long. It does nothing while a handler runs.
func (in *Inbound) Begin(now time.Duration, t tick.Tick) {
	if in.draining || in.depth > 0 {
		return
	}
	in.now, in.tick, in.stage, in.nested = now, t, tick.Initialization, 0
	in.due = t
	in.number++
	in.history.Begin()
	last := in.cur
	if last.waiting() > 0 {
		if in.cur = &in.frames[0]; last == in.cur {
			in.cur = &in.frames[1]
		}
	}
	in.empty()
	if last != in.cur {
		in.carry(last)
	}
	if len(in.waiting) > 0 {
		in.expire()
	}
}

// empty clears the current frame.
func (in *Inbound) empty() {
	in.cur.clear()
	in.emptied++
	in.sharedBytes = 0
}

// Due sets the newest tick that messages need not wait for, if it differs from the end's tick. The next Begin resets
// it. Contexts still have the receiver's tick.
func (in *Inbound) Due(t tick.Tick) { in.due = t }

// carry moves the unhandled messages of the last frame to this one. They count against their source's quota, so that
// nobody fills the queue of a stage that does not run.
func (in *Inbound) carry(last *frame) {
	for stage := range last.stages {
		q := &last.stages[stage]
		for _, it := range q.items[q.head:] {
			if it.dead() {
				continue
			}
			o := &last.origins[it.origin]
			o.source.enter(in.number)
			if !it.channel.Delivery().Reliable() {
				o.source.messages++
				o.source.bytes += int(it.size)
			}
			start, _ := in.store(o.source, last.payload(it)) // There is room: the current frame is empty.
			moved := it
			moved.start, moved.origin = uint32(start), in.cur.enterOrigin(o)
			if it.options != 0 {
				in.cur.allOptions = append(in.cur.allOptions, last.options(it))
				moved.options = uint32(len(in.cur.allOptions))
			}
			in.grew(in.cur.stages[stage].push(moved, in.limits.PerStage))
			in.stats.Carried++
		}
	}
}

func (in *Inbound) grew(grown bool) {
	if grown {
		in.stats.Grown++
	}
}

// frame has the messages of one frame that wait. Its memory is reused.
type frame struct {
	bytes      []byte // payloads
	origins    []origin
	allOptions []Message // options of messages that have any; Type, Stage and Channel are in the item
	stages     [tick.NumStages]queue
}

// origin is the source of the messages of one packet, with the time of arrival.
type origin struct {
	source   *Source
	peer     wire.ClientID
	tick     tick.Tick
	received time.Duration
}

const firstBytes = 4096 // initial capacity of a frame

// clear empties the frame and keeps its memory.
func (f *frame) clear() {
	f.bytes, f.origins, f.allOptions = f.bytes[:0], f.origins[:0], f.allOptions[:0]
	for i := range f.stages {
		f.stages[i].clear()
	}
}

// waiting returns how many messages wait, for all stages.
func (f *frame) waiting() (n int) {
	for i := range f.stages {
		n += f.stages[i].live
	}
	return n
}

// payload returns the bytes of a message, with no spare capacity.
func (f *frame) payload(it item) []byte {
	end := it.start + uint32(it.size)
	return f.bytes[it.start:end:end]
}

// room returns size bytes behind those of the frame, nil if that exceeds limit. The caller then commits them: f.bytes =
// f.bytes[:len(f.bytes)+size].
func (f *frame) room(size, limit int) (room []byte, grown bool) {
	n := len(f.bytes)
	if size > limit-n {
		return nil, false
	}
	if size > cap(f.bytes)-n || f.bytes == nil {
		larger := make([]byte, n, min(max(firstBytes, 2*cap(f.bytes), n+size), limit))
		copy(larger, f.bytes)
		f.bytes, grown = larger, true
	}
	return f.bytes[n : n+size : n+size], grown
}

// options returns the options of a message, the zero value if it has none.
func (f *frame) options(it item) Message {
	if it.options == 0 {
		return Message{}
	}
	return f.allOptions[it.options-1]
}

// item is a message in a frame. It contains no pointer, so that the garbage collector skips the queues.
type item struct {
	start   uint32           // offset of the payload in the frame's bytes
	origin  uint32           // index in the frame's origins
	options uint32           // index in frame.allOptions plus 1; 0: none
	size    uint16           // of the payload, in bytes
	kind    wire.MessageType // 0: dropped while it waited
	channel wire.Channel
}

// maxPayload is the maximum payload size of an item; it exceeds that of any sent message.
const maxPayload = 1<<16 - 1

// dead reports whether the message was dropped while it waited.
func (it item) dead() bool { return it.kind == 0 }

const firstItems = 16 // initial capacity of a queue

// queue is the messages of one stage, in order. It doubles up to twice its limit, so that closing gaps costs no more
// than pushing.
type queue struct {
	items []item
	head  int    // earlier items are done
	end   int    // items in [head, end) belong to the running Drain
	live  int    // number of waiting messages
	epoch uint64 // increments whenever items move
}

// push appends a message and reports whether memory had to grow. Fewer than limit messages wait.
func (q *queue) push(it item, limit int) (grown bool) {
	if len(q.items) == cap(q.items) {
		grown = q.widen(limit)
	}
	q.items = append(q.items, it)
	q.live++
	return grown
}

// widen makes room for one more message and reports whether memory had to grow.
func (q *queue) widen(limit int) (grown bool) {
	if 2*q.live > len(q.items) || cap(q.items) == 0 {
		larger := make([]item, len(q.items), max(firstItems, min(2*cap(q.items), 2*limit)))
		copy(larger, q.items)
		q.items, grown = larger, true
	}
	if len(q.items) == cap(q.items) {
		q.compact()
	}
	return grown
}

// compact removes dead and handled items.
func (q *queue) compact() {
	kept, end := q.items[:0], 0
	for i := q.head; i < len(q.items); i++ {
		if q.items[i].dead() {
			continue
		}
		kept = append(kept, q.items[i])
		if i < q.end {
			end = len(kept)
		}
	}
	q.items, q.head, q.end = kept, 0, end
	q.epoch++
}

// clear empties the queue and keeps its memory.
func (q *queue) clear() { *q = queue{items: q.items[:0], epoch: q.epoch + 1} }

// Source is one end that sends messages; its connection stores it. It has the quota of the frame, the deferred
// messages, and the result of its messages. It belongs to one Inbound.
type Source struct {
	id        wire.ClientID
	frame     uint64 // the frame of the quota
	messages  int    // in that frame, carried ones included
	bytes     int
	emptied   uint64
	used      int // bytes in the frame; valid while emptied equals Inbound.emptied
	refused   int
	unhandled int // waiting reliable messages, by the last CountUnhandled
	freed     int
	fault     error
	deferred  deferred
	listed    bool // it is in the Inbound's list of sources with deferred messages
	inside    bool // it is in this process
	shares    [tick.NumStages]sourceShare
	sequenced uint64        // order number of its newest UnreliableSequenced message
	order     *channelOrder // nil before the first message of an ordered or sequenced channel
}

// NewSource returns the source of the messages of one end.
func NewSource(id wire.ClientID) *Source { return &Source{id: id} }

// ID returns the client id of the source.
func (s *Source) ID() wire.ClientID { return s.id }

// TakeFreed returns the cost of the reliable messages done since the last call: credit to grant.
func (s *Source) TakeFreed() int {
	n := s.freed
	s.freed = 0
	return n
}

// Unhandled returns the number of waiting reliable messages found by Inbound.CountUnhandled.
func (s *Source) Unhandled() int { return s.unhandled }

// Fault returns why the connection must end, or nil: a reliable message was dropped, with ErrFull or (in this process)
// ErrDeferredFull. It stays set.
func (s *Source) Fault() error { return s.fault }

// Refused returns the number of messages beyond the quota in the source's last frame.
func (s *Source) Refused() int { return s.refused }

// Deferred returns the number of deferred messages and the bytes of their payloads.
func (s *Source) Deferred() (messages, bytes int) { return s.deferred.count, s.deferred.bytes }

// enter starts the source's quota of a frame.
func (s *Source) enter(frame uint64) {
	if s.frame != frame {
		s.frame, s.messages, s.bytes, s.refused = frame, 0, 0, 0
	}
}

// fail records the first fault.
func (s *Source) fail(err error) {
	if s.fault == nil {
		s.fault = err
	}
}

// PushLocal sends an encoded message between ends of this process, or of an end to itself. in belongs to the receiver,
// and from is the sender as the receiver knows it: in.Local() for the end itself. In the present stage the handler is
// called at once, before any queued message. A message for a later stage is handled in this frame, for an earlier one in
// the next. The message is queued for the next Drain of its stage in these cases:
//   - MaxNested handlers are nested, or Limits.Nested were called so in one Drain;
//   - it must wait for a tick, an entity, or an earlier message of its ordered channel;
//   - it belongs to a call.
//
// The context is that of a remote message. The sender has no quota. A handler that panics is reported to
// Config.Panicked. The errors are ErrStage and ErrFull; after an error nothing was sent.
func (in *Inbound) PushLocal(from *Source, m *Message, body []byte) error {
	if from != in.local {
		from.enter(in.number) // Drop finds it.
	}
	if m.Stage.Valid() && len(body) <= maxPayload && in.handlesAtOnce(from, m) {
		in.handleAtOnce(from, m, body)
		return nil
	}
	from.inside = true
	return in.put(&origin{source: from, peer: from.id, tick: in.tick, received: in.now}, m, body)
}

// handlesAtOnce reports whether a message of this process is handled when it is sent.
func (in *Inbound) handlesAtOnce(from *Source, m *Message) bool {
	return m.Stage == in.stage && !in.queues && in.mayNest() && !m.HasCall && in.verdict(from, m, false) == Exists
}

// mayNest reports whether one more nested handler may be called.
func (in *Inbound) mayNest() bool {
	return in.depth <= MaxNested && (in.depth == 0 || in.nested < in.limits.Nested)
}

// handleAtOnce calls the handler of a message of this process.
func (in *Inbound) handleAtOnce(from *Source, m *Message, payload []byte) {
	if inOrder(m.Channel.Delivery()) {
		now := Message{Channel: m.Channel, order: from.nextOrder(m.Channel)}
		from.handled(&now)
	}
	o := origin{source: from, peer: from.id, tick: in.tick, received: in.now}
	if c := in.codecs[m.Type]; c == nil || !c.Handled() {
		in.unhandled(m.Type)
		return
	}
	in.stats.Immediate++
	ctx := &in.contexts[in.depth]
	depth := in.depth
	defer in.recoveredAt(ctx, depth)
	if in.nested++; depth == 0 {
		in.nested = 0
	}
	in.depth++
	in.describe(ctx, &o, m.Stage)
	ctx.specify(m)
	in.call(ctx, payload)
	if poisoning {
		poisonContext(ctx)
	}
}

// recoveredAt recovers the panic of a nested handler and restores the depth.
func (in *Inbound) recoveredAt(ctx *Context, depth int) {
	in.depth = depth
	value := recover()
	if value == nil {
		return
	}
	in.stats.Panics++
	in.scratch.afterPanic()
	if in.config.Panicked != nil {
		in.config.Panicked(ctx, value)
	}
}
