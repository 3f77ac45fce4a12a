// Package systems connects a netcode.Server or netcode.Client to an Arche world and a socket. It has the systems of a
// frame, in their order, and a small loop for games without a loop of their own.
//
// A frame is one turn of the game loop. A stage is a point in the frame: a game adds its own systems to stages. A network
// tick is one step of replication; Tick runs it in the frames in which it is due. ServerSystems, ClientSystems and
// HostSystems list a frame from its first system to its last.
//
// A server's frame:
//
//	Receive                    reads the datagrams of the socket: acknowledgements, inputs, messages
//	Away                       removes, hands over or gives back the entities of players that are away
//	Dispatch, Initialization   calls the handlers of the stage; then the game's systems of the stage run, as in each stage
//	Accept                     writes to the world the components that clients have written
//	Dispatch, EarlyUpdate
//	Dispatch, FixedUpdate      the place of the simulation
//	Dispatch, PreUpdate
//	Dispatch, Update           or of the simulation, if it is not in FixedUpdate
//	Dispatch, PreLateUpdate
//	Tick                       on a network tick (Server.TickDue): captures the changes of the world, that is, copies them to
//	                           the server's store as of Server.Tick
//	Dispatch, PostLateUpdate
//	Send                       builds the packets and passes them to the socket. Each packet has a sequence number and
//	                           acknowledgements. On a network tick the packets of a client contain the rows that it has not
//	                           acknowledged, as deltas against acknowledged rows, then messages; in other frames, messages alone
//
// A client's frame:
//
//	Receive                    reads the datagrams of the socket: the rows of the newest ticks, messages
//	Dispatch, Initialization
//	Apply                      spawns, writes and removes entities, so that the world equals the received state; calls OnSpawn
//	                           and OnDespawn
//	Interpolate                writes components.Smooth for the moment Client.Present
//	Dispatch, EarlyUpdate
//	...
//	Dispatch, PreLateUpdate
//	Gather                     on a network tick: captures the components that the client writes
//	Dispatch, PostLateUpdate
//	Send                       builds the packets. On a network tick they contain inputs, written components and
//	                           acknowledgements
//
// The systems have the methods of arche-model's System, so that a model accepts them:
//
//	group := systems.NewServer(server, socket, systems.WallClock())
//	for _, system := range group.Systems() {
//		model.AddSystem(system)
//	}
//
// A game may also place each system itself. OnError gets an error if their order is wrong.
//
// Other types: Group has the systems of one end with the game's own, Runner is the loop that runs a Group. End is a
// server or a client, Socket a transport.
//
// # Files
//
//   - server.go, client.go, host.go: the systems of an end, in the order of the frame
//   - receive.go, send.go: datagrams from the socket and to the socket
//   - tick.go: copies the world to the store of the server, on a network tick
//   - apply.go: copies the received state to the world
//   - player.go: the world as one player sees it, and the hooks OnSpawn, OnPresented and OnDespawn
//   - authority.go: components that clients write, at both ends
//   - away.go: entities of players that are away
//   - save.go: entities of a saved game
//   - runner.go: a small loop
//   - offline.go: a socket without a network; Attach and Detach
//   - system.go: the System interface, the stages, the order of systems and its errors
package systems
