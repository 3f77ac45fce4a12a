// Package interest decides which entities and components each client may see. It has built-in policies, combinators for policies,
// and the code that shows and hides entities in a client's view.
//
// The package's words (docs/design.md):
//
//   - interest: the rule that decides which entities and components a client may see
//   - visible: the result of that rule for one client and one entity or component; a client receives no byte about the rest
//   - viewpoint: the point from which distances to a client are measured; the game sets it, or names an entity to follow
//
// A [Policy] selects the entities of each client: [All], [Explicit], [Rooms], [OwnerOnly] and [Grid]. [Any] and [Both] combine
// several policies. [Children] adds the children of visible entities. [Teams] shares sight within a team. [Rows] selects
// components, and [Bands] selects their precision. [New] turns a policy into the interest of a server, which is applied each
// network tick:
//
//	near := interest.NewGrid(interest.GridConfig{
//		Position: interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, p.Z }),
//		Enter:    100,
//		Leave:    120,
//	})
//	server.SetInterest(interest.New(near, interest.Despawn))
//	server.OnConnect(func(client netcode.ClientID) { near.Look(client, 0, 0, 0) })
//
// A policy follows the world once a tick, independent of the number of clients. A client costs one comparison per 64 entities,
// and extra work only for changes. Decisions are deterministic: they depend neither on map order nor on floating-point rounding
// of the machine. The package does no I/O, starts no goroutine and reads no clock. A policy belongs to one server and to that
// server's goroutine.
//
// # Files
//
//   - interest.go: New, Interest: compares a policy's answer with a client's view; tracks which entity lives at each index
//   - policy.go: Policy, View, All, Any, Both, Interest.Why
//   - grid.go: Grid: entities near a viewpoint, with hysteresis and weights by distance
//   - rooms.go: Rooms: entities and clients that share a room
//   - owner.go: OwnerOnly: entities of their owner
//   - explicit.go: Explicit: entities that the game names
//   - children.go: Children: entities that are visible with their parent
//   - teams.go: Teams: clients that share their sight
//   - rows.go: Rows: visible components
//   - bands.go: Bands: coarser or slower components for clients far away
//   - refresh.go: Refresher: calls the game's functions again and decides at once
//   - set.go: Set, a bitset of entities
package interest
