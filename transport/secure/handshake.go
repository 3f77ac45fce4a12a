package secure

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/flynn/noise"

	"github.com/arche-netcode/netcode/transport"
)

// The first byte of a datagram is its kind. The second byte of a handshake datagram is the version:
//
//	Request    1 | version | nonce 8 | zeros to 64 bytes             client: I want a cookie
//	Challenge  2 | version | nonce 8 | stamp 4 | mac 16               server: here
//	Initiate   3 | version | nonce 8 | stamp 4 | mac 16 | Noise 1     client: its key and token
//	Accept     4 | version | nonce 8 | Noise 2                        server: its answer
//	Refuse     5 | version | nonce 8 | status 1                       server: a hint, which anyone can forge
//	Data       6 | session 4 | number 4 | sealed datagram
//	Path       7 | session 4 | number 4 | sealed text 8               server: is this your address? client: the same text
//	Reset      8 | session 4 | token 12                               server: there is no such session
const (
	kindRequest byte = iota + 1
	kindChallenge
	kindInitiate
	kindAccept
	kindRefuse
	kindData
	kindPath
	kindReset
)

const (
	version       = 2
	helloSize     = 1 + 1 + 8
	macSize       = 16
	cookieSize    = 4 + macSize
	requestSize   = 64
	challengeSize = helloSize + cookieSize
	refuseSize    = helloSize + 1
	noiseSize     = 32 + tagSize // Size of a Noise message with an empty payload.
	minInitiate   = challengeSize + noiseSize + 1
	maxInitiate   = minInitiate + MaxTokenSize
	resetToken    = 12
	acceptPayload = 1 + 1 + 4 + resetToken // status, cipher, session, token
	acceptSize    = helloSize + noiseSize + acceptPayload

	// cookieLife is the time for which a cookie is valid.
	cookieLife = 10 * time.Second
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

// cookies makes and checks cookies without storing addresses.
type cookies struct {
	mac  hash.Hash
	text []byte
	sum  [sha256.Size]byte
}

// newCookies returns cookies with a random secret.
func newCookies(random io.Reader) (*cookies, error) {
	var secret [32]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return nil, fmt.Errorf("secure: Config.Random: %w", err)
	}
	return &cookies{mac: hmac.New(sha256.New, secret[:])}, nil
}

// sign returns the MAC of an address, a nonce and a stamp. The result is valid until the next call.
func (c *cookies) sign(from transport.Addr, nonce []byte, stamp uint32) []byte {
	c.text = appendAddress(c.text[:0], from)
	c.text = append(c.text, nonce...)
	c.text = binary.BigEndian.AppendUint32(c.text, stamp)
	c.mac.Reset()
	c.mac.Write(c.text)
	return c.mac.Sum(c.sum[:0])[:macSize]
}

// append appends a cookie to b.
func (c *cookies) append(b []byte, from transport.Addr, nonce []byte, now time.Duration) []byte {
	stamp := stampOf(now)
	b = binary.BigEndian.AppendUint32(b, stamp)
	return append(b, c.sign(from, nonce, stamp)...)
}

// good reports whether a cookie is authentic and not too old.
func (c *cookies) good(cookie []byte, from transport.Addr, nonce []byte, now time.Duration) bool {
	stamp := binary.BigEndian.Uint32(cookie)
	if stampOf(now)-stamp > uint32(cookieLife/time.Second) {
		return false
	}
	return hmac.Equal(c.sign(from, nonce, stamp), cookie[4:cookieSize])
}

// stampOf returns the time in whole seconds.
func stampOf(now time.Duration) uint32 { return uint32(now / time.Second) }

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
