// Command steps runs one part of Brawl after the other, headless and in virtual time, over a line with a round trip of 200 ms and 5 % loss.
// The pages "day" of the guide read its output: go run ./steps 1
//
// # Files
//
//   - table.go: table: a server and players
//   - main.go: the five steps
package main
