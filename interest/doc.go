// Package interest decides which entities and components each client may see. It has built-in policies, combinators for policies,
// and the code that shows and hides entities in a client's view.
//
// The package's words (docs/design.md):
//
//   - interest: the rule that decides which entities and components a client may see
//   - visible: the result of that rule for one client and one entity or component; a client receives no byte about the rest
//   - viewpoint: the point from which distances to a client are measured; the game sets it, or names an entity to follow
//
// A [Policy] answers with one mask: the components that a client sees of an entity; none hides it. [All], [Explicit], [Rooms],
// [OwnerOnly] and [Grid] show some entities whole. [Any] is the union of masks, and [Both] the intersection. [Children] adds the
// children of visible entities. [Teams] shares sight within a team. [Rows] takes components away, and [Bands] precision. [New] turns
// a policy into the interest of a server, which is applied each network tick:
//
//	near := interest.NewGrid(interest.GridConfig{
//		Position: interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, p.Z }),
//		Enter:    100,
//		Leave:    120,
//	})
//	server.SetInterest(interest.New(near, interest.Despawn))
//	server.OnConnect(func(client netcode.ClientID) { near.Look(client, 0, 0, 0) })
//
// A policy follows the world once a tick, independent of the number of clients. For a client it is asked about entities for which
// its answer may have changed. The client's view holds the answers. Decisions are deterministic: they depend neither on map
// order nor on floating-point rounding of the machine. The package does no I/O, starts no goroutine and reads no clock. A policy
// belongs to one server and to that server's goroutine.
//
// # Files
//
//   - interest.go: New, Interest: writes a policy's answers to a client's view
//   - again.go: Again: the entities about which a policy is asked again
//   - policy.go: Policy, All, Any, Both, OwnerOnly, Rows
//   - grid.go: Grid: entities near a viewpoint, with hysteresis and weights by distance
//   - cells.go: positions of entities, by cell
//   - rooms.go: Rooms: entities and clients that share a room
//   - explicit.go: Explicit: entities that the game names
//   - children.go: Children: entities that are visible with their parent
//   - teams.go: Teams: clients that share their sight
//   - bands.go: Bands: coarser or slower components for clients far away
package interest
