package secure

import (
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flynn/noise"
)

// Key is the secret of a server and of the backend that issues its tokens. Never give it to players. The zero Key is invalid.
type Key [32]byte

// PublicKey is the public half of a Key. It is in every token; without tokens the client is configured with it.
type PublicKey [32]byte

// errKeyText means that a text is no key.
var errKeyText = errors.New("secure: a key is 64 hexadecimal digits")

// NewKey makes a random key.
func NewKey() (Key, error) {
	var k Key
	if _, err := rand.Read(k[:]); err != nil {
		return Key{}, fmt.Errorf("secure: %w", err)
	}
	return k, nil
}

// ParseKey parses the result of Key.Text.
func ParseKey(text string) (Key, error) { return parseHex[Key](text) }

// ParsePublicKey parses the result of PublicKey.String.
func ParsePublicKey(text string) (PublicKey, error) { return parseHex[PublicKey](text) }

// ReadKey reads a key file that `netcode key` wrote.
func ReadKey(file string) (Key, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Key{}, fmt.Errorf("secure: %w: make a key file with `go run github.com/arche-netcode/netcode/cmd/netcode key %s`", err, file)
	}
	k, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%w: %s", err, file)
	}
	return k, nil
}

// Text returns the secret key in hexadecimal digits, for a key file.
func (k Key) Text() string { return hex.EncodeToString(k[:]) }

// String returns the public key, so that logs never contain the secret.
func (k Key) String() string { return "secure.Key of " + k.Public().String() }

// GoString returns the public key too.
func (k Key) GoString() string { return k.String() }

// Public returns the public key of X25519.
func (k Key) Public() PublicKey {
	var p PublicKey
	copy(p[:], k.static().Public)
	return p
}

// String returns the public key in hexadecimal digits.
func (p PublicKey) String() string { return hex.EncodeToString(p[:]) }

// static returns the X25519 key pair of the handshake.
func (k Key) static() noise.DHKey {
	secret := k.derive("netcode secure static key")
	private, err := ecdh.X25519().NewPrivateKey(secret[:])
	if err != nil {
		return noise.DHKey{} // Impossible: any 32 bytes are a key.
	}
	return noise.DHKey{Private: secret[:], Public: private.PublicKey().Bytes()}
}

// derive returns a key for one purpose: HMAC-SHA256 of the purpose.
func (k Key) derive(purpose string) [32]byte { return derive(k, purpose) }

// derive returns HMAC-SHA256 of a text under a key.
func derive(key [32]byte, text string) (out [32]byte) {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(text))
	mac.Sum(out[:0])
	return out
}

// parseHex parses 32 bytes in hexadecimal digits.
func parseHex[T ~[32]byte](text string) (T, error) {
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != 32 {
		return T{}, errKeyText
	}
	return T(b), nil
}
