package components

// SceneID is the number of an entity in a level that both ends have loaded. When the server's entity with this number arrives, the
// client does not spawn a new entity: its own entity with the number takes that role. It keeps its own components and gets the
// server's. Register SceneID with netcode.Replicate.
type SceneID struct {
	ID uint32 // The game's number, equal on both ends, for at most one entity. 0: none.
}
