package secure

import (
	"crypto/rand"
	"io"
	"time"

	"github.com/flynn/noise"

	"github.com/arche-netcode/netcode/internal/proof"
)

// The first byte of a datagram is its kind. The second byte of a handshake datagram is the version:
//
//	Request    1 | version | nonce 8 | zeros to 64 bytes             client: I want a cookie
//	Challenge  2 | version | nonce 8 | cookie 16                      server: here
//	Initiate   3 | version | nonce 8 | cookie 16 | Noise 1            client: its key and token
//	Accept     4 | version | nonce 8 | Noise 2                        server: its answer
//	Refuse     5 | version | nonce 8 | status 1                       server: a hint, which anyone can forge
//	Data       6 | session 4 | number 4 | sealed datagram
//	Reset      7 | session 4 | token 12                               server: there is no such session
const (
	kindRequest byte = iota + 1
	kindChallenge
	kindInitiate
	kindAccept
	kindRefuse
	kindData
	kindReset
)

const (
	version       = 3
	helloSize     = 1 + 1 + 8
	cookieSize    = len(proof.Cookie{})
	requestSize   = 64
	challengeSize = helloSize + cookieSize
	refuseSize    = helloSize + 1
	noiseSize     = 32 + tagSize // Size of a Noise message with an empty payload.
	minInitiate   = challengeSize + noiseSize + 1
	maxInitiate   = minInitiate + MaxTokenSize
	resetToken    = 12
	resetSize     = 1 + 4 + resetToken
	acceptPayload = 1 + 4 + resetToken // status and cipher, session, token
	acceptSize    = helloSize + noiseSize + acceptPayload
)

// suite is the Noise cipher suite of the handshake. The cipher of the datagrams is negotiated separately.
func suite() noise.CipherSuite {
	return noise.NewCipherSuite(noise.DH25519, noise.CipherChaChaPoly, noise.HashSHA256)
}

// newHandshake begins a Noise handshake. prologue is the Initiate up to and including its cookie, which authenticates it.
func newHandshake(static noise.DHKey, server []byte, prologue []byte, random io.Reader) (*noise.HandshakeState, error) {
	return noise.NewHandshakeState(noise.Config{
		CipherSuite: suite(), Pattern: noise.HandshakeNK, Random: random, Initiator: server != nil,
		Prologue: append([]byte("netcode secure"), prologue...), StaticKeypair: static, PeerStatic: server,
	})
}

// appendHello appends the header of a handshake datagram.
func appendHello(b []byte, kind byte, nonce []byte) []byte {
	return append(append(b, kind, version), nonce...)
}

// wallClock returns a monotonic clock that starts at zero.
func wallClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// randomOr returns random, or the operating system's source if it is nil.
func randomOr(random io.Reader) io.Reader {
	if random == nil {
		return rand.Reader
	}
	return random
}
