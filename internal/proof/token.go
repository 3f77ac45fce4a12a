package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Token proves that a Reset is from the server of a session. The client gets it when the session begins. Nobody else gets it before the
// session is over.
type Token [16]byte

// Equal compares two tokens in constant time.
func (t Token) Equal(other Token) bool { return hmac.Equal(t[:], other[:]) }

// Tokens makes the tokens of sessions: the first 16 bytes of HMAC-SHA256 over the id and nonce of the session. A server
// that was restarted with the same key makes the same tokens and stores nothing (compare RFC 9000, section 10.3.2). The
// zero value is not usable. Tokens must be used by one goroutine at a time.
type Tokens struct {
	mac     hash.Hash
	message [12]byte
	sum     [sha256.Size]byte
}

// NewTokens returns the Tokens of a key, which should be 32 secret random bytes.
func NewTokens(key [32]byte) *Tokens { return &Tokens{mac: hmac.New(sha256.New, key[:])} }

// Make returns the token of a session, by its number and the nonce with which its client asked for it.
func (t *Tokens) Make(session uint32, nonce uint64) (token Token) {
	binary.LittleEndian.PutUint32(t.message[:], session)
	binary.LittleEndian.PutUint64(t.message[4:], nonce)
	t.mac.Reset()
	t.mac.Write(t.message[:]) // a hash never returns an error
	copy(token[:], t.mac.Sum(t.sum[:0]))
	return token
}
