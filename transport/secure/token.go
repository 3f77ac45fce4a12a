package secure

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

const (
	// MaxTokenSize is the maximum size of a connect token in bytes.
	MaxTokenSize = 1024
	// MaxUser is the maximum size of Token.User in bytes.
	MaxUser = 64
	// MaxData is the maximum size of Token.Data in bytes.
	MaxData = 400
	// MaxServers is the maximum number of Token.Servers.
	MaxServers = 4
	// MaxTokenLife is the maximum time from Issued to Expires.
	MaxTokenLife = 24 * time.Hour

	maxServerText  = 64 // Maximum size of one address in bytes.
	tokenVersion   = 1
	tokenNonceSize = chacha20poly1305.NonceSizeX
	// clockSkew is the time by which Issued may be in the server's future.
	clockSkew = time.Minute
)

// Token is a statement of a backend about a player.
type Token struct {
	User    string    // ID of the player, 1 to MaxUser bytes.
	Servers []string  // Addresses of 1 to MaxServers servers, each as its Tokens names it: "play.example.org:9000".
	Expires time.Time // Last time to connect, at most MaxTokenLife after Issued, rounded down to seconds. A minute is plenty.
	Data    []byte    // Any data for the server's game, at most MaxData bytes. The player can neither read nor change it.
	Issued  time.Time // Time of issue; zero means now.
}

// identity is the content of a client's token.
type identity struct {
	User string // Token.User; empty if the server has Open and the client has no token.
	Data []byte // Token.Data; do not change it.
}

// errToken is the base of all errors of Issue.
var errToken = errors.New("secure: Issue")

// Issue makes a connect token with the server's key. Anyone who has the token can connect with it, once: send it over HTTPS. The
// error names the field that is out of range.
func Issue(key Key, t Token) ([]byte, error) {
	if t.Issued.IsZero() {
		t.Issued = time.Now()
	}
	switch life := t.Expires.Sub(t.Issued); {
	case key == Key{}:
		return nil, fmt.Errorf("%w: the key is zero: make one with NewKey", errToken)
	case len(t.User) == 0 || len(t.User) > MaxUser:
		return nil, fmt.Errorf("%w: Token.User has %d bytes, it needs 1 to %d", errToken, len(t.User), MaxUser)
	case len(t.Servers) == 0 || len(t.Servers) > MaxServers:
		return nil, fmt.Errorf("%w: Token.Servers has %d addresses, it needs 1 to %d", errToken, len(t.Servers), MaxServers)
	case len(t.Data) > MaxData:
		return nil, fmt.Errorf("%w: Token.Data has %d bytes, at most %d", errToken, len(t.Data), MaxData)
	case life <= 0 || life > MaxTokenLife:
		return nil, fmt.Errorf("%w: Token.Expires is %v after Token.Issued, it needs to be above 0 and at most %v", errToken, life, MaxTokenLife)
	}
	b := make([]byte, 0, MaxTokenSize)
	public := key.Public()
	b = append(append(b, tokenVersion), public[:]...)
	b = append(b, byte(len(t.Servers)))
	for _, s := range t.Servers {
		if len(s) == 0 || len(s) > maxServerText {
			return nil, fmt.Errorf("%w: address %q of Token.Servers has %d bytes, it needs 1 to %d", errToken, s, len(s), maxServerText)
		}
		b = append(append(b, byte(len(s))), s...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(t.Issued.Unix()))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Expires.Unix()))
	open := len(b)
	b = b[:open+tokenNonceSize]
	nonce := b[open:]
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("%w: %w", errToken, err)
	}
	secret := append([]byte{byte(len(t.User))}, t.User...)
	secret = append(secret, t.Data...)
	k := key.derive("netcode secure token key")
	aead, err := chacha20poly1305.NewX(k[:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errToken, err)
	}
	return aead.Seal(b, nonce, secret, b[:open]), nil
}

// openToken is the unencrypted part of a token.
type openToken struct {
	key             PublicKey
	servers         [MaxServers][]byte
	count           int
	issued, expires int64 // Unix seconds.
	open            []byte
	nonce, sealed   []byte
}

// parseToken parses the unencrypted part of a token.
func parseToken(b []byte) (t openToken, err error) {
	const fixed = 1 + 32 + 1
	if len(b) < fixed || len(b) > MaxTokenSize || b[0] != tokenVersion {
		return t, ErrTokenMalformed
	}
	copy(t.key[:], b[1:])
	t.count = int(b[fixed-1])
	if t.count == 0 || t.count > MaxServers {
		return t, ErrTokenMalformed
	}
	rest := b[fixed:]
	for i := range t.count {
		if len(rest) == 0 || rest[0] == 0 || rest[0] > maxServerText || len(rest) < 1+int(rest[0]) {
			return t, ErrTokenMalformed
		}
		t.servers[i], rest = rest[1:1+rest[0]], rest[1+rest[0]:]
	}
	if len(rest) < 16+tokenNonceSize+tagSize+2 {
		return t, ErrTokenMalformed
	}
	t.issued, t.expires = int64(binary.BigEndian.Uint64(rest)), int64(binary.BigEndian.Uint64(rest[8:]))
	if t.issued < 0 || t.expires <= t.issued || t.expires-t.issued > int64(MaxTokenLife/time.Second)+1 {
		return t, ErrTokenMalformed
	}
	t.open = b[:len(b)-len(rest)+16]
	t.nonce, t.sealed = rest[16:16+tokenNonceSize], rest[16+tokenNonceSize:]
	return t, nil
}

// read decrypts the secret part with the server's key.
func (t *openToken) read(key Key) (identity, status) {
	k := key.derive("netcode secure token key")
	aead, err := chacha20poly1305.NewX(k[:])
	if err != nil {
		return identity{}, refusedForged
	}
	secret, err := aead.Open(nil, t.nonce, t.sealed, t.open)
	if err != nil {
		return identity{}, refusedForged
	}
	if len(secret) < 2 || secret[0] == 0 || int(secret[0]) > MaxUser || len(secret) < 1+int(secret[0]) {
		return identity{}, refusedMalformed
	}
	return identity{User: string(secret[1 : 1+secret[0]]), Data: secret[1+secret[0]:]}, accepted
}

// TokenServers returns the server addresses in a token, in the order of Token.Servers. A client connects to the first; if that
// does not answer, to the next.
func TokenServers(token []byte) ([]string, error) {
	t, err := parseToken(token)
	if err != nil {
		return nil, err
	}
	servers := make([]string, t.count)
	for i := range servers {
		servers[i] = string(t.servers[i])
	}
	return servers, nil
}
