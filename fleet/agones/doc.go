// Package agones connects a server to Agones, which runs game servers on Kubernetes. It speaks the REST of the SDK's sidecar and
// needs no module of Agones.
//
//	life, err := agones.Open(ctx, agones.Config{})
//	conn, err := secure.Listen(socket, secure.Config{Key: key, Admit: secure.Tokens(life.Address())})
//	err = fleet.Attach(loop, server, life, fleet.Config{Single: true}).Run(ctx)
//
// An allocation gives the match in annotations, AnnotationMatch and AnnotationData. The players of Status are written to a
// counter, a list, or the alpha player tracking of Agones.
//
// Ready, Health and Shutdown of the Lifecycle are /ready, /health and /shutdown. A drain begins when Agones deletes the game server
// or calls it unhealthy; Kubernetes sends SIGTERM too.
//
// The package defines these words:
//
//   - sidecar: the SDK's server beside the game, at localhost
//   - SDK: its routes, one method each
//   - GameServer: what Agones knows of this server
//
// # Files
//
//   - sdk.go: SDK and its routes
//   - lifecycle.go: Open, Lifecycle
//   - watch.go: the stream of /watch/gameserver
package agones
