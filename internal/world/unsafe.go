package world

import "unsafe"

// Pointer points into a world. It is valid until an entity of the same table is added, moved or removed.
type Pointer = unsafe.Pointer
