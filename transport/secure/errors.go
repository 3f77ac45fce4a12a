package secure

import "errors"

// Errors of a client. Receive returns each once, Client.Err keeps the last. Test with errors.Is.
var (
	// ErrNoAnswer means that no server answered in ClientConfig.Timeout.
	ErrNoAnswer = errors.New("secure: no answer: is this the address of a server that uses transport/secure?")
	// ErrServerKey means that the server cannot read the handshake: its key is not the pinned key or the key of the token.
	ErrServerKey = errors.New("secure: the server has another key than the client expects: pin the key that `netcode key` printed")
	// ErrVersion means that the server speaks another version of this handshake.
	ErrVersion = errors.New("secure: the server speaks another version of the handshake: update the older end")
	// ErrCipher means that the ends have no cipher in common.
	ErrCipher = errors.New("secure: no cipher in common: allow ChaCha20-Poly1305 at both ends")
	// ErrFull means that the server has no room for another session, or receives too many handshakes at present.
	ErrFull = errors.New("secure: the server is full: try again later")
	// ErrTokenMissing means that the server admits only clients with a connect token.
	ErrTokenMissing = errors.New("secure: the server asks for a connect token: set ClientConfig.Token")
	// ErrTokenMalformed means that the bytes are no connect token: cut off, or too long.
	ErrTokenMalformed = errors.New("secure: the connect token is cut or damaged: hand over all bytes of secure.Issue")
	// ErrTokenForged means that the token was not made with the server's key, or was changed.
	ErrTokenForged = errors.New("secure: the connect token was not made with the server's key")
	// ErrTokenExpired means that the token has expired.
	ErrTokenExpired = errors.New("secure: the connect token has expired: get a new one, and compare the clocks of backend and server")
	// ErrTokenEarly means that the token was issued in the future, by the server's clock.
	ErrTokenEarly = errors.New("secure: the connect token is not valid yet: compare the clocks of backend and server")
	// ErrTokenForeign means that the token is for other servers.
	ErrTokenForeign = errors.New("secure: the connect token is for another server")
	// ErrTokenUsed means that the token was used before.
	ErrTokenUsed = errors.New("secure: the connect token was used before: get a new one")
)

// status is the result of a handshake at the server, sent as one byte.
type status uint8

const (
	accepted status = iota
	refusedKey
	refusedVersion
	refusedCipher
	refusedFull
	refusedMissing
	refusedMalformed
	refusedForged
	refusedExpired
	refusedEarly
	refusedForeign
	refusedUsed
	numStatus
)

// err returns the client's error for a status.
func (s status) err() error {
	switch s {
	case accepted:
		return nil
	case refusedKey:
		return ErrServerKey
	case refusedVersion:
		return ErrVersion
	case refusedCipher:
		return ErrCipher
	case refusedFull:
		return ErrFull
	case refusedMissing:
		return ErrTokenMissing
	case refusedMalformed:
		return ErrTokenMalformed
	case refusedForged:
		return ErrTokenForged
	case refusedExpired:
		return ErrTokenExpired
	case refusedEarly:
		return ErrTokenEarly
	case refusedForeign:
		return ErrTokenForeign
	case refusedUsed:
		return ErrTokenUsed
	}
	return ErrNoAnswer
}
