package message

import "time"

// MaxNested is the largest depth of loopback messages that are handled within each other; the next one is queued.
const MaxNested = 8

// Limits bounds the contents of an Inbound. Zero or less in a field takes its default.
type Limits struct {
	PerStage      int           // messages that wait for one stage; beyond that those make room who have more than an equal share; default 32,768
	Bytes         int           // bytes that a frame holds at most: 512 KiB for each source is enough for what the defaults allow; default 32 MiB
	Sources       int           // how many sources share Bytes: each is sure of an equal part of half of them; default 64
	PerSender     int           // messages of one source in a frame, waiting ones included; default 1024
	SenderBytes   int           // bytes of payload of one source in a frame, waiting ones included; default 256 KiB
	Deferred      int           // unreliable messages of one source that wait for a tick, an entity or its state; default 64. Credit bounds reliable ones
	DeferredBytes int           // bytes of payload of these; default 16 KiB
	DeferredTime  time.Duration // how long one waits at most, and a reliable one for its entity and that one's state; default 2 s
	Nested        int           // loopback messages handled at once from within others, in one Drain; the rest is queued; default 4096
}

// WithDefaults returns the limits with every field set.
func (l Limits) WithDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.PerStage, 32768)
	set(&l.Bytes, 32<<20)
	set(&l.Sources, 64)
	set(&l.PerSender, 1024)
	set(&l.SenderBytes, 256<<10)
	set(&l.Deferred, 64)
	set(&l.DeferredBytes, 16<<10)
	set(&l.Nested, 4096)
	if l.DeferredTime <= 0 {
		l.DeferredTime = 2 * time.Second
	}
	return l
}

// Stats counts messages since the beginning.
type Stats struct {
	Queued        uint64 // put into a queue
	Handled       uint64 // handed to handlers out of a queue or from where they were deferred, also those whose handler panicked
	Unhandled     uint64 // dropped when their time came, since their type was registered without a handler here
	Immediate     uint64 // loopback messages handled at once
	Carried       uint64 // times that a message waited beyond the end of its frame
	PerStage      uint64 // unreliable ones dropped for Limits.PerStage: the oldest of a source above its share
	Evicted       uint64 // dropped for Limits.PerStage with their source, which had the most of a stage that was full of reliable ones
	Bytes         uint64 // dropped for Limits.Bytes
	PerSender     uint64 // unreliable ones refused for Limits.PerSender
	SenderBytes   uint64 // unreliable ones refused for Limits.SenderBytes
	Full          uint64 // refused with ErrFull because only reliable ones wait for their stage
	BadStage      uint64 // refused for a stage that does not exist
	Illegal       uint64 // taken out of a queue and found not to be legal, or of no known type: nobody had checked them
	Deferred      uint64 // put aside to wait for a tick, an entity or an earlier message
	DeferredFull  uint64 // not put aside for Limits.Deferred or Limits.DeferredBytes
	DeferredLate  uint64 // dropped for Limits.DeferredTime
	Undeliverable uint64 // dropped because their entity will never exist here, or did not come in time if they are reliable
	StateLate     uint64 // reliable ones that waited for the state of their entity for Limits.DeferredTime, and then no longer
	Superseded    uint64 // of sequenced channels, dropped because a newer message was handled meanwhile
	Panics        uint64 // handlers that panicked
	Unrecorded    uint64 // handled and not kept for the history: no room
	Grown         uint64 // times that a queue's memory grew
}
