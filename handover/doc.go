// Package handover moves players from one server to another while they play. It is built on the extension API of package netcode
// and on package systems.
//
//	handover.Register(protocol)                                      // on both sides
//	mover := handover.Attach(group, handover.Config{Key: key})           // at each server; group is a *systems.ServerSystems
//	err := mover.Move(client, handover.Destination{Server: "10.0.0.7:9000", Token: token})
//
//	player := handover.NewClient(open)                               // at a client: open makes a session of the game
//	player.Start(handover.Destination{Server: address})              // connects it
//	systems.NewRunner(nil, player, 60).Run(ctx)                  // it is a systems.Group
//
// A client has two sessions for a while: two netcode.Clients with a world each. The first one is shown until the second one has
// the world of the new server and the player's entities in it. Then the second one is shown, from one frame to the next. The
// player's entities are carried as a saved game, sealed with a key of the servers. If anything fails before, the player
// stays where it was. ADR 96 lists the faults.
//
// # Words
//
//   - move: one player on its way from the old server to the new one
//   - carried: the player's entities and the data of the game, on their way
//   - held: the old server has given out what is carried, and does not know yet that it arrived. The entities stay there and
//     go on moving. The game makes no deals with a player that is held: what happens to it is lost if the move succeeds
//   - pass: the sealed words of the old server about who the player is
//   - shown: the session of a client whose world the player sees
//
// # Files
//
//   - handover.go: Register, Destination, Config
//   - server.go: Attach, Move, and a player that leaves
//   - arrive.go: a player that arrives
//   - client.go: Client, the sessions of a player
//   - messages.go, seal.go: the messages between the ends, and what is sealed in them
package handover
