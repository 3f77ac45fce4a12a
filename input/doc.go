// Package input brings what players do to the server, tick by tick: sticks, buttons, where they look. It is a feature beside
// the kernel of package netcode.
//
//	input.Register[Control](protocol)           // on both sides
//	err := input.Set(client, &Control{Move: 1}) // once a frame
//	c, ok := input.Of[Control](server, player)  // in each tick
//
// Inputs travel unreliably and many times over: every packet has those of all ticks that the server has not acknowledged, so a
// lost packet costs nothing unless the packets that follow are lost too.
//
// # Words
//
//   - input: what a player does in one tick
//   - event: a field of an input that is a press, set in one tick; see [Register]
//   - tail: the inputs of a client that the server has not acknowledged
//   - queue: the inputs of a client by tick, at the server
//   - relay: tell clients the inputs of the other players whom they see; see [Relay]
//   - guess: the newest input of another player, in place of one that is not known
package input
