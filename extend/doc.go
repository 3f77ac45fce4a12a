// Package extend has the calls for authors of features: what a feature adds to the frames, packets and messages of package netcode.
//
// A feature is an [Extension] that it adds to a protocol ([OfProtocol]). It has a side at servers and one at clients, which return
// [ServerHooks] and [ClientHooks]: functions that are called at fixed points of a frame. A section ([ServerSection],
// [ClientSection]) is the feature's part of packets, [RawMessage] a message whose bytes it reads itself, [ServerRecord] its part of
// recordings. A [Session] is one client at the server. State that a feature keeps with one of these is found by its type
// ([ExtensionOf]).
//
// Games do not import this package. They call the features: input, authority, collections, interpolate, consistent, transfer,
// loading, predict, rewind, record and inspect are built on it alone. docs/guide/extensions.md goes through one with a section.
//
// # Files
//
//   - extension.go: a feature, what it registers, the state that it keeps
//   - hooks.go: the functions that it gives to ends, its part of packets and recordings
//   - ends.go: servers, clients and sessions as features see them
//   - messages.go: messages of game code that features are told of, and messages of their own
package extend
