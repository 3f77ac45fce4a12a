package message

import (
	"errors"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

var (
	// ErrQuota says that a sender has sent more in this frame than is taken from it; the message was dropped.
	ErrQuota = errors.New("message: quota of the sender exceeded")

	// ErrTooLarge says that a message is larger than all that may wait for a stage; it was dropped.
	ErrTooLarge = errors.New("message: larger than the queue")

	// ErrStage says that a message is meant for a stage that does not exist; it was dropped.
	ErrStage = errors.New("message: no such stage")
)

// Limits bounds the queues. Zero or less in a field takes its default.
type Limits struct {
	PerStage    int // messages that wait for one stage at most, beyond that the oldest is dropped; default 32,768
	PerSender   int // messages taken from one sender in a frame; default 1024
	Bytes       int // bytes of payload that wait for one stage at most, beyond that the oldest are dropped; default 4 MiB
	SenderBytes int // bytes of payload taken from one sender in a frame; default 256 KiB
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.PerStage, 32768)
	set(&l.PerSender, 1024)
	set(&l.Bytes, 4<<20)
	set(&l.SenderBytes, 256<<10)
	return l
}

// Stats counts messages.
type Stats struct {
	Queued      uint64 // put into a queue
	Handled     uint64 // taken out by Drain
	PerStage    uint64 // of those queued, the oldest dropped for Limits.PerStage
	Bytes       uint64 // of those queued, the oldest dropped for Limits.Bytes
	PerSender   uint64 // refused for Limits.PerSender
	SenderBytes uint64 // refused for Limits.SenderBytes
	Refused     uint64 // refused for a stage that does not exist, or as larger than Limits.Bytes
}

// Queues holds received messages until their stage comes, in memory that grows up to the limits and is reused. Within a
// frame, one sender alone cannot push out what others sent: its quota stops it first. Queues belong to one goroutine.
type Queues struct {
	limits   Limits
	stages   [tick.NumStages]queue
	senders  map[wire.ClientID]taken
	stats    Stats
	scratch  scratch
	current  Context // of the message that is handled
	payload  []byte  // of the message that is handled: its place in the queue may be taken while the handler runs
	draining bool
}

// taken is what a sender has had of its quota.
type taken struct {
	messages, bytes int
}

// NewQueues returns empty queues.
func NewQueues(limits Limits) *Queues {
	return &Queues{limits: limits.withDefaults(), senders: map[wire.ClientID]taken{}}
}

// BeginFrame gives every sender its quota anew.
func (q *Queues) BeginFrame() { clear(q.senders) }

// Push copies a message into the queue of its stage. When that is full, the oldest messages there make room. A message
// over its sender's quota is refused; what the receiver sends itself has none.
func (q *Queues) Push(ctx Context, payload []byte) error {
	switch {
	case !ctx.Stage.Valid():
		q.stats.Refused++
		return ErrStage
	case len(payload) > q.limits.Bytes:
		q.stats.Refused++
		return ErrTooLarge
	}
	if ctx.Sender != ctx.Local {
		sender := q.senders[ctx.Sender]
		switch {
		case sender.messages >= q.limits.PerSender:
			q.stats.PerSender++
			return ErrQuota
		case sender.bytes+len(payload) > q.limits.SenderBytes:
			q.stats.SenderBytes++
			return ErrQuota
		}
		sender.messages++
		sender.bytes += len(payload)
		q.senders[ctx.Sender] = sender
	}
	stage := &q.stages[ctx.Stage]
	for stage.len() >= q.limits.PerStage {
		stage.drop()
		q.stats.PerStage++
	}
	for stage.live+len(payload) > q.limits.Bytes {
		stage.drop()
		q.stats.Bytes++
	}
	stage.push(&ctx, payload)
	q.stats.Queued++
	return nil
}

// Drain hands the messages that wait for a stage to the function, oldest first, and returns how many there were. Context
// and payload are good during the call only. Messages that are pushed meanwhile wait for the next Drain, so that a
// handler that answers itself cannot hold up the frame; nor can one call Drain, which then does nothing.
func (q *Queues) Drain(stage tick.Stage, handle func(ctx *Context, payload []byte)) int {
	if q.draining || !stage.Valid() {
		return 0
	}
	q.draining = true
	defer q.drained()
	s := &q.stages[stage]
	count := 0
	// What handlers push may drop messages, so the tail may pass the end.
	for end := s.head; s.tail < end; count++ {
		q.current, q.payload = s.pop(q.payload[:0])
		q.current.scratch = &q.scratch
		q.stats.Handled++
		handle(&q.current, q.payload)
	}
	return count
}

func (q *Queues) drained() { q.draining = false }

// Waiting returns how many messages wait for a stage.
func (q *Queues) Waiting(stage tick.Stage) int {
	if !stage.Valid() {
		return 0
	}
	return q.stages[stage].len()
}

// Stats returns the counters since the beginning.
func (q *Queues) Stats() Stats { return q.stats }
