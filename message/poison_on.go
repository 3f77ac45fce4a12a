//go:build netcode_debug

package message

// poisoning reports whether values and contexts are overwritten once their handler returned.
const poisoning = true
