// Package canon has the canonical description of a protocol: the text that both ends hash, and messages about differences.
// canon.go contains everything.
package canon
