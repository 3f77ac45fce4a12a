// Package secure encrypts and authenticates the datagrams of another transport.Conn.
//
// A server wraps its connection with Listen, a client with Dial. Both give a transport.Conn, so the game stays as it is:
//
//	key, err := secure.ReadKey("server.key")                   // go run ./cmd/netcode key server.key
//	conn, err := secure.Listen(socket, secure.Config{Key: key, Admit: secure.Tokens("play.example.org:9000")})
//
//	conn, err := secure.Dial(socket, secure.ClientConfig{Token: token})
//
// A connect token names a user. A backend makes it with Issue, and the player gets it over HTTPS. The server checks it
// without asking anybody, once. Without a backend the client pins ClientConfig.ServerKey and the server has Open.
//
// The handshake is Noise_NK_25519_ChaChaPoly_SHA256 behind a stateless cookie. Each datagram is sealed with AES-256-GCM or
// ChaCha20-Poly1305, its number is the nonce, and a window of 1024 numbers refuses repeats. PROTOCOL.md has the bytes.
//
// The package defines these words. A session is the keys that a server shares with one client. A key epoch is
// 2^20 numbers that share a key. A path is the address at which a client receives at the moment; its name is the address by which
// the layer above knows it, and stays. A cookie proves that a client receives at its address. A Key is the secret of a server, an
// Identity is the user and data of a token.
//
// # Files
//
//   - server.go, client.go: the two ends as a transport.Conn
//   - handshake.go: the datagrams of the handshake; accept.go: the server answers them; address.go: addresses in cookies
//   - path.go: a client at another address, the names of sessions, and resets of sessions that are over
//   - seal.go: seals and opens datagrams; epochs and the window of numbers
//   - admit.go, token.go, key.go: who may join; connect tokens; keys
//   - keylog.go: opens captured datagrams with logged keys
//   - stats.go, errors.go: counters and errors
package secure
