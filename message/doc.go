// Package message knows which type a received message has, which handler it goes to and at which stage: the registry, the
// context that a handler is given, and the inbound queues, one for each stage.
//
// Words owned here (docs/design.md):
//   - loopback: delivery to oneself.
package message
