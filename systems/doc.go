// Package systems connects a netcode.Server or netcode.Client to an Arche world and a socket. It has the systems of a frame, in
// their order, and a small loop for games without one.
//
// A frame is one turn of the game loop. A stage is a point in the frame: a game adds its own systems to stages. A network tick is
// one step of replication; Tick runs it in the frames that it falls into. ServerSystems, ClientSystems and HostSystems list a
// frame from its first system to its last.
//
// A server's frame:
//
//	Receive                    takes the datagrams of the socket: acknowledgements, inputs, messages
//	Away                       removes or hands over the entities of players that are away, and gives them back
//	Dispatch, Initialization   calls the handlers of the stage; then the game's systems of the stage run, as in each stage
//	Accept                     writes to the world what clients may write
//	Dispatch, EarlyUpdate
//	Dispatch, FixedUpdate      the simulation belongs here,
//	Dispatch, PreUpdate
//	Dispatch, Update           or here
//	Dispatch, PreLateUpdate
//	Tick                       asks Server.TickDue. On a network tick it runs
//	  Capture                    the world becomes the server's store, as of Server.Tick
//	Dispatch, PostLateUpdate
//	Send                       builds the packets and gives them to the socket. Each packet has a sequence number and
//	                           acknowledges what came. On a network tick the packets of a client contain the rows of the store
//	                           that it is not proved to have, as deltas against acknowledged ones, then messages;
//	                           in other frames, messages alone
//
// A client's frame:
//
//	Receive                    takes the datagrams of the socket: the rows of the newest ticks, messages
//	Dispatch, Initialization
//	Apply                      spawns, writes and removes entities, so that the world is as received; calls OnSpawn and OnDespawn
//	Interpolate                writes components.Smooth for the moment Client.Present
//	Dispatch, EarlyUpdate
//	...
//	Dispatch, PreLateUpdate
//	Gather                     on a network tick: captures the components that the client writes
//	Dispatch, PostLateUpdate
//	Send                       builds the packets. On a network tick they contain inputs, written components, and acknowledge
//	                           what came
//
// The systems have the shape of arche-model's System, so they can be added to a model as they are:
//
//	group := systems.NewServer(server, socket, systems.WallClock())
//	for _, system := range group.Systems() {
//		model.AddSystem(system)
//	}
//
// A game may also place each system by itself. OnError is told if their order is wrong.
//
// Other types: Group is the systems of one end together with the game's own, Runner the loop that runs a Group, End a server or a
// client, Socket a transport, Marker marks written components.
//
// # Files
//
//   - server.go, client.go, host.go: the systems of an end, in the order of the frame
//   - receive.go, send.go: datagrams from the socket and to it
//   - capture.go: the world to the store of the server, on a network tick
//   - apply.go, player.go: the received state to the world; the world as one player sees it
//   - authority.go: what clients write, at both ends
//   - away.go: entities of players that are away
//   - save.go: entities of a saved game
//   - runner.go, offline.go: a small loop; a socket to nobody
//   - system.go: the shape of a system; their order, and the error if it is wrong
package systems
