// Package message has the message types of a protocol: codecs and handlers, the inbound queues of each stage, messages that
// wait for a tick or an entity, loopback, and the history of the last frames.
//
// Words owned here (docs/design.md):
//   - loopback: delivery to oneself.
//   - source: one end that messages come from; the connection to it has a Source.
//
// Types. A Registry has the message types; a Cache finds one by its Go type, and FastCodec is the header of a simple message. A
// Codec writes and reads values: CodecOf for a Go type, Raw for bytes that RawCalls understand; Bounded types state their
// largest size, and Sizes are the fixed sizes of all types. A Scratch is the memory of a codec. A handler gets a Context with
// the Endpoint that runs it.
//
// Queues. An Inbound has one queue a stage, with Limits; Existence tells it whether an entity exists. Simple messages are a
// row of one type and size without flags. With the history on, a Frame has the messages of one frame, and Outbound records
// the sent ones.
//
// Order. Within a stage, messages are handled in the order in which they were pushed; what a handler pushes for its own
// stage waits for the next Drain. Messages that were not handled in their frame come first in the next one. A message that
// waits for a tick or an entity lets others pass, except on a ReliableOrdered channel, whose order is promised: there it
// holds back the later ones of the same channel and sender, whatever their stage. Loopback in the stage that the end is in
// is handled at once and so precedes what is queued.
//
// Drops. Unreliable messages are dropped, and counted in Stats: beyond the quota of their source, the oldest of a full
// stage, those that wait for too long. Reliable messages never are while their connection lasts: where one finds no room, its
// source has a Fault, by which the connection must end.
//
// A build with the tag netcode_debug overwrites values and contexts once their handler returned, so that a game that keeps
// them notices.
//
// An end uses it so. At registration, for each Go type:
//
//	codec, err := NewCodec[T](name, handler)                          // handler may be nil: this end never receives it
//	registry.Add(Type{Name: name, Codec: codec, Stage: …, StageGiven: …, Channel: …, Direction: …, OwnerOnly: …})
//	registry.Freeze()                                                 // or registry.Debug() and then Freeze
//	text = t.Describe(text)                                           // for the protocol hash, for each of registry.Types()
//
// Sending:
//
//	t, codec := TypeOf[T](registry, &cache)                           // nil, nil: not registered
//	bound, err := codec.SizeBound(scratch, &m)                        // room to reserve
//	codec, short := FastCodecOf[T](&cache)                                // what TypeOf found, of types that cache.Allow allows: Copy will do
//	n, err := codec.Encode(scratch, room, &m)                         // *FieldError, *BoundError, *SerializeError: nothing to send
//	err = PostSelf(inbound, t, codec, &Message{Stage: …}, &m)         // to oneself
//	outbound.Record(to, &Message{…}, payload)                         // if the history is on
//
// Receiving, each frame:
//
//	inbound.Begin(now, tick)                                          // quotas anew; what was not handled comes first
//	for each packet that holds messages of the game:
//		t, ok := registry.Lookup(h.Type)                              // before the packet is acknowledged:
//		ok = t.Codec.Check(scratch, body)                             // judges without effect
//		inbound.From(&connection.source, tick, now)                   // once a packet
//		inbound.PushSimple(batches, rows)                             // all of a packet on channel 0 of Unreliable without flags; or
//		batches = inbound.Keep(batches)                               // one copy; the Reader then goes over this one
//		err = inbound.PushPlain(h.Type, h.Stage, payload)             // channel 0 of Unreliable without flags
//		err = inbound.Push(&Message{…}, body)                         // anything else; ErrFull of a reliable one closes
//	inbound.Drain(stage)                                              // at each stage, any number of times
//	connection.source.TakeFreed(), .Fault()                           // for each connection: credit to grant, reason to close
//
// # Files
//
//   - registry.go: types, directions, limits
//   - codec.go: values to bytes and back: by plan, by copy, by a Serialize method
//   - handle.go: calls handlers; contexts and errors
//   - inbound.go: the queues of the stages, frame by frame; messages to oneself, and between ends of one process
//   - push.go: puts a received message into its queue
//   - fair_share.go: quotas: which source loses a message if a stage is full
//   - drain.go: handles the messages of a stage, in order
//   - deferred.go: messages that wait for a tick or an entity; when they wait no longer
//   - history.go: messages of the last frames, and handles them again
//   - poison.go: overwrites values after their handler, with the tag netcode_debug
//   - align_any.go, align_strict.go: whether a platform reads unaligned numbers
package message
