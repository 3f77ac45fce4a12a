// Package input sends the actions of players to the server, tick by tick: sticks, buttons, directions. It is a feature
// built on the extension API of package netcode.
//
//	input.Register[Control](protocol)           // on both sides
//	err := input.Set(client, &Control{Move: 1}) // once a frame
//	c, ok := input.Of[Control](server, player)  // in each tick
//
// Inputs are sent unreliably and repeatedly. Each packet has the inputs of all ticks that the server has not
// acknowledged. A lost packet loses no input unless the following packets are lost too.
//
// # Words
//
// The terms in brackets are from Unity's Netcode for Entities (NE).
//
//   - input: a player's action in one tick (NE: command data)
//   - event: a field of an input that is a press, set in one tick (NE: InputEvent); see [Register]
//   - input buffer: the inputs of a client that the server has not acknowledged (NE: command buffer)
//   - queue: the inputs of a client by tick, at the server
//   - relay: the server sends clients the inputs of other players whose entities they see; see [Relay]
//   - guess: the newest known input of another player, used for a tick whose input is not known
//
// # Files
//
//   - input.go: Register, and the layout of the input section
//   - client.go: Set, and the input buffer of a client; an event, as a press, is in one tick (recordTick); writes the section
//   - server.go: Of and At, and the queue of a client; late events (postpone); reads the section and selects the input of a tick
//   - feedback.go: reports to a client how early its inputs arrive
//   - used.go: reports to a client the inputs that the server used in place of the client's
//   - recorded.go: inputs in recordings
//   - relay.go, relay_server.go, relay_client.go: inputs of other players
package input
