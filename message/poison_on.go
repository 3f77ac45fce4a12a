//go:build netcode_debug

package message

// poisoning says whether values and contexts are overwritten once their handler returned.
const poisoning = true
