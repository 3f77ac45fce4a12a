//go:build netcode_plain

package plain

// On reports whether the build tag netcode_plain is set.
const On = true
