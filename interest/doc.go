// Package interest decides which entities and components each client may see: built-in policies, ways to combine them, and the code
// that shows and hides entities in a client's view.
//
// The words it owns (docs/design.md):
//
//   - interest: the rule that decides which entities and components a client may see
//   - visible: its result for one client and one entity, or one component of it; no byte about others reaches that client
//
// A [Policy] says which entities a client may see: [All], [Explicit], [Rooms], [OwnerOnly], [Grid], [Any] or [Both] of
// several, [Children] of visible entities, [Teams] that share their sight, [Rows] for components, [Bands] for their precision. [New] makes
// of it the interest of a server, which decides each network tick:
//
//	near := interest.NewGrid(interest.GridConfig{
//		Position: interest.PositionOf(schema, func(p *Position) (x, y, z float32) { return p.X, p.Y, p.Z }),
//		Enter:    100,
//		Leave:    120,
//	})
//	server.SetInterest(interest.New(near, interest.Despawn))
//	server.OnConnect(func(client netcode.ClientID) { near.Look(client, 0, 0, 0) })
//
// Decisions that follow the world are made once a tick, whatever the number of clients; a client costs one comparison of bits
// for 64 entities, and more only for what changed. No decision depends on the order of a map or on the rounding of a
// machine: the same calls make the same decisions everywhere. Nothing here does I/O, starts a goroutine or reads a
// clock; a policy belongs to the goroutine of its server, and to one server.
//
// # Files
//
//   - policy.go: Policy, All, Any, Both
//   - grid.go: entities near a viewpoint: the two radii, the rings of weights
//   - bands.go: Bands: coarser and slower components for clients far away
//   - children.go: Children: entities that are visible with their parent; Parent
//   - teams.go: Teams: sight that is shared
//   - refresh.go: Refresher, and decisions at once
//   - rooms.go, owner.go, explicit.go: the other policies
//   - rows.go: visible components
//   - interest.go: New: the differences of a policy's answers to a client's view, and lifetimes
//   - set.go: sets of entities
package interest
