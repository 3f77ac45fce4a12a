// Package netecs is the bridge between an Arche world and the snapshots that travel.
//
// It is the only package, beside systems, that knows Arche; another ECS is
// another bridge. Its words:
//
//   - Capture: the server's step from the world to the store. It finds what
//     changed by comparing component columns with a shadow copy.
//   - Apply: the client's step from the received snapshots to the world. It is
//     the gate through which replicated state changes a client's world.
//   - Shadow: the bytes of a column as of the last capture or apply.
//   - Place: where an entity's rows lie in the shadow.
//   - Problem: something in a world that cannot be replicated as it stands, or
//     that game code did and netcode tolerated. It is reported, never a panic.
//
// Neither step keeps a pointer into a world, sets a listener, or hands a remote
// id to Arche: network ids are looked up in a table of this package's own.
package netecs
