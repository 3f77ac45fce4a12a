// Package collections gives entities lists, sets and maps: for data that is too large to be a component, or changes in too
// small parts. They are sent beside snapshots: each change as an operation on one element, in order and reliably. A client that
// comes to see the entity receives them whole. The package is an extension (extend.Extension) of a protocol that has any.
//
//	inventory := collections.NewList[Slot](protocol, "inventory", collections.MaxElements(64)) // on both sides
//
//	err := inventory.Of(server, player).Append(Slot{Kind: 3})     // the server writes
//	slot, ok := inventory.Of(client, player).At(0)                // clients read
//	inventory.OnChange(client, func(c collections.ListChange[Slot]) { ... }) // and are told of changes
//
// # For games
//
//   - [List], [Set], [Map]: a type of collection, registered by [NewList], [NewSet] and [NewMap] with the [Option]s
//     [MaxElements] and [MaxBytes].
//   - [ListOf], [SetOf], [MapOf]: the collection of one entity at one end.
//   - [ListChange], [SetChange], [MapChange]: one change at a client, with its [ChangeKind].
//   - [FullError], [ErrReadOnly], [ErrNoElement]: errors of writing.
//
// # How it works
//
// An origin is the contents on the server, with a journal of the operations since the last frame. A reader is the part of it
// that one client lacks. A mirror is what a client has. None of them knows of connections: a link tells what a client sees, and
// sends the operations to it.
//
// Sets and maps are lists in the order of their keys, so that all three are sent as the same few operations. A key is
// compared by its words on the wire (quantize.Plan), the first one first.
//
// The prefix of a reader is the number of first elements that it was sent. The client has these and nothing else. Operations
// behind the prefix are not sent: their elements follow when the prefix grows. So a large content that changes all the time is
// sent in pieces, without a copy and without a new start. A reader is in step when its prefix is the whole content.
//
// # Files
//
//   - collections.go, definition.go: registration and errors; elements, keys, limits
//   - list.go, set.go, map.go: the three types, for games
//   - origin.go: contents on the server, with the journal
//   - reader.go: the part that one client was sent; hidden entities in elements, and waiting operations that are taken back
//   - server.go, client.go: the hooks of each end; clients that have just acknowledged an entity
//   - mirror.go: contents at a client, and its changes
//   - op.go: operations on the wire, and as text
//   - record.go: collections in recordings
package collections
