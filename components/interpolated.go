package components

// Smooth holds what a client shows of the replicated component T: its value at the moment that is presented, between the
// values that arrived. T itself stays the newest value that arrived. systems.Interpolate adds it to an entity, for each
// component that was given to interpolate.Register, when the entity appears at the moment that is presented, and writes it
// once a frame; code that draws asks for entities with a Smooth[T] in place of those with a T.
//
// Game code reads it and does not write it. It is a client's own and is never sent. A host's entities that its player sees have it too
// (systems.HostView).
type Smooth[T any] struct {
	Value T // as of the moment that is presented
}

// Teleport on an entity tells that it did not go the way between its last two values: with every other Count than before,
// what is interpolated of the entity jumps at that tick and does not slide. Game code on the server counts it up in the
// tick in which it moves the entity. It is to be registered with netcode.Replicate.
type Teleport struct {
	Count uint8 // goes around after 255; only that it differs counts
}
