// Package canon is the canonical description of a protocol: the text that both ends hash, and the sentences about a difference.
package canon
