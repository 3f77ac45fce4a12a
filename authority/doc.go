// Package authority lets clients write components: those that WrittenBy names, of the entities that a client owns or that
// Grant names it for. It is built on netcode's Extension API.
//
//	netcode.Replicate[Position](protocol, authority.WrittenBy(authority.OwnerWrites))
//
// A client assigns to such a component in its own world. What it writes is sent with the next tick to the server, and from
// there to the other clients. The server takes it only from the client that may write the component at that moment.
//
// A right is the rows of an entity that a client may write by now, as the server has told it. Ask and Release are how a client
// gets and gives up the place that Grant names. docs/guide/ownership.md has the whole subject.
//
// # Files
//
//   - authority.go: WrittenBy and the parts that both ends share
//   - server.go: the gate: which writes a server takes; Grant, and what it tells clients of their rights
//   - client.go: a client's rights, and its writes to the server
package authority
