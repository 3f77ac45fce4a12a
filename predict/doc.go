// Package predict implements client-side prediction with rollback. A client simulates the entities of its own player
// ahead of the server, with the same systems. It corrects the result when the server's state differs. The package is a
// feature built on the extension API of package netcode.
//
//	predict.Register[Position](protocol)                 // on both sides
//	predict.Register[Velocity](protocol)
//	input.Register[Control](protocol)
//	predict.Simulate(group, predict.Config{}, &move{})   // the same systems on server, client and host
//
// A system of the simulation takes one step:
//
//	func (m *move) Step(s *predict.Step) {
//		query := m.filter.Query(s.World) // of components.Simulate, Owner, Position, Velocity
//		for query.Next() {
//			_, owner, at, v := query.Get()
//			if c, ok := predict.Input[Control](s, owner.Client); ok {
//				...
//			}
//		}
//	}
//
// The server runs one step per network tick. A client runs one step per tick of Client.Time, which is ahead of the
// server: the input of a tick reaches the server just in time. The client stores the predicted components of the last
// Window ticks. When the server's state of a tick arrives, the client compares it with the prediction for that tick. If
// they differ, all predicted entities return to that tick (rollback). The later ticks are simulated again with their
// original inputs (replay).
//
// The approach is described by Bernier, "Latency Compensating Methods in Client/Server In-game Protocol Design" (2001),
// and by Ford, "Overwatch Gameplay Architecture and Netcode" (2017).
//
// # Files
//
//   - register.go: registers predicted and local components of a protocol
//   - simulation.go: Simulate, Config, Stats, hooks, the list of systems
//   - step.go: Step, the argument of a system: inputs, random numbers
//   - server.go: server.update, a server's frame: its steps, rounding, the lists of predicted entities
//   - client.go: client.update, a client's frame: rollbackTick, rollBack, replay, and keep after each step
//   - compare.go: client.rollbackTick compares the server's state with the prediction
//   - predicted.go: the predicted entities of a client, one slot for each
//   - history.go: the prediction history: the components of the last ticks
//   - order.go: predicted entities in their memory order in the world
//   - tables.go: finds the columns of components in a world
//   - spawn.go: entities that steps spawn and despawn, on both sides; the spawns that a client has not acknowledged
//   - effect.go: sounds and particles, played once each
//   - claims.go: claims, the effects that a client played; the server refuses those that it did not make
//   - local.go: local components that a client requests from the server
//   - bands.go: Exact, entities without distance bands
//   - chosen.go: Simulation.Predict, the choice of a client and its message
//   - end_state.go: the state of each end and of each client at a server, the hooks of package netcode
//   - rest.go: the section of resting entities, for which the server sends no records
//   - show.go: writes components.Smooth of predicted entities, blends corrections and changes of prediction
//   - determinism.go: reports a client that mispredicts tick by tick, with the systems of both ends
//   - explain.go: finds the system that made the first difference
//   - errors.go: StoodError
//   - report.go: sends a client's mispredictions to the server
//   - unsafe.go: the unsafe accesses to component memory
//
// # Words
//
// The terms in brackets are from Unity's Netcode for Entities (NE) and lightyear (LY).
//
//   - step: the simulation of one tick (one run of NE's predicted simulation group)
//   - predicted: simulated at a client ahead of the server (NE: predicted ghost)
//   - slot: the index of a predicted entity in the tables of a client
//   - prediction history: the predicted and local components of the last Window ticks (LY: prediction history)
//   - local: a component that is not sent with the state and is rolled back with the predicted components
//   - misprediction: the server's state of a tick differs from the predicted state (LY: mismatch)
//   - rollback: predicted entities return to an earlier tick
//   - replay: a step of a tick that was simulated before (LY: resimulation)
//   - resting: unchanged, so that the server sends no record of the entity
package predict
