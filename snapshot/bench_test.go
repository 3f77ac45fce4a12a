package snapshot

// The components of the benchmarks: 112 bits of a body in three rows.
type benchPosition struct {
	X, Y, Z float32 `net:"min=-256,max=255,step=0.002"`
}
type benchRotation struct {
	Q [4]float32 `net:"quat,bits=9"`
}
type benchVelocity struct {
	X, Y, Z float32 `net:"min=-16,max=16,step=0.02"`
}
