// Package netecs is the bridge between an Arche world and the packages snapshot and replica. Its name is not that of its
// folder, ecs, since Arche's own package has that name. Another ECS needs another bridge.
//
// On a server, Capture writes the changes of a world to a snapshot.Store. On a client, Apply writes the received state
// of a replica.Replica to a world, and Smooth writes the presented values.
//
// No step keeps a pointer into a world, sets a listener, or passes a remote id to Arche.
//
// Words, with the files that define them:
//
//   - Shadow: the bytes of a column as of the last capture or apply. A slot is one row of it (column.go).
//   - table: the shadow of all entities with the same components. It is scattered if they have a relation (column.go).
//   - tracker: compares the world with the shadow and calls Capture or Apply for each change (tracker.go).
//   - entityMap: the entity and the slot of each network id (entity_map.go).
//   - Mark: notes that game code wrote a component, so that a capture need not compare it (capture_marks.go).
//   - Batch: rows of one column that a capture handles together: a fast path (capture_rows.go).
//   - Range: entities with consecutive indexes that an apply writes together: a fast path (apply_ranges.go).
//   - Reference: an entity field, or the target of a relation. Captures replace handles by network ids, applies replace
//     ids by handles (capture_references.go, apply_references.go).
//   - Twin: the components.Smooth of an interpolated component (smooth.go).
//   - Delayed: an entity that the server despawned and the client still shows, until its end is presented (smooth.go).
//   - Problem, ProblemKind: a value or a change that cannot be replicated, or that the package undid. It is reported
//     and never panics (problem.go).
//   - Resource: a replicated singleton (resource.go).
//   - HostView: shows a server's world to the player of a host (host_view.go).
//   - Hooks: functions that Apply calls. Change is one change that an Apply made. ApplyStats and SmoothStats are
//     counters (apply.go, smooth.go).
//   - Restored: the entities of a saved game that Restore creates (scene.go).
//   - Difference, Visible, VisibleFor: compare a client's world with the server's store, for tests (compare.go).
//
// # Files
//
// On both sides:
//
//   - world.go: World and Entity, the types of the ECS
//   - tracker.go, column.go, entity_map.go: the comparison with the shadow
//   - problem.go: problems, as entities that lack a Replicated
//   - scene.go: entities of a level that both ends loaded, and of a saved game
//   - resource.go: singletons, and components.Owner for the systems
//   - compare.go: comparison of worlds, for tests
//   - unsafe.go: all access by pointer
//
// Server:
//
//   - capture.go: changes of the world to the store: new and lost entities, added and removed components;
//     Capture.Reserve
//   - capture_rows.go: values of components, alone or in batches
//   - capture_rates.go: when a written component is captured
//   - capture_controls.go: components.Owner, Group, Priority and Rate
//   - capture_marks.go: marks
//   - capture_references.go: handles to network ids; cycles of relations
//   - host_view.go: the world as the player of a host sees it
//
// Client:
//
//   - apply.go, apply_entities.go, apply_ranges.go: the received state to the world: spawns, writes, removals
//   - apply_local.go: restores components that game code changed
//   - apply_references.go: network ids to handles; targets of relations, also those that are shown late
//   - smooth.go: interpolated components, delayed despawns
//
// The build tag netcode_plain turns the two fast paths off.
package netecs
