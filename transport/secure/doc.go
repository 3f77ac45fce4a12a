// Package secure encrypts and authenticates the datagrams of another transport.Conn.
//
// A server wraps its connection with Listen, a client with Dial. Both return a transport.Conn, so the rest of the game does not
// change:
//
//	key, err := secure.ReadKey("server.key")                   // go run ./cmd/netcode key server.key
//	conn, err := secure.Listen(socket, secure.Config{Key: key, Admit: secure.Tokens("play.example.org:9000")})
//
//	conn, err := secure.Dial(socket, secure.ClientConfig{Token: token})
//
// A connect token names a user. A backend makes it with Issue, and the player receives it over HTTPS. The server checks it alone,
// without the backend, and accepts it once. Without a backend the client sets ClientConfig.ServerKey and the server uses Open.
//
// The handshake is Noise_NK_25519_ChaChaPoly_SHA256 behind a stateless cookie. Each datagram is sealed with AES-256-GCM or
// ChaCha20-Poly1305. Its number is the nonce, and a replay window of 1024 numbers rejects repeats. PROTOCOL.md defines the bytes.
//
// The package defines these words:
//
//   - session: the keys that a server shares with one client; its number is the Key of the client's addresses
//   - key epoch: 2^20 numbers that share a key
//   - cookie: proof that a client receives at its address
//   - Key: the secret of a server
//
// # Files
//
//   - server.go, client.go: the two ends as a transport.Conn
//   - handshake.go: the formats of the handshake
//   - accept.go: the server's half of the handshake; resets of ended sessions
//   - seal.go: seals and opens datagrams; key epochs; the replay window
//   - admit.go, token.go, key.go: admission of clients, connect tokens, keys
//   - keylog.go: opens captured datagrams with logged keys
//   - stats.go, errors.go: counters and errors
package secure
