// Package record records games and plays recordings to spectators. From recordings it trains tables of prefix codes,
// which encode a game's state in fewer bits than the shipped tables.
//
// # Files
//
//   - start.go: the extension that records a server
//   - writer.go: a view that sees everything: payloads as they would be sent, acknowledged at once, in chunks of a second
//   - reader.go, format.go: decode them with a replica; checksums, tables, and whether a build knows the recorded components (ErrProtocol)
//   - player.go, mirror.go: plays a recording on a server: speed, pause, seek; entities under ids of the server
//   - sight.go: records owners and what each client saw
//   - inputs.go, replay.go: record players' actions and the data of features; replay a game from them
//   - messages.go: records messages to clients and sends them to spectators
//   - memory.go: keeps the newest seconds, for killcams
//   - cut.go: cuts and compares recordings
//   - save.go: saves and loads games: a recording of one tick
//   - input.go: reads a file chunk by chunk and skips damaged parts
//   - train.go, learn.go, client.go: train tables: play recordings to clients, count symbols
package record
