package components

// Smooth has the value of the replicated component T that a client shows: its value at the presented moment, between the values that
// arrived. T itself is the newest value that arrived. systems.Interpolate adds a Smooth for each component of interpolate.Register
// when the entity is presented for the first time, and writes it once a frame. Draw the entities with a Smooth[T], not those with a T.
//
// Game code reads it and does not write it. It is local to a client and is never sent. The entities that a host's player sees have it too
// (systems.HostView).
type Smooth[T any] struct {
	Value T // as of the moment that is presented
}

// Teleport makes an entity jump on the screen and not slide: if Count differs from the one before, the interpolated components
// change at that tick at once. Game code on the server counts it up in the tick in which it moves the entity. Register it with
// netcode.Replicate.
type Teleport struct {
	Count uint8 // goes around after 255; only that it differs counts
}
