package components

// Smooth is the interpolated value of the replicated component T on a client: its value at the presented time, between received
// versions. T itself is the newest received version. systems.Interpolate adds a Smooth for each component of interpolate.Register
// when it first presents the entity, and writes it once a frame. Draw the entities with Smooth[T], not those with T.
//
// Game code only reads it. It is local to a client and never sent. The entities that a host's player sees have it too
// (systems.HostView).
type Smooth[T any] struct {
	Value T // as of the presented time
}

// Teleport makes an entity jump instead of slide. In a tick in which Count differs from the previous version, interpolated
// components change at once. Game code on the server increments it in the tick in which it moves the entity. Register it with
// netcode.Replicate.
type Teleport struct {
	Count uint8 // wraps around after 255; only a difference matters
}
