// Package local connects a server to the supervisor that started it on this machine, netcode fleet or package fleet/supervisor.
//
//	life, err := local.Open(ctx)
//	socket, err := udp.Listen(life.Listen(), udp.Config{})
//	conn, err := secure.Listen(socket, secure.Config{Key: life.Key(), Admit: secure.Tokens(life.Address())})
//	err = fleet.Attach(loop, server, life, fleet.Config{}).Run(ctx)
//
// Each process has a key of its own: a connect token is good for one process alone, and not for the one that follows it at the same
// address. A server whose supervisor was killed drains.
//
// Lifecycle is the type that Open returns. Its files: local.go (Open, Lifecycle), pipe_unix.go and pipe_other.go (lines without a reader).
package local
