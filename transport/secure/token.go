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
	// MaxTokenSize is the most bytes of a connect token.
	MaxTokenSize = 1024
	// MaxUser is the most bytes of Token.User.
	MaxUser = 64
	// MaxData is the most bytes of Token.Data.
	MaxData = 400
	// MaxServers is the most addresses in Token.Servers.
	MaxServers = 4
	// MaxTokenLife is the longest time from the making of a token to its end.
	MaxTokenLife = 24 * time.Hour

	maxServerText  = 64 // Bytes of one address.
	tokenVersion   = 1
	tokenNonceSize = chacha20poly1305.NonceSizeX
	// clockSkew is the time by which a token may come from the future.
	clockSkew = time.Minute
)

// Token is the statement of a backend about a player.
type Token struct {
	User    string    // Id of the player, 1 to MaxUser bytes.
	Servers []string  // Addresses of the servers, 1 to MaxServers, as Tokens of each server names it: "play.example.org:9000".
	Expires time.Time // Last moment of connecting, at most MaxTokenLife away. A minute is plenty. Rounded down to seconds.
	Data    []byte    // Anything for the server's game, at most MaxData bytes. The player cannot read or change it.
	Issued  time.Time // The moment of making; zero is now.
}

// Identity is the content of a client's token.
type Identity struct {
	User string // Token.User; empty where the server has Open and the client no token.
	Data []byte // Token.Data; not to be changed.
}

// errToken is the error of Issue.
var errToken = errors.New("secure: Issue")

// Issue makes a connect token with the server's key. A player who has the bytes can connect with them, once. Hand them over by
// HTTPS. The error names the field that is out of its range.
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

// openToken is the part of a token that everybody can read.
type openToken struct {
	key             PublicKey
	servers         [MaxServers][]byte
	count           int
	issued, expires int64 // Unix seconds.
	open            []byte
	nonce, sealed   []byte
}

// parseToken reads the open part of a token.
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

// read opens the secret part with the server's key.
func (t *openToken) read(key Key) (Identity, status) {
	k := key.derive("netcode secure token key")
	aead, err := chacha20poly1305.NewX(k[:])
	if err != nil {
		return Identity{}, refusedForged
	}
	secret, err := aead.Open(nil, t.nonce, t.sealed, t.open)
	if err != nil {
		return Identity{}, refusedForged
	}
	if len(secret) < 2 || secret[0] == 0 || int(secret[0]) > MaxUser || len(secret) < 1+int(secret[0]) {
		return Identity{}, refusedMalformed
	}
	return Identity{User: string(secret[1 : 1+secret[0]]), Data: secret[1+secret[0]:]}, accepted
}

// TokenServers returns the addresses that a token is for, in the order of Token.Servers: a client connects to the first, and to the
// next if that does not answer.
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
