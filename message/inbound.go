package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Existence says whether an entity is there.
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

	// Exists says of an entity whether messages about it may be handled; nil says that every entity is there.
	Exists func(id wire.NetworkID) Existence
	// Ready says whether the state of an entity as of a tick has come from an end, and is in the world: messages that wait
	// for it may be handled. It says yes of an entity that will have no such state any more. Nil says that it always has.
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
	crowds   [tick.NumStages]crowd
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

// SetLocal says who this end is, once it knows.
func (in *Inbound) SetLocal(id wire.ClientID) {
	in.config.Local, in.local.id, in.localAt = id, id, -1
}

// Queue has messages of this process wait for the next Drain of their stage, also those of the present stage, until it is called
// with false.
func (in *Inbound) Queue(on bool) { in.queues = on }

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
	in.expire()
}

// Due says up to which tick nothing has to wait for its own, where that is another one than the end's: until Begin, which
// makes it the end's. What handlers are told as the receiver's tick is not changed.
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
			in.use(o.source, it.size())
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
