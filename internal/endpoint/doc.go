// Package endpoint implements the message part of an end, which is alike in servers and clients: how messages are registered, sent,
// held back, received and handled, questions and answers, and what features write into packets.
//
// An [End] belongs to a server or a client, its [Owner]: that knows its connections, and who may see an entity. A [Link] is a connection
// with the state that messages need; package internal/link is the connection itself. A message that is sent is a [Draft] until it is
// encoded.
//
// # Files
//
//   - end.go: End, its owner, its counters; frames; panics of game code
//   - link.go: Link: how it begins, what it acknowledges, the messages of one that is over
//   - types.go: registration of messages, with their handlers; handlers of one end
//   - calls.go: questions and answers
//   - recipient.go: recipients
//   - send.go: Draft and Post, the way of a message to each end (sendToOne): queue, held back, or at once in this process
//   - held.go: messages that wait before they are sent, and those that wait for state
//   - incoming.go: judges a received packet before it takes effect, queues its messages
//   - names.go: what a client may see of the entities that messages name
//   - raw.go: messages whose bytes a feature reads; messages that are taken back
//   - posted.go, sections.go: messages that features are told of; parts of packets that they write
//   - errors.go: cases of errs.ErrMisuse
package endpoint
