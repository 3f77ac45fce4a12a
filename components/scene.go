package components

// SceneID is the number of an entity in a level that both ends have loaded. A client's entity with the number of one of the server's
// becomes that entity when it arrives, in place of a new one: it keeps its own components, and gets the server's. It is to be
// registered with netcode.Replicate.
type SceneID struct {
	ID uint32 // The game's own number, the same on both ends, and of one entity at most. 0: none.
}
