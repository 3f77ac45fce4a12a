package peer

import (
	"encoding/binary"
	"math"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// HelloSize is the length of every Hello datagram, in bytes. It is padded so
// that no answer is larger than the question: a server that is asked from forged
// addresses is no amplifier. It crosses a path that takes IP packets of 576 bytes,
// also within the 25 bytes of package secure.
const HelloSize = 512

// Hello is the client's wish to connect, sent until it is answered.
//
//	byte 0     1         3       11         19       35      37
//	+------+---------+-------+----------+--------+-------+------------+---------+----------+
//	| 0x81 | version | nonce | protocol | cookie | types | digest ... | padding | checksum |
//	+------+---------+-------+----------+--------+-------+------------+---------+----------+
//	 1      2         8       8          16       2       4 each       zeros     4
//
// The part before the types is the same in every version.
type Hello struct {
	Version  uint16 // of the wire format: [Version] at this end
	Nonce    uint64 // random, fresh for each attempt to connect
	Protocol uint64 // hash of the client's protocol
	Cookie   Cookie // from the server's Challenge; zero at first
	// Digest describes the client's protocol type by type, so that a refusal can
	// name the first that differs. It is empty if Version is not this one's.
	Digest Digest
}

const (
	helloFixed = 37 // up to the digest, the first byte included
	helloTypes = 35
	helloSpace = HelloSize - helloFixed - wire.ChecksumSize

	// MaxDigest is the largest number of hashes of a digest in a Hello.
	MaxDigest = helloSpace / 4
)

// Digest is one 32-bit hash for each type of a protocol, in canonical order.
// Only the first MaxDigest of them travel, and how many there are.
type Digest struct {
	types  uint16
	hashes []byte // 4 bytes each
}

// NewDigest returns the digest of the given hashes. Types above 65535 are not
// counted.
func NewDigest(hashes []uint32) Digest {
	d := Digest{types: uint16(min(len(hashes), 1<<16-1))}
	for _, h := range hashes[:min(len(hashes), MaxDigest)] {
		d.hashes = binary.LittleEndian.AppendUint32(d.hashes, h)
	}
	return d
}

// Types returns how many types the protocol has.
func (d Digest) Types() int { return int(d.types) }

// Len returns how many hashes are here: Types, or MaxDigest if that is less.
func (d Digest) Len() int { return len(d.hashes) / 4 }

// At returns the hash of type i, 0 <= i < Len.
func (d Digest) At(i int) uint32 { return binary.LittleEndian.Uint32(d.hashes[4*i:]) }

// FirstDifference returns the first place where the two differ, and whether
// there is one among the hashes that are sent.
func (d Digest) FirstDifference(other Digest) (index int, found bool) {
	n := min(d.Len(), other.Len())
	for i := range n {
		if d.At(i) != other.At(i) {
			return i, true
		}
	}
	return n, d.types != other.types
}

// AppendHello appends the datagram, HelloSize bytes.
func AppendHello(b []byte, h Hello) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindHello))
	b = binary.LittleEndian.AppendUint16(b, h.Version)
	b = binary.LittleEndian.AppendUint64(b, h.Nonce)
	b = binary.LittleEndian.AppendUint64(b, h.Protocol)
	b = append(b, h.Cookie[:]...)
	b = binary.LittleEndian.AppendUint16(b, h.Digest.types)
	b = append(b, h.Digest.hashes...)
	for len(b)-start < HelloSize-wire.ChecksumSize {
		b = append(b, 0)
	}
	return sealDatagram(b, start)
}

// ParseHello reads a Hello datagram. The digest is a part of the datagram, not
// a copy. A Hello of another version is read as far as versions agree, with no
// error. Errors are ErrChecksum and ErrMalformed.
func ParseHello(datagram []byte) (Hello, error) {
	if len(datagram) != HelloSize {
		return Hello{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindHello)
	if err != nil {
		return Hello{}, err
	}
	h := Hello{
		Version:  binary.LittleEndian.Uint16(b),
		Nonce:    binary.LittleEndian.Uint64(b[2:]),
		Protocol: binary.LittleEndian.Uint64(b[10:]),
		Cookie:   Cookie(b[18:34]),
	}
	if h.Version != Version {
		return h, nil
	}
	h.Digest.types = binary.LittleEndian.Uint16(b[helloTypes-1:])
	b = b[helloFixed-1:]
	size := 4 * min(int(h.Digest.types), MaxDigest)
	h.Digest.hashes = b[:size:size]
	for _, padding := range b[size:] {
		if padding != 0 {
			return Hello{}, ErrMalformed
		}
	}
	return h, nil
}

// Challenge is the server's answer to a Hello without a valid cookie: it gives
// the cookie and remembers nothing.
//
//	byte 0     1       9        25
//	+------+-------+--------+----------+
//	| 0x82 | nonce | cookie | checksum |
//	+------+-------+--------+----------+
//	 1      8       16       4
//
// It is the same in every version.
type Challenge struct {
	Nonce  uint64 // of the Hello
	Cookie Cookie // to be sent back in the next Hello; never zero
}

const challengeSize = 25 + wire.ChecksumSize

// AppendChallenge appends the datagram.
func AppendChallenge(b []byte, c Challenge) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindChallenge))
	b = binary.LittleEndian.AppendUint64(b, c.Nonce)
	b = append(b, c.Cookie[:]...)
	return sealDatagram(b, start)
}

// ParseChallenge reads a Challenge datagram. Errors are ErrChecksum and
// ErrMalformed.
func ParseChallenge(datagram []byte) (Challenge, error) {
	if len(datagram) != challengeSize {
		return Challenge{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindChallenge)
	if err != nil {
		return Challenge{}, err
	}
	c := Challenge{
		Nonce:  binary.LittleEndian.Uint64(b),
		Cookie: Cookie(b[8:24]),
	}
	if c.Cookie.IsZero() {
		return Challenge{}, ErrMalformed
	}
	return c, nil
}

// Limits of what a server decides for both ends.
const (
	// MaxTickRate is the highest network tick rate, in ticks a second.
	MaxTickRate = 1000
	// MinWindow is the shortest history window, in ticks.
	MinWindow = 64
	// MaxWindow is the longest history window, in ticks.
	MaxWindow = 4096
	// MinSessionPacket is the smallest limit of a session's packets, in bytes.
	MinSessionPacket = 256
	// MaxSessionPacket is the largest limit of a session's packets, in bytes.
	MaxSessionPacket = 8192
)

// Accept is the server's answer to a Hello with a valid cookie: the epoch of the session that the client may
// join, and the settings of both ends. The server keeps nothing for it: the same Hello gets the same Accept.
//
//	byte 0     1       9       13     15       17       19
//	+------+-------+-------+------+--------+--------+----------+
//	| 0x83 | nonce | epoch | rate | window | packet | checksum |
//	+------+-------+-------+------+--------+--------+----------+
//	 1      8       4       2      2        2        4
type Accept struct {
	Nonce      uint64 // of the Hello
	Epoch      uint32 // of the session, secret until now, never 0
	Rate       uint16 // network ticks per second, 1..MaxTickRate
	Window     uint16 // history window W in ticks, MinWindow..MaxWindow
	PacketSize uint16 // largest packet in bytes, MinSessionPacket..MaxSessionPacket
}

const acceptSize = 19 + wire.ChecksumSize

// check returns a *FieldError for the first field that is out of its range.
func (a *Accept) check() error {
	for _, f := range [...]FieldError{
		{"the epoch of an Accept", uint64(a.Epoch), 1, 1<<32 - 1},
		{"the tick rate of an Accept", uint64(a.Rate), 1, MaxTickRate},
		{"the window of an Accept", uint64(a.Window), MinWindow, MaxWindow},
		{"the packet size of an Accept", uint64(a.PacketSize), MinSessionPacket, MaxSessionPacket},
	} {
		if f.Value < f.Min || f.Value > f.Max {
			return f.escape()
		}
	}
	return nil
}

// AppendAccept appends the datagram.
func AppendAccept(b []byte, a Accept) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindAccept))
	b = binary.LittleEndian.AppendUint64(b, a.Nonce)
	b = binary.LittleEndian.AppendUint32(b, a.Epoch)
	b = binary.LittleEndian.AppendUint16(b, a.Rate)
	b = binary.LittleEndian.AppendUint16(b, a.Window)
	b = binary.LittleEndian.AppendUint16(b, a.PacketSize)
	return sealDatagram(b, start)
}

// ParseAccept reads an Accept datagram. Errors are ErrChecksum, ErrMalformed and, for a value out of the ranges above, a
// *FieldError; with that the Accept is returned too, so that its nonce can be looked at.
func ParseAccept(datagram []byte) (Accept, error) {
	if len(datagram) != acceptSize {
		return Accept{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindAccept)
	if err != nil {
		return Accept{}, err
	}
	a := Accept{
		Nonce:      binary.LittleEndian.Uint64(b),
		Epoch:      binary.LittleEndian.Uint32(b[8:]),
		Rate:       binary.LittleEndian.Uint16(b[12:]),
		Window:     binary.LittleEndian.Uint16(b[14:]),
		PacketSize: binary.LittleEndian.Uint16(b[16:]),
	}
	return a, a.check()
}

// Join is the client's answer to Accept, sent until the server's Welcome comes. It is sealed with the checksum of the
// client's packets, which starts from the epoch: so it proves that its sender has received Accept. Only now does the
// server make a session.
//
//	byte 0     1       9        25        25+n
//	+------+-------+--------+---------+----------+
//	| 0x85 | nonce | cookie | payload | checksum |
//	+------+-------+--------+---------+----------+
//	 1      8       16       n         4
//
// It is at least as long as a Challenge, which may be its answer. The payload is the game's, n = 0..MaxPayloadOfJoin bytes: the rest of
// the datagram.
type Join struct {
	Nonce   uint64 // of the Hello
	Cookie  Cookie // of the Hello; never zero
	Payload []byte // of the game at the client, for the game at the server; may be empty
}

// MaxPayloadOfJoin is the most bytes of Join.Payload: a Join then has 429 bytes, and fits into a path of 576.
const MaxPayloadOfJoin = 400

const joinSize = 25 + wire.ChecksumSize // without a payload

// AppendJoin appends the datagram. check is that of the client's packets.
func AppendJoin(b []byte, j Join, check wire.Checksum) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindJoin))
	b = binary.LittleEndian.AppendUint64(b, j.Nonce)
	b = append(b, j.Cookie[:]...)
	b = append(b, j.Payload...)
	return seal(check, b, start)
}

// ParseJoin reads a Join datagram, all but its checksum, which is known only when the cookie is: JoinSealed reads that.
// The payload is a part of the datagram, not a copy. The error is ErrMalformed.
func ParseJoin(datagram []byte) (Join, error) {
	if len(datagram) < joinSize || len(datagram) > joinSize+MaxPayloadOfJoin || KindOf(datagram) != KindJoin {
		return Join{}, ErrMalformed
	}
	end := len(datagram) - wire.ChecksumSize
	j := Join{Nonce: binary.LittleEndian.Uint64(datagram[1:]), Cookie: Cookie(datagram[9:25]), Payload: datagram[25:end:end]}
	if j.Cookie.IsZero() {
		return Join{}, ErrMalformed
	}
	return j, nil
}

// JoinSealed reports whether the checksum of a Join is right. check is that of the client's packets.
func JoinSealed(datagram []byte, check wire.Checksum) bool {
	_, ok := unseal(check, datagram)
	return ok
}

// MaxTick is the latest tick that a server may be in: 2^62, the latest first tick, and 2^53 ticks more.
const MaxTick tick.Tick = 1<<62 + 1<<53

// Welcome is the first datagram of the server's in a session: it has made one, and the client is connected. It is sealed
// with the checksum of the server's packets, and sent with each network tick until a packet of the client's comes.
//
//	byte 0     1        5      13      29
//	+------+--------+------+-------+----------+
//	| 0x86 | client | tick | token | checksum |
//	+------+--------+------+-------+----------+
//	 1      4        8      16      4
type Welcome struct {
	Client wire.ClientID // from 1; no session of this server had it before
	Tick   tick.Tick     // the server's tick when it was written, 0..MaxTick
	Token  Token         // a Reset with it is the server's
}

const welcomeSize = 29 + wire.ChecksumSize

// check returns a *FieldError for the first field that is out of its range.
func (w *Welcome) check() error {
	switch {
	case w.Client == 0:
		return FieldError{"the client id of a Welcome", 0, 1, math.MaxUint32}.escape()
	case w.Tick < 0 || w.Tick > MaxTick:
		return FieldError{"the tick of a Welcome", uint64(w.Tick), 0, uint64(MaxTick)}.escape()
	}
	return nil
}

// AppendWelcome appends the datagram. check is that of the server's packets.
func AppendWelcome(b []byte, w Welcome, check wire.Checksum) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindWelcome))
	b = binary.LittleEndian.AppendUint32(b, uint32(w.Client))
	b = binary.LittleEndian.AppendUint64(b, uint64(w.Tick))
	b = append(b, w.Token[:]...)
	return seal(check, b, start)
}

// ParseWelcome reads a Welcome datagram. check is that of the server's packets. Errors are ErrChecksum, ErrMalformed and,
// for a value out of the ranges above, a *FieldError.
func ParseWelcome(datagram []byte, check wire.Checksum) (Welcome, error) {
	if len(datagram) != welcomeSize || KindOf(datagram) != KindWelcome {
		return Welcome{}, ErrMalformed
	}
	b, ok := unseal(check, datagram)
	if !ok {
		return Welcome{}, ErrChecksum
	}
	w := Welcome{
		Client: wire.ClientID(binary.LittleEndian.Uint32(b[1:])), Tick: tick.Tick(binary.LittleEndian.Uint64(b[5:])), Token: Token(b[13:29]),
	}
	if err := w.check(); err != nil {
		return Welcome{}, err
	}
	return w, nil
}
