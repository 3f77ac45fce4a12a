// Package world is the façade of the ECS: nothing else of the library imports it. World and Entity are the ECS's own
// types, so user code passes its world as it is, and a call costs what the ECS takes.
//
// Methods that every ECS has are called directly: World.Alive, RemoveEntity, IsLocked, Resources and Reset, Entity.ID and
// IsZero. All else has a name here. Words:
//
//   - ID: a component of one world. Mask: a set of them.
//   - Table: the rows of all entities with the same components and the same targets.
//   - Matcher: selects masks. Filter: a Matcher that the world knows, so that its tables are found at once.
//   - Query: a walk over the tables of a Filter or Matcher. The world is locked until its end or Close.
//   - Target: the entity that a relation component refers to.
//
// # Files
//
//   - world.go: what both have
//   - arche.go: Arche
//   - ark.go, unsafe_ark.go: Ark, in a build with the tag netcode_ark
//   - unsafe.go: pointers into a world
package world
