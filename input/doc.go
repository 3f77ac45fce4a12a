// Package input brings the actions of players to the server, tick by tick: sticks, buttons, directions. It is a feature beside
// the kernel of package netcode.
//
//	input.Register[Control](protocol)           // on both sides
//	err := input.Set(client, &Control{Move: 1}) // once a frame
//	c, ok := input.Of[Control](server, player)  // in each tick
//
// Inputs are sent unreliably and many times over: every packet has those of all ticks that the server has not acknowledged, so a
// lost packet costs nothing unless the packets that follow are lost too.
//
// # Words
//
//   - input: a player's action in one tick
//   - event: a field of an input that is a press, set in one tick; see [Register]
//   - tail: the inputs of a client that the server has not acknowledged
//   - queue: the inputs of a client by tick, at the server
//   - relay: tell clients the inputs of the other players whom they see; see [Relay]
//   - guess: the newest input of another player, in place of one that is not known
//
// # Files
//
//   - input.go: Register, and the section of inputs, written and read
//   - client.go: the inputs of a client, and the tail
//   - server.go: the queue of a client: which input a tick takes
//   - feedback.go: tells a client how early its inputs come
//   - used.go: tells a client which inputs the server used in place of its own
//   - recorded.go: inputs in recordings
//   - relay.go, relay_server.go, relay_client.go: inputs of other players
package input
