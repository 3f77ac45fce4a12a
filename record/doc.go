// Package record records games, plays recordings to spectators, and learns from them the tables of prefix codes by which a game's own
// state is sent in the fewest bits.
//
// # Files
//
//   - start.go: the extension that records a server
//   - writer.go, reader.go, format.go: a recording, written and read tick by tick: chunks and their sums
//   - index.go: where the chunks of a file are, by their heads
//   - player.go: a server plays a recording: speed, pause, seek
//   - sight.go: owners and what each client saw
//   - inputs.go, replay.go: what players do, and a game that is played once more from it; parts of features
//   - messages.go: messages to clients, recorded and sent again
//   - memory.go: the newest seconds, for killcams
//   - cut.go: parts and differences of recordings
//   - save.go: saved games: one key frame
//   - input.go: reads a damaged recording as far as it is whole
//   - train.go, learn.go, client.go: plays recordings, counts symbols, makes tables
package record
