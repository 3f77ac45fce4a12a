// Package loading tells how far a client has loaded, for loading bars and for levels that begin when everybody is there. It uses
// netcode's Extension API. [Register] adds it to a protocol.
//
//   - loading.go: how much of a client's visible world has arrived since it joined, and when all of it has: [Of]
//   - level.go: a level that all clients load; the server is told when all have: [Begin], [Loading.OnLevel]
package loading
