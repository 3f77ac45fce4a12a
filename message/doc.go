// Package message knows which type a received message has, which handler it goes to and at which stage: the registry, the
// codecs, the context that a handler is given, the inbound queues, one for each stage, what waits for a tick or an entity,
// loopback, and the history of the last frames.
//
// Words owned here (docs/design.md):
//   - loopback: delivery to oneself.
//   - source: one end that messages come from; the connection to it holds a Source.
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
//	codec, short := ShortOf[T](&cache)                                // what TypeOf found, of types that cache.Allow allows: Copy will do
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
//		inbound.PushPlains(batches, rows)                             // all of a packet on channel 0 of Unreliable without flags; or
//		batches = inbound.Keep(batches)                               // one copy; the Reader then goes over this one
//		err = inbound.PushPlain(h.Type, h.Stage, payload)             // channel 0 of Unreliable without flags
//		err = inbound.Push(&Message{…}, body)                         // anything else; ErrFull of a reliable one closes
//	inbound.Drain(stage)                                              // at each stage, any number of times
//	connection.source.TakeFreed(), .Fault()                           // for each connection: credit to grant, reason to close
package message
