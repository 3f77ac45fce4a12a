// Package plain writes the protocol of a lock file for thin clients (docs/plain.md): lines of words, so that a client in any language
// parses no descriptions and computes no hashes.
//
//	hash 44 252 203 165 122 17 248 151
//	entries 3 0 45 152 14 167 196 1 6 240 131 77 9 2
//	component Position
//	field X scaled 12 2048 -512 512
//	message Chat 192
//	field Text text 0 64 0 0
//
// # Files
//
//   - write.go: Words
//   - field.go: the words of a field
package plain
