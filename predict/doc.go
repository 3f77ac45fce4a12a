// Package predict lets a player's own world answer at once. A client simulates the entities of its player ahead of the server,
// with the same systems, and corrects itself when the server's state differs. It is a feature beside the kernel of package
// netcode.
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
// On the server a step runs once per network tick. On a client it runs once per tick of Client.Time, which lies ahead of the
// server: the input of a tick reaches the server just in time for it. The client keeps the predicted components of the last
// ticks. When the server's state of a tick arrives, it is compared with the prediction for that tick. If they differ, all
// predicted entities go back to that tick, and the ticks since are simulated again with the inputs of then: rollback and replay.
//
// The approach is that of Bernier, "Latency Compensating Methods in Client/Server In-game Protocol Design" (2001), and of
// Ford, "Overwatch Gameplay Architecture and Netcode" (2017).
//
// # Files
//
//   - register.go: predicted and local components of a protocol
//   - simulation.go: Simulate, the list of systems, hooks and counters
//   - step.go: what a system has in hand during a step
//   - server.go: steps at the server
//   - client.go: a client's frame, client.update: compare, rollBack, replay, and keep after each step
//   - compare.go: the server's state against the prediction
//   - predicted.go: which entities a client predicts, each with its slot
//   - history.go: the components of the last ticks
//   - order.go: predicted entities in the order in which they lie in the world
//   - tables.go: where components lie in a world
//   - spawn.go: entities that come and go in steps
//   - effect.go: sounds and particles, once each
//   - local.go: local components that a client asks for
//   - bands.go: Exact: which entities have no distance bands
//   - rest.go: entities that the server tells nothing new of
//   - show.go: components.Smooth of predicted entities
//   - explain.go: the system that made the first difference
//   - report.go: clients tell the server of their mispredictions
//
// # Words
//
//   - step: the simulation of one tick
//   - predicted: simulated at a client ahead of the server
//   - local: a component that is not sent with the state and goes back with the predicted ones
//   - misprediction: the server's state of a tick differs from the predicted one
//   - rollback: predicted entities go back to an earlier tick
//   - replay: a step of a tick that was simulated before
package predict
