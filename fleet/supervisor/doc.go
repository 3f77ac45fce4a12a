// Package supervisor runs the servers of a game on one machine, and allocates matches to them. The command netcode fleet is this
// package with flags.
//
//	s, err := supervisor.New(supervisor.Config{Servers: 4, Command: []string{"./game"}})
//	go http.Serve(s.Limit(listener), s)
//	err = s.Run(ctx)
//
// It starts each server with a port and a key of its own, restarts those that crash or whose ticks stand still, and replaces all of
// them, one by one, when the program's file has changed. The servers call fleet.Attach with package fleet/local.
//
// The package defines these words:
//
//   - seat: one of Config.Servers places; a process that ends is followed by another one in its seat
//   - build: the contents of the program's file
//   - rollout: the replacement of all processes by those of another build
//   - candidate: a process of a rollout that has no seat yet
//   - Supervisor: all of it; an http.Handler for backends
//   - Front: who may ask for a match, and how often
//   - Answer: the answer to a request for a match
//   - Server: a process as GET /servers shows it
//
// # Files
//
//   - supervisor.go: Config, New, Run
//   - step.go: what the supervisor decides, and when
//   - rollout.go: builds and rollouts
//   - process.go: one process
//   - link.go: the requests of processes
//   - allocate.go: Allocate, connect tokens
//   - front.go: Front, the requests for matches and who may make them
//   - limit.go: limits of connections and requests
//   - show.go: the requests of backends, GET /servers, metrics
package supervisor
