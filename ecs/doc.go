// Package netecs is the bridge between an Arche world and package snapshot. Only this package and systems import Arche; another
// ECS is another bridge.
//
// On a server, Capture writes the changes of a world to a snapshot.Store. On a client, Apply writes the received state of a
// replica.Replica to a world, and Smooth writes the values that are presented.
//
// Words, with the files that own them:
//
//   - Shadow: the bytes of a column as of the last capture or apply. A slot is one row of it (column.go).
//   - table: the shadow of all entities with the same components. It is scattered if they have a relation (column.go).
//   - tracker: compares the world with the shadow and calls Capture or Apply for each change (tracker.go).
//   - entityMap: the entity and the slot of each network id (entity_map.go).
//   - Mark, Marker: tell a capture which components game code wrote, so that it need not compare them (capture_marks.go).
//   - Batch: rows of one column that a capture handles together: a fast path (capture_rows.go).
//   - Range: entities with consecutive indexes that an apply writes together: a fast path (apply_ranges.go).
//   - Reference: an entity field, or the target of a relation. Captures turn handles into network ids, applies turn ids into
//     handles (capture_references.go, apply_references.go).
//   - Twin: the components.Smooth of an interpolated component (smooth.go).
//   - Delayed: despawned by the server and still shown, until the presented moment is past the end (smooth.go).
//   - Problem, ProblemKind: a value or a change that cannot be replicated, or that the package undid. It is reported, and never a
//     panic (problem.go).
//   - Resource: a replicated singleton (resource.go).
//
// HostView shows a server's world to the player of a host (host_view.go). Other types: Hooks are functions that Apply calls. Change is one change that an Apply made. ApplyStats and SmoothStats are
// counters. Restored is what Restore makes entities of. Difference, Visible and VisibleFor compare a client's world with the server's store, for tests (compare.go).
//
// Neither step keeps a pointer into a world, sets a listener, or passes a remote id to Arche.
//
// # Files
//
//   - capture.go: changes of the world to the store: new and lost entities, added and removed components; ids that an entity has
//     before it is captured (Capture.Reserve)
//   - capture_rows.go: values of components, one by one or a column at once; their rates
//   - tracker.go, column.go, entity_map.go: the comparison with the shadow
//   - capture_marks.go, capture_references.go: marks; entity fields and relations
//   - apply.go, apply_entities.go, apply_ranges.go: the received state to the world: spawns, writes, removals
//   - scene.go: entities that both worlds have loaded, and those of a saved game
//   - apply_local.go: what game code changed in a client's world is restored
//   - apply_references.go: network ids to handles
//   - smooth.go: interpolated components, delayed despawns
//   - host_view.go: the world as the player of a host sees it
//   - resource.go: singletons, and components.Owner for the systems
//   - compare.go, problem.go: comparison for tests; problems, as entities that lack a Replicated
//
// The build tag netcode_plain turns the two fast paths off.
package netecs
