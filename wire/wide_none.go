//go:build !amd64 || purego

package wire

// wide reports whether columns can be gone through several rows at a time: not here.
func wide() bool { return false }
