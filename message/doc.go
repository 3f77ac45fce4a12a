// Package message implements the messages of a protocol: types with codecs and handlers, inbound queues per stage, messages
// that wait for a tick or an entity, loopback, and the history of the last frames.
//
// Words owned here (docs/design.md):
//   - loopback: delivery to oneself.
//   - source: an end that sends messages; its connection stores a Source.
//
// Types. A Registry has the message types; TypeOf finds one by its Go type. A Codec encodes and decodes values:
// CodecOf for a Go type, Raw for bytes that RawCalls decode. Bounded types have a known maximum size. A Scratch is the
// working memory of codecs. A handler gets a Context with the Endpoint that runs it.
//
// Queues. An Inbound has one queue per stage, bounded by Limits; Existence tells it whether an entity exists. A
// History keeps the handled or the sent messages of the last frames; a Frame has those of one.
//
// Order. Within a stage, messages are handled in the order of their arrival. A message that a handler pushes for its own
// stage waits for the next Drain. Unhandled messages come first in the next frame. Later messages overtake a message that
// waits for a tick or an entity, except on a ReliableOrdered channel: there all later messages of the same channel and
// sender wait, whatever their stage. Loopback in the present stage is handled at once, before any queued message.
//
// Drops. Unreliable messages are dropped, and counted in Stats, in three cases: beyond the quota of their source; as the
// oldest of a full stage; after too long a wait. A reliable message is not dropped during its connection, except one whose
// entity never comes. If there is no room for it, its source gets a Fault, and the connection must end.
//
// A build with the tag netcode_debug overwrites values and contexts after their handler returned, to reveal games that keep
// them.
//
// Usage at registration, for each Go type:
//
//	codec, err := NewCodec[T](name, handler)                          // handler may be nil: this end never receives it
//	registry.Add(Type{Name: name, Codec: codec, Stage: …, StageGiven: …, Channel: …, Direction: …, OwnerOnly: …})
//	registry.Freeze()                                                 // or registry.Debug() and then Freeze
//	text = t.Describe(text)                                           // for the protocol hash, for each of registry.Types()
//
// Sending:
//
//	t, codec := TypeOf[T](registry)                                   // nil, nil: not registered
//	bound, err := codec.SizeBound(scratch, &m)                        // room to reserve
//	n, err := codec.Encode(scratch, room, &m)                         // *FieldError, *BoundError, *SerializeError: do not send
//	err = inbound.PushLocal(source, &Message{…}, payload)             // to an end of this process, or to oneself
//	history.Add(Record{Peer: to, Message: …, Payload: payload})      // with a history
//
// Receiving, each frame:
//
//	inbound.Begin(now, tick)                                          // renews quotas; unhandled messages come first
//	for each packet that holds messages of the game:
//		t, ok := registry.Lookup(h.Type)                              // before the packet is acknowledged:
//		ok = t.Codec.Check(scratch, body)                             // no effect
//		inbound.From(&connection.source, tick, now)                   // once per packet
//		err = inbound.Push(&Message{…}, body)                         // ErrFull for a reliable one closes the connection
//	inbound.Drain(stage)                                              // at each stage, any number of times
//	connection.source.TakeFreed(), .Fault()                           // for each connection: credit to grant, reason to close
//
// # Files
//
//   - registry.go: types, directions, limits
//   - codec.go: encodes and decodes values: by plan, by copy, by a Serialize method
//   - handle.go: calls handlers; contexts and errors
//   - inbound.go: the queues of the stages, frame by frame; messages to oneself, and between ends of one process
//   - push.go: queues received messages
//   - fair_share.go: decides which source loses a message if a stage is full
//   - drain.go: handles the messages of a stage, in the order of their channel across stages
//   - deferred.go: stores and releases messages that wait for a tick or an entity
//   - history.go: messages of the last frames; handles them again
//   - poison.go: overwrites values after their handler, with the tag netcode_debug
package message
