package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/arche-netcode/netcode/wire"
)

// Resume asks the server to go on with a session at the address that it comes from. A client that hears nothing sends it: its
// address may have changed, or its server may have been restarted. It is sealed with the checksum of the client's packets.
//
//	byte 0     1        5       13     21       25       41
//	+------+--------+-------+------+--------+--------+----------+
//	| 0x87 | client | nonce | path | number | cookie | checksum |
//	+------+--------+-------+------+--------+--------+----------+
//	 1      4        8       8      4        16       4
//
// A server that has the session answers from an unproven address with a Challenge, else with a packet. One that has it not
// answers with a Reset. Each answer but a packet is shorter.
type Resume struct {
	Client wire.ClientID // of the Welcome; never 0. With Nonce it names the session.
	Nonce  uint64        // of the Hello
	Path   uint64        // random, fresh for each silence: answers repeat it
	Number uint32        // from 1, one more with each Resume of the session: an older one moves nothing
	Cookie Cookie        // from the Challenge with this path; zero at first
}

const resumeSize = 41 + wire.ChecksumSize

// AppendResume appends the datagram. check is that of the client's packets.
func AppendResume(b []byte, r Resume, check wire.Checksum) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindResume))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Client))
	b = binary.LittleEndian.AppendUint64(b, r.Nonce)
	b = binary.LittleEndian.AppendUint64(b, r.Path)
	b = binary.LittleEndian.AppendUint32(b, r.Number)
	b = append(b, r.Cookie[:]...)
	return seal(check, b, start)
}

// ParseResume reads a Resume datagram, all but its checksum, which is known only when the session is: ResumeSealed reads
// that. The error is ErrMalformed.
func ParseResume(datagram []byte) (Resume, error) {
	if len(datagram) != resumeSize || KindOf(datagram) != KindResume {
		return Resume{}, ErrMalformed
	}
	r := Resume{
		Client: wire.ClientID(binary.LittleEndian.Uint32(datagram[1:])),
		Nonce:  binary.LittleEndian.Uint64(datagram[5:]),
		Path:   binary.LittleEndian.Uint64(datagram[13:]),
		Number: binary.LittleEndian.Uint32(datagram[21:]),
		Cookie: Cookie(datagram[25:41]),
	}
	if r.Client == 0 || r.Number == 0 {
		return Resume{}, ErrMalformed
	}
	return r, nil
}

// ResumeSealed reports whether the checksum of a Resume is right. check is that of the client's packets.
func ResumeSealed(datagram []byte, check wire.Checksum) bool {
	_, ok := unseal(check, datagram)
	return ok
}

// Reset is the answer to a Resume of a session that the server does not have: it is over, or the server was restarted. It is
// shorter than a Resume, and no end answers it.
//
//	byte 0     1        5       13     21       22      38
//	+------+--------+-------+------+--------+-------+----------+
//	| 0x88 | client | nonce | path | reason | token | checksum |
//	+------+--------+-------+------+--------+-------+----------+
//	 1      4        8       8      1        16      4
//
// It repeats the name of the session: the server cannot check a Resume of a session that it does not have, and a damaged one
// may name another session.
type Reset struct {
	Client wire.ClientID // of the Resume
	Nonce  uint64        // of the Resume
	Path   uint64        // of the Resume
	Reason Reason        // never ReasonNone
	Token  Token         // the one of the session's Welcome, if the server has the reset key of then
}

const resetSize = 38 + wire.ChecksumSize

// AppendReset appends the datagram.
func AppendReset(b []byte, r Reset) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindReset))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Client))
	b = binary.LittleEndian.AppendUint64(b, r.Nonce)
	b = binary.LittleEndian.AppendUint64(b, r.Path)
	b = append(b, byte(r.Reason))
	b = append(b, r.Token[:]...)
	return sealDatagram(b, start)
}

// ParseReset reads a Reset datagram. A reason that is not known here is no error. Errors are ErrChecksum and ErrMalformed.
func ParseReset(datagram []byte) (Reset, error) {
	if len(datagram) != resetSize {
		return Reset{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindReset)
	if err != nil {
		return Reset{}, err
	}
	r := Reset{
		Client: wire.ClientID(binary.LittleEndian.Uint32(b)),
		Nonce:  binary.LittleEndian.Uint64(b[4:]),
		Path:   binary.LittleEndian.Uint64(b[12:]),
		Reason: Reason(b[20]),
		Token:  Token(b[21:37]),
	}
	if r.Reason == ReasonNone {
		return Reset{}, ErrMalformed
	}
	return r, nil
}

// Token proves that a Reset is from the server of a session: the client has it from its Welcome, and it is told to nobody else until
// the session is over.
type Token [16]byte

// Equal compares two tokens in a time that does not depend on where they differ.
func (t Token) Equal(other Token) bool { return hmac.Equal(t[:], other[:]) }

// Tokens makes the tokens of sessions: the first 16 bytes of HMAC-SHA256 over the name of the session, so that a server which
// was restarted with the same key makes the same ones and remembers nothing (RFC 9000 §10.3.2 does likewise). The zero value is
// not usable. Not for concurrent use.
type Tokens struct {
	mac     hash.Hash
	message [12]byte
	sum     [sha256.Size]byte
}

// NewTokens returns the tokens under a key, which should be 32 random bytes that nobody else has.
func NewTokens(key [32]byte) *Tokens { return &Tokens{mac: hmac.New(sha256.New, key[:])} }

// Make returns the token of a session, by the client's id and the nonce of its Hello.
func (t *Tokens) Make(client wire.ClientID, nonce uint64) (token Token) {
	binary.LittleEndian.PutUint32(t.message[:], uint32(client))
	binary.LittleEndian.PutUint64(t.message[4:], nonce)
	t.mac.Reset()
	t.mac.Write(t.message[:]) // a hash never returns an error
	copy(token[:], t.mac.Sum(t.sum[:0]))
	return token
}
