package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Existence reports whether an entity is there.
type Existence uint8

// The answers.
const (
	Exists Existence = iota // it is there
	NotYet                  // it may come
	Never                   // it was, and is gone
)

// Config configures an Inbound. Only Registry is needed.
type Config struct {
	Registry *Registry     // frozen; says which types there are
	Local    wire.ClientID // who this end is; SetLocal changes it
	End      Endpoint      // for Context.End
	Limits   Limits        // zero fields take their defaults
	History  int           // past frames that are kept beside the current one

	// Exists tells of an entity whether messages about it may be handled; nil means that every entity is there.
	Exists func(id wire.NetworkID) Existence
	// Ready reports whether the state of an entity as of a tick has come from an end, and is in the world: messages that wait
	// for it may be handled. It says yes of an entity that will have no such state any more. Nil means that it always has.
	Ready func(from wire.ClientID, id wire.NetworkID, state tick.Tick) bool
	// Special handles messages that belong to a call, and those of types below wire.FirstUserMessage. The payload is good
	// during the call only. Nil drops them.
	Special func(ctx *Context, payload []byte)
	// Panicked is told of a handler that panicked; the others of its stage are called all the same. Nil drops the news.
	Panicked func(ctx *Context, value any)
	// Unhandled is told of each message whose type was registered without a handler: it is dropped. Nil drops the news.
	Unhandled func(t wire.MessageType)
}

// Inbound holds received messages until their stage comes, in memory that grows up to the limits and is used again. Within
// a frame one source alone cannot push out what others sent: its quota stops it first. An Inbound belongs to one
// goroutine.
type Inbound struct {
	config  Config
	limits  Limits
	codecs  [1 << 8]Codec
	frames  []Frame // at least two
	turn    int     // which of them is the current one
	cur     *Frame
	number  uint64
	now     time.Duration
	tick    tick.Tick
	due     tick.Tick  // what waits for a tick up to this one waits no longer
	stage   tick.Stage // the one that the end is in
	stats   Stats
	scratch Scratch

	local    *Source
	from     origin // of what Push takes
	fromAt   int    // its place in the frame's origins; -1 as long as nothing came
	localAt  int    // place of the origin of loopback messages; -1 as long as nothing came
	waiting  []*Source
	places   []int // where deferred messages move to
	asked    int   // how many times deferred messages were asked whether they wait on
	crowds   [tick.NumStages]fairQueue
	share    int    // bytes of a frame that every source is sure of
	common   int    // bytes that were taken beyond
	filling  uint64 // counts how often the frame was empty
	buffer   []byte // payload of a deferred message that is handled
	draining bool
	queues   bool // nothing is handled at once

	redelivering bool
	nested       int // loopback messages handled at once since Drain began
	depth        int
	contexts     [MaxNested + 1]Context // of handlers within each other
}

// NewInbound returns empty queues. It panics without a frozen registry.
func NewInbound(c Config) *Inbound {
	if c.Registry == nil || !c.Registry.frozen {
		panic("message: an Inbound needs a frozen registry")
	}
	c.History = max(c.History, 0)
	in := &Inbound{
		config: c, limits: c.Limits.WithDefaults(), frames: make([]Frame, max(c.History+1, 2)),
		stage: tick.Update, number: 1, fromAt: -1, localAt: -1, local: NewSource(c.Local),
	}
	for _, t := range c.Registry.types {
		in.codecs[t.id] = t.Codec
	}
	in.local.inside = true
	in.share = in.limits.Bytes / 2 / in.limits.Sources
	in.cur = &in.frames[0]
	in.cur.clear(1)
	in.from = origin{source: in.local, peer: c.Local}
	for i := range in.contexts {
		in.contexts[i].scratch = &in.scratch
	}
	return in
}

// Codec returns the codec of a type at this end, with the handler that its messages get; nil if there is no such type.
func (in *Inbound) Codec(t wire.MessageType) Codec { return in.codecs[t] }

// SetCodec gives a type of the registry another handler at this end. c is the codec of the type, but for the handler.
func (in *Inbound) SetCodec(t wire.MessageType, c Codec) { in.codecs[t] = c }

// SetLocal tells who this end is, once it knows.
func (in *Inbound) SetLocal(id wire.ClientID) {
	in.config.Local, in.local.id, in.localAt = id, id, -1
}

// Queue has messages of this process wait for the next Drain of their stage, also those of the present stage, until it is called
// with false.
func (in *Inbound) Queue(on bool) { in.queues = on }

// KeepHandled makes Past(0) have the handled messages of the frame, from the next one on, also without Config.History.
func (in *Inbound) KeepHandled() { in.config.History = max(in.config.History, 1) }

// Local returns the source of what the end sends to itself, for its Fault.
func (in *Inbound) Local() *Source { return in.local }

// Scratch returns the memory of this end for its codecs.
func (in *Inbound) Scratch() *Scratch { return &in.scratch }

// Stage returns the stage that the end is in: that of the newest Drain, tick.Initialization when none was in this frame,
// and tick.Update before the first frame.
func (in *Inbound) Stage() tick.Stage { return in.stage }

// Stats returns the counters since the beginning.
func (in *Inbound) Stats() Stats { return in.stats }

// Waiting returns how many messages wait for a stage; those that are deferred are not among them.
func (in *Inbound) Waiting(stage tick.Stage) int {
	if !stage.Valid() {
		return 0
	}
	return in.cur.stages[stage].live
}

// Past returns a frame of the history: 0 is the current one, 1 the one before it, and so on up to Config.History. It is nil
// for one that never was or is not kept.
func (in *Inbound) Past(frames int) *Frame {
	if frames < 0 || frames > in.config.History || uint64(frames) >= in.number {
		return nil
	}
	return &in.frames[(in.turn+len(in.frames)-frames)%len(in.frames)]
}

// Begin starts a frame: every source has its quota anew, messages that were not handled in the last frame come first in
// this one, and those deferred for too long are dropped. It does nothing while a handler runs.
func (in *Inbound) Begin(now time.Duration, t tick.Tick) {
	if in.draining || in.depth > 0 {
		return
	}
	in.now, in.tick, in.stage, in.fromAt, in.localAt, in.nested = now, t, tick.Initialization, -1, -1, 0
	in.due = t
	in.number++
	last := in.cur
	if in.config.History > 0 || last.waiting() > 0 {
		in.turn = (in.turn + 1) % len(in.frames)
		in.cur = &in.frames[in.turn]
	}
	in.empty()
	if last != in.cur {
		in.carry(last)
	}
	if len(in.waiting) > 0 {
		in.expire()
	}
}

// empty begins with a frame's bytes anew.
func (in *Inbound) empty() {
	in.cur.clear(in.number)
	in.filling++
	in.common = 0
}

// Due says up to which tick nothing has to wait for its own, where that is another one than the end's: until Begin, which
// makes it the end's. The receiver's tick of contexts does not change.
func (in *Inbound) Due(t tick.Tick) { in.due = t }

// carry takes over what the last frame did not come to. It counts against the quota of its source, so that nobody can fill
// the queue of a stage that does not run, frame after frame.
func (in *Inbound) carry(last *Frame) {
	at := -1 // where the newest origin was in the last frame
	for stage := range last.stages {
		q := &last.stages[stage]
		for i := q.head; i < len(q.items); i++ {
			it := q.items[i]
			if it.dead() {
				continue
			}
			o := &last.origins[it.origin()]
			if it.origin() != at {
				at = it.origin()
				in.cur.origins = append(in.cur.origins, *o)
				o.source.enter(in.number)
			}
			if !it.delivery().Reliable() {
				o.source.messages++
				o.source.bytes += it.size()
			}
			// The messages of the last frame fit this one, which is empty.
			room, grown := in.cur.room(it.size(), in.limits.Bytes)
			in.grew(grown)
			copy(room, last.payload(it))
			start := len(in.cur.bytes)
			in.commit(o.source, it.size())
			extra := 0
			if it.extra() != 0 {
				in.cur.extras = append(in.cur.extras, last.extra(it))
				extra = len(in.cur.extras)
			}
			moved := it.moved(start, len(in.cur.origins)-1, extra)
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

// Frame is the messages of one frame: those that wait for their stage and, where there is a history, those that were
// handled or sent. Everything in it is memory that is used again when its turn comes.
type Frame struct {
	number  uint64 // counted from 1; 0 for one that never was
	bytes   []byte // payloads
	origins []origin
	extras  []Message // of messages that say more than their type; Type, Stage and Channel are those of the item
	stages  [tick.NumStages]queue
	past    []pastItem // handled, or sent, in that order
	record  Record     // the one that Each shows
}

// origin is the source of messages, one for each packet. In outbound frames it is their destination.
type origin struct {
	source   *Source // nil in outbound frames
	peer     wire.ClientID
	tick     tick.Tick
	received time.Duration
}

// pastItem is a message that was handled or sent.
type pastItem struct {
	item
	stage  tick.Stage
	nested bool // handled at once from within the handler of another one
}

const firstBytes = 4096 // a frame has room for so many at first

// clear empties the frame and keeps its memory.
func (f *Frame) clear(number uint64) {
	f.number = number
	f.bytes, f.origins, f.extras, f.past = f.bytes[:0], f.origins[:0], f.extras[:0], f.past[:0]
	for i := range f.stages {
		f.stages[i].clear()
	}
}

// waiting returns how many messages wait, for all stages.
func (f *Frame) waiting() (n int) {
	for i := range f.stages {
		n += f.stages[i].live
	}
	return n
}

// payload returns the bytes of a message, with no room behind them.
func (f *Frame) payload(it item) []byte {
	start, size := it.start(), it.size()
	return f.bytes[start : start+size : start+size]
}

// room makes room for size bytes behind those of the frame and returns them, nil if that is beyond limit. They belong to
// the frame once it is told: f.bytes = f.bytes[:len(f.bytes)+size].
func (f *Frame) room(size, limit int) (room []byte, grown bool) {
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

// find returns where a payload lies in the frame's bytes. Slices of one array that run to its end tell by their capacity
// where they begin, and the first byte proves it.
func (f *Frame) find(payload []byte) (start int, ok bool) {
	start = cap(f.bytes) - cap(payload)
	if start < 0 || start+len(payload) > len(f.bytes) || &f.bytes[start] != &payload[0] {
		return 0, false
	}
	return start, true
}

// extra returns what a message says beyond its type, and the zero value for one that says nothing.
func (f *Frame) extra(it item) Message {
	if it.extra() == 0 {
		return Message{}
	}
	return f.extras[it.extra()-1]
}

// Record is one message of a frame, for looking at.
type Record struct {
	Peer     wire.ClientID // who sent it; in outbound frames, who it was sent to
	Message                // how it came or went
	Tick     tick.Tick     // the end's tick when it came or went
	Received time.Duration // the end's time when it came or went
	Handled  bool          // inbound: its handler was called in this frame; else it waits, or waited when the frame ended
	Payload  []byte        // its bytes
}

// Number returns which frame this is, counted from 1.
func (f *Frame) Number() uint64 { return f.number }

// Len returns how many messages Each shows.
func (f *Frame) Len() int { return len(f.past) + f.waiting() }

// Each shows the messages of the frame until do returns false: first those that were handled, or sent, in that order, then
// those that wait, by stage. The record is one and the same, and is good during the call only, as its payload is.
func (f *Frame) Each(do func(r *Record) bool) {
	for i := range f.past {
		if f.show(f.past[i].item, f.past[i].stage, true); !do(&f.record) {
			return
		}
	}
	for stage := range f.stages {
		q := &f.stages[stage]
		for i := q.head; i < len(q.items); i++ {
			if q.items[i].dead() {
				continue
			}
			if f.show(q.items[i], tick.Stage(stage), false); !do(&f.record) {
				return
			}
		}
	}
}

// show makes the record that of a message.
func (f *Frame) show(it item, stage tick.Stage, handled bool) {
	o := &f.origins[it.origin()]
	m := f.extra(it)
	m.Type, m.Stage, m.Channel, m.order = it.typ(), stage, it.channel(), 0
	f.record = Record{Peer: o.peer, Message: m, Tick: o.tick, Received: o.received, Handled: handled, Payload: f.payload(it)}
}

// item is a message in a frame: two words, which are passed in registers and stored whole. It holds no pointer, so the
// memory of queues is nothing to the garbage collector.
type item struct {
	place uint64 // start of the payload in the frame's bytes, 32 bits; place in the frame's origins, 32 bits
	what  uint64 // place in the frame's extras and 1, or 0, 32 bits; size of the payload, 16; type, 8; channel, 8
}

const (
	typeBits    uint64 = 0xFF << 48
	channelBits uint64 = 0xFF << 56
	orderedBits uint64 = 0xC0 << 56 // of the channel: its mode, which is ReliableOrdered where both are set
	extraBits   uint64 = 1<<32 - 1
)

// newItem returns a message that lies nowhere yet.
func newItem(t wire.MessageType, ch wire.Channel, extra int) item {
	return item{what: uint64(ch)<<56 | uint64(t)<<48 | uint64(extra)}
}

// at returns the message at its place.
func (it item) at(start, size, origin int) item {
	return item{place: uint64(origin)<<32 | uint64(start), what: it.what | uint64(size)<<32}
}

// moved returns the message at another place.
func (it item) moved(start, origin, extra int) item {
	return item{place: uint64(origin)<<32 | uint64(start), what: it.what&^extraBits | uint64(extra)}
}

func (it item) start() int              { return int(uint32(it.place)) }
func (it item) origin() int             { return int(it.place >> 32) }
func (it item) extra() int              { return int(uint32(it.what)) }
func (it item) size() int               { return int(uint16(it.what >> 32)) }
func (it item) typ() wire.MessageType   { return wire.MessageType(it.what >> 48) }
func (it item) channel() wire.Channel   { return wire.Channel(it.what >> 56) }
func (it item) delivery() wire.Delivery { return it.channel().Delivery() }

// sameContext reports whether a message has type, channel and origin of another one without extra, and none itself.
func (it item) sameContext(other item) bool {
	return (it.what^other.what)&(typeBits|channelBits|extraBits) == 0 && (it.place^other.place)>>32 == 0
}

// simple reports whether the message has no extra and no promise of order: nothing can keep it waiting.
func (it item) simple() bool { return it.what&extraBits == 0 && it.what&orderedBits != orderedBits }

// maxPayload is the most that an item can hold: more than any message that is sent, fragmented or not.
const maxPayload = 1<<16 - 1

// dead reports whether the message was dropped while it waited.
func (it item) dead() bool { return it.what&typeBits == 0 }

// kill drops the message.
func (it *item) kill() { it.what &^= typeBits }

const firstItems = 16 // a queue has room for so many at first

// queue is the messages of one stage, in order. It grows by doubling up to twice its limit, so that closing the gaps of
// messages that left it costs no more than having put them in.
type queue struct {
	items []item
	head  int    // those before it are done with
	end   int    // those before it, and not before head, are for the Drain that is under way
	live  int    // how many wait
	epoch uint64 // counts how often items lost their places
}

// push appends a message; the caller has seen that fewer than limit wait. It reports whether memory had to grow.
func (q *queue) push(it item, limit int) (grown bool) {
	if len(q.items) == cap(q.items) {
		grown = q.widen(limit)
	}
	q.items = append(q.items, it)
	q.live++
	return grown
}

// widen makes room for one more message. It reports whether memory had to grow.
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

// compact closes the gaps.
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
	crowd     [tick.NumStages]sourceShare
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

// PostSelf sends a message of an end to itself. In the stage that the end is in, the handler is called at once: it precedes whatever
// waits for that stage. For a later stage it is handled in this frame, for an earlier one in the next. It is queued, too,
// when MaxNested handlers are at work within each other or Limits.Nested were called so in one Drain, when it must wait (for a
// tick, an entity, or an earlier message of its ordered channel), and when it belongs to a call; then it is handled in the
// next Drain of its stage.
//
// The value is encoded and decoded in every stage, so that a handler is given what one at another end would be; where fields are sent as
// they are in memory that is a copy. The context is that of a message from outside, with the end itself as the sender. A handler
// that panics is reported to Config.Panicked. The errors are ErrStage, ErrFull, and those of Encode; after each nothing was sent.
func PostSelf[T any](in *Inbound, t *Type, c *CodecOf[T], m *Message, v *T) error {
	return postFrom(in, in.local, t, c, m, v)
}

// postFrom is PostSelf for a message from any end in this process.
func postFrom[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) error {
	local := *m
	local.Type = t.id
	if !m.Stage.Valid() {
		in.stats.BadStage++
		return ErrStage
	}
	bound, err := c.SizeBound(&in.scratch, v)
	if err != nil {
		return err
	}
	if bound <= maxPayload && (c.way == bySerialize || in.handlesAtOnce(from, &local)) { // a Serialize method may send, too
		buffer := in.scratch.takeBytes(bound)
		n, err := c.Encode(&in.scratch, buffer, v)
		if err == nil {
			err = in.PushNear(from, &local, buffer[:n])
		}
		in.scratch.giveBytes(buffer)
		return err
	}
	room := in.reserve(from, bound)
	if room == nil || bound > maxPayload {
		in.stats.Bytes++
		return ErrFull
	}
	n, err := c.Encode(&in.scratch, room, v)
	if err != nil {
		return err
	}
	return in.putFrom(from, t.id, m, n)
}

// handlesAtOnce reports whether a message of an end in this process is handled when it is sent.
func (in *Inbound) handlesAtOnce(from *Source, m *Message) bool {
	return m.Stage == in.stage && !in.queues && in.mayNest() && !m.HasCall && in.verdict(from, m, false) == Exists
}

// mayNest reports whether one more handler may be called from within those at work.
func (in *Inbound) mayNest() bool {
	return in.depth <= MaxNested && (in.depth == 0 || in.nested < in.limits.Nested)
}

// putFrom queues a message of an end in this process, whose payload lies behind the frame's bytes.
func (in *Inbound) putFrom(s *Source, t wire.MessageType, m *Message, size int) error {
	s.inside = true
	f := in.cur
	start := len(f.bytes)
	in.commit(s, size)
	from, fromAt := in.from, in.fromAt
	in.from, in.fromAt = origin{source: s, peer: s.id, tick: in.tick, received: in.now}, -1
	if s == in.local {
		in.fromAt = in.localAt
	}
	local := *m
	local.Type = t
	it := in.itemOf(&local)
	err := in.put(it, m.Stage, f.bytes[start:])
	if err == nil {
		in.setPlace(s, it)
	}
	if s == in.local {
		in.localAt = in.fromAt
	}
	in.from, in.fromAt = from, fromAt
	return err
}

// handleAtOnce calls the handler of a message of an end in this process.
func (in *Inbound) handleAtOnce(from *Source, m *Message, payload []byte) {
	if inOrder(m.Channel.Delivery()) {
		now := Message{Channel: m.Channel, order: from.placed(m.Channel)}
		from.handled(&now)
	}
	o := origin{source: from, peer: from.id, tick: in.tick, received: in.now}
	if in.config.History > 0 && !in.redelivering {
		in.rememberBody(&o, m, payload, in.depth > 0)
	}
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
	ctx.Type, ctx.Channel = m.Type, m.Channel
	ctx.specify(m)
	in.call(ctx, payload)
	if poisoning {
		poisonContext(ctx)
	}
}

// recoveredAt contains the panic of a handler that was called at once, and goes back to the depth that it was called from.
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

// PostNear hands over a message from an end in the same process, by the rules of PostSelf: where both are in its stage the
// handler is called at once, else it waits for its stage. from is that end, as the
// receiver knows it. It has no quota. The errors are those of PostSelf.
func PostNear[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) error {
	from.enter(in.number) // so that Drop knows to look for it
	return postFrom(in, from, t, c, m, v)
}

// PushNear is PostNear for a message that is encoded already.
func (in *Inbound) PushNear(from *Source, m *Message, body []byte) error {
	if from != in.local {
		from.enter(in.number)
	}
	if m.Stage.Valid() && len(body) <= maxPayload && in.handlesAtOnce(from, m) {
		in.handleAtOnce(from, m, body)
		return nil
	}
	room := in.reserve(from, len(body))
	if room == nil || len(body) > maxPayload {
		in.stats.Bytes++
		return ErrFull
	}
	copy(room, body)
	return in.putFrom(from, m.Type, m, len(body))
}
