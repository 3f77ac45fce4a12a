// Package authority lets clients write components: those registered with WrittenBy, of entities that a client owns or is named
// for by Grant. It uses netcode's Extension API.
//
//	netcode.Replicate[Position](protocol, authority.WrittenBy(authority.OwnerWrites))
//
// A client assigns to such a component in its own world. The value is sent with the next tick to the server, and from there to
// the other clients. The server accepts it only from the client that may write the component at that moment.
//
// A right is the set of rows of an entity that a client may write now, as the server has told it. It has a number: what a client writes
// under an older one does not count in rows whose right was taken and given back, or that the server corrected since. A client requests the right of
// NamedWrites with Ask and returns it with Release. docs/guide/ownership.md explains the subject.
//
// # Files
//
//   - authority.go: WrittenBy, MayWrite, the messages
//   - server.go: the gate, which decides which writes a server accepts; Grant, Correct; telling clients their rights
//   - rights.go: the rights of a client, as the server told them, with their numbers
//   - client.go: a client's rights, and its writes
package authority
