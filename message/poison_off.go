//go:build !netcode_debug

package message

// poisoning reports whether values and contexts are overwritten once their handler returned. With the build tag netcode_debug
// they are.
const poisoning = false
