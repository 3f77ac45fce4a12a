// Package systems connects a netcode.Server or netcode.Client to an Arche world and a socket: the systems that game code
// adds to its loop, in their order, and a small loop for games without one.
//
// The systems have the shape of arche-model's System, so they can be added to a model as they are:
//
//	group := systems.NewServer(server, socket, systems.WallClock())
//	for _, system := range group.Systems() {
//		model.AddSystem(system)
//	}
//
// The words it owns (docs/design.md): frame, one turn of the game loop, and stage, a point in the frame. A server's frame:
//
//	Initialization   Receive    datagrams to the server
//	each stage       Dispatch   messages to their handlers, then the game's own systems of the stage
//	PreLateUpdate    Capture    on a network tick: the world to the server's store
//	PostLateUpdate   Send       packets to the socket
//
// A client's frame has Apply, received state to the world, at the start of EarlyUpdate and no Capture.
package systems
