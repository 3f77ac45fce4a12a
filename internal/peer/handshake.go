package peer

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/proof"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// HelloSize is the length of every Hello datagram, in bytes. It is padded so that no answer is larger than the
// question: a server cannot be used to amplify traffic to forged addresses. It fits IP packets of 576 bytes, with the
// 25 bytes of package secure, too.
const HelloSize = 512

// Hello is the client's request to connect. It is sent until it is answered.
//
//	byte 0     1         3       11         19       35      37
//	+------+---------+-------+----------+--------+-------+------------+---------+----------+
//	| 0x81 | version | nonce | protocol | cookie | types | digest ... | padding | checksum |
//	+------+---------+-------+----------+--------+-------+------------+---------+----------+
//	 1      2         8       8          16       2       4 each       zeros     4
//
// The fields before types are the same in every version.
type Hello struct {
	Version  uint16 // version of the wire format: [Version] at this end
	Nonce    uint64 // random, new for each attempt to connect
	Protocol uint64 // hash of the client's protocol
	Cookie   Cookie // from the server's Challenge; zero at first
	// Digest describes the client's protocol type by type, so that a refusal can contain the first difference. It is
	// empty if Version is another one than this end's.
	Digest Digest
}

const (
	helloFixed = 37 // bytes before the digest
	helloTypes = 35
	helloSpace = HelloSize - helloFixed - wire.ChecksumSize

	// MaxDigest is the largest number of hashes of a digest in a Hello.
	MaxDigest = helloSpace / 4
)

// Digest has one 32-bit hash for each type of a protocol, in canonical order. Only the first MaxDigest hashes are sent,
// and the number of types.
type Digest struct {
	types  uint16
	hashes []byte // 4 bytes each
}

// NewDigest returns the digest of hashes. The number of types is at most 65535.
func NewDigest(hashes []uint32) Digest {
	d := Digest{types: uint16(min(len(hashes), 1<<16-1))}
	for _, h := range hashes[:min(len(hashes), MaxDigest)] {
		d.hashes = binary.LittleEndian.AppendUint32(d.hashes, h)
	}
	return d
}

// Types returns the number of types of the protocol.
func (d Digest) Types() int { return int(d.types) }

// Len returns the number of hashes: Types, or MaxDigest if that is less.
func (d Digest) Len() int { return len(d.hashes) / 4 }

// At returns the hash of type i, 0 <= i < Len.
func (d Digest) At(i int) uint32 { return binary.LittleEndian.Uint32(d.hashes[4*i:]) }

// FirstDifference returns the first position at which the digests differ. found is false if the sent hashes and the
// numbers of types are equal.
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

// ParseHello reads a Hello datagram. The digest is part of the datagram, not a copy. Of a Hello of another version, it
// reads the fields that all versions have, without an error. Errors are ErrChecksum and ErrMalformed.
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

// Challenge is the server's answer to a Hello without a valid cookie. It contains a cookie. The server stores nothing.
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
	Cookie Cookie // the next Hello contains it; never zero
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

// Limits of the settings that a server chooses for both ends.
const (
	// MaxTickRate is the highest network tick rate, in ticks a second.
	MaxTickRate = wire.MaxTickRate
	// MinWindow is the shortest history window, in ticks.
	MinWindow = wire.MinWindow
	// MaxWindow is the longest history window, in ticks.
	MaxWindow = wire.MaxWindow
	// MinSessionPacket is the smallest limit of a session's packets, in bytes.
	MinSessionPacket = wire.MinPacketSize
	// MaxSessionPacket is the largest limit of a session's packets, in bytes.
	MaxSessionPacket = wire.MaxPacketSize
)

// Accept is the server's answer to a Hello with a valid cookie. It contains the epoch of the session that the client
// may join, and the settings of both ends. The server stores nothing for it: the same Hello gets the same Accept.
//
//	byte 0     1       9       13     15       17       19
//	+------+-------+-------+------+--------+--------+----------+
//	| 0x83 | nonce | epoch | rate | window | packet | checksum |
//	+------+-------+-------+------+--------+--------+----------+
//	 1      8       4       2      2        2        4
type Accept struct {
	Nonce      uint64 // of the Hello
	Epoch      uint32 // epoch of the session, secret until now, never 0
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

// ParseAccept reads an Accept datagram. Errors are ErrChecksum, ErrMalformed and, for a value out of its range, a
// *FieldError. With a *FieldError it also returns the Accept, so that the caller can check the nonce.
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

// Join is the client's answer to Accept. It is sent until the server's Welcome arrives. Its checksum is the one of the
// client's packets, which starts from the epoch. So Join proves that its sender received the Accept. Only now the
// server makes a session.
//
//	byte 0     1       9        25        25+n
//	+------+-------+--------+---------+----------+
//	| 0x85 | nonce | cookie | payload | checksum |
//	+------+-------+--------+---------+----------+
//	 1      8       16       n         4
//
// A Join is at least as long as a Challenge, which may be its answer. The payload belongs to the game. It is the rest
// of the datagram, n = 0..MaxPayloadOfJoin bytes.
type Join struct {
	Nonce   uint64 // of the Hello
	Cookie  Cookie // of the Hello; never zero
	Payload []byte // data of the game, from client to server; may be empty
}

// MaxPayloadOfJoin is the largest size of Join.Payload, in bytes. A Join then has 429 bytes, and fits a path of 576.
const MaxPayloadOfJoin = wire.MaxPayload

const joinSize = 25 + wire.ChecksumSize // without a payload

// AppendJoin appends the datagram. check is the checksum's start of the client's packets.
func AppendJoin(b []byte, j Join, check wire.Checksum) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindJoin))
	b = binary.LittleEndian.AppendUint64(b, j.Nonce)
	b = append(b, j.Cookie[:]...)
	b = append(b, j.Payload...)
	return seal(check, b, start)
}

// ParseJoin reads a Join datagram without its checksum, which depends on the cookie: JoinSealed checks it. The payload
// is part of the datagram, not a copy. The error is ErrMalformed.
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

// JoinSealed reports whether the checksum of a Join is correct. check is the checksum's start of the client's packets.
func JoinSealed(datagram []byte, check wire.Checksum) bool {
	_, ok := unseal(check, datagram)
	return ok
}

// MaxTick is the latest tick of a server: 2^62, the latest first tick, plus 2^53 ticks.
const MaxTick tick.Tick = 1<<62 + 1<<53

// Welcome is the server's first datagram in a session: the session exists, and the client is connected. Its checksum is
// the one of the server's packets. It is sent in each network tick until a packet of the client arrives.
//
//	byte 0     1        5      13      29
//	+------+--------+------+-------+----------+
//	| 0x86 | client | tick | token | checksum |
//	+------+--------+------+-------+----------+
//	 1      4        8      16      4
type Welcome struct {
	Client wire.ClientID // from 1; never used before by this server
	Tick   tick.Tick     // server's tick when it was written, 0..MaxTick
	Token  Token         // proves that a Reset comes from this server
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

// AppendWelcome appends the datagram. check is the checksum's start of the server's packets.
func AppendWelcome(b []byte, w Welcome, check wire.Checksum) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindWelcome))
	b = binary.LittleEndian.AppendUint32(b, uint32(w.Client))
	b = binary.LittleEndian.AppendUint64(b, uint64(w.Tick))
	b = append(b, w.Token[:]...)
	return seal(check, b, start)
}

// ParseWelcome reads a Welcome datagram. check is the checksum's start of the server's packets. Errors are ErrChecksum,
// ErrMalformed and, for a value out of its range, a *FieldError.
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

// Cookie proves that its sender receives packets for its address. The zero value means none.
type Cookie = proof.Cookie

// Resume asks the server to continue a session at the address from which it is sent. A client that receives nothing
// sends it: its address may have changed, or its server may have been restarted. Its checksum is the one of the
// client's packets.
//
//	byte 0     1        5       13     21       25       41
//	+------+--------+-------+------+--------+--------+----------+
//	| 0x87 | client | nonce | path | number | cookie | checksum |
//	+------+--------+-------+------+--------+--------+----------+
//	 1      4        8       8      4        16       4
//
// A server with the session answers an unproven address with a Challenge, and a proven one with a packet. A server
// without the session answers with a Reset. All answers but a packet are shorter than a Resume.
type Resume struct {
	Client wire.ClientID // of the Welcome; never 0; Client and Nonce identify the session
	Nonce  uint64        // of the Hello
	Path   uint64        // random, new for each silence; answers repeat it
	Number uint32        // from 1, incremented with each Resume of the session; older ones are ignored
	Cookie Cookie        // of the Challenge with this path; zero at first
}

const resumeSize = 41 + wire.ChecksumSize

// AppendResume appends the datagram. check is the checksum's start of the client's packets.
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

// ParseResume reads a Resume datagram without its checksum, which depends on the session: ResumeSealed checks it. The
// error is ErrMalformed.
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

// ResumeSealed reports whether the checksum of a Resume is correct. check is the checksum's start of the client's
// packets.
func ResumeSealed(datagram []byte, check wire.Checksum) bool {
	_, ok := unseal(check, datagram)
	return ok
}

// Reset is the answer to a Resume of a session that the server does not have: it is over, or the server was restarted.
// It is shorter than a Resume, and no end answers it.
//
//	byte 0     1        5       13     21       22      38
//	+------+--------+-------+------+--------+-------+----------+
//	| 0x88 | client | nonce | path | reason | token | checksum |
//	+------+--------+-------+------+--------+-------+----------+
//	 1      4        8       8      1        16      4
//
// It repeats the fields that identify the session. The server cannot check a Resume of a session that it does not have,
// and a damaged Resume may contain another session.
type Reset struct {
	Client wire.ClientID // of the Resume
	Nonce  uint64        // of the Resume
	Path   uint64        // of the Resume
	Reason errs.Reason   // never ReasonNone
	Token  Token         // equals the Welcome's if the server has the same reset key as then
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

// ParseReset reads a Reset datagram. An unknown reason is no error. Errors are ErrChecksum and ErrMalformed.
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
		Reason: errs.Reason(b[20]),
		Token:  Token(b[21:37]),
	}
	if r.Reason == errs.ReasonNone {
		return Reset{}, ErrMalformed
	}
	return r, nil
}

// Token proves that a Reset is from the server of a session. The client gets it with its Welcome. Nobody else gets it
// before the session is over.
type Token = proof.Token

const (
	// maxPast is the number of ended sessions that a server stores.
	maxPast = 1024
	// pastFor is the time for which it stores one. A cookie, and so a Join, is valid for at most two buckets.
	pastFor = 2 * proof.CookieBucket
)

// PastSessions stores for some time which sessions are over, so that a late or repeated Join does not make a second
// session of the same Hello. If too many sessions end at the same time, the oldest are dropped. Its memory is allocated
// at once, so that a server's heap does not grow with the clients that left.
type PastSessions struct {
	ring []pastSession
	next int
}

// pastSession is a session that is over.
type pastSession struct {
	nonce  uint64
	until  time.Duration
	reason errs.CloseError
}

// NewPastSessions returns an empty PastSessions.
func NewPastSessions() PastSessions { return PastSessions{ring: make([]pastSession, maxPast)} }

// Add adds a session that is over.
func (p *PastSessions) Add(nonce uint64, reason *errs.CloseError, now time.Duration) {
	p.ring[p.next] = pastSession{nonce, now + pastFor, *reason}
	p.next = (p.next + 1) % maxPast
}

// Find returns why the session of a nonce ended, or nil.
func (p *PastSessions) Find(nonce uint64, now time.Duration) *errs.CloseError {
	for i := range p.ring {
		if one := &p.ring[i]; one.nonce == nonce && now < one.until {
			return &one.reason
		}
	}
	return nil
}

// MaxRefuseDetail is the longest detail of a Refuse, in bytes. The datagram is then still shorter than a Hello.
const MaxRefuseDetail = 480

// Refuse is the server's answer to a Hello with a valid cookie that it does not accept.
//
//	byte 0     1       9        10
//	+------+-------+--------+------------+----------+
//	| 0x84 | nonce | reason | detail ... | checksum |
//	+------+-------+--------+------------+----------+
//	 1      8       1        0..480       4
//
// It is the same in every version.
type Refuse struct {
	Nonce  uint64      // of the Hello
	Reason errs.Reason // never ReasonNone
	Detail string      // one printable line of UTF-8; for ReasonWrongProtocol, the first difference
}

const refuseFixed = 10

// AppendRefuse appends the datagram. The detail is cut to MaxRefuseDetail bytes. Unprintable characters become question
// marks.
func AppendRefuse(b []byte, r Refuse) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindRefuse))
	b = binary.LittleEndian.AppendUint64(b, r.Nonce)
	b = append(b, byte(r.Reason))
	b = append(b, cleanDetail(r.Detail, MaxRefuseDetail)...)
	return sealDatagram(b, start)
}

// ParseRefuse reads a Refuse datagram. An unknown reason is no error. Errors are ErrChecksum and ErrMalformed.
func ParseRefuse(datagram []byte) (Refuse, error) {
	const fixed = refuseFixed + wire.ChecksumSize
	if len(datagram) < fixed || len(datagram)-fixed > MaxRefuseDetail {
		return Refuse{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindRefuse)
	if err != nil {
		return Refuse{}, err
	}
	r := Refuse{Nonce: binary.LittleEndian.Uint64(b), Reason: errs.Reason(b[8])}
	detail := b[refuseFixed-1:]
	if r.Reason == errs.ReasonNone || !legalDetail(detail) {
		return Refuse{}, ErrMalformed
	}
	r.Detail = string(detail)
	return r, nil
}

// MaxRefusal is the longest text of a refusal, in bytes.
const MaxRefusal = 200

// AppendRefusal appends the body of a refusal: the error with which a call was answered. The text is cut to MaxRefusal
// bytes. Unprintable characters become question marks.
func AppendRefusal(b []byte, text string) []byte {
	return append(b, cleanDetail(text, MaxRefusal)...)
}

// ParseRefusal reads the body of a refusal. The error is ErrMalformed.
func ParseRefusal(body []byte) (text string, err error) {
	if !LegalRefusal(body) {
		return "", ErrMalformed
	}
	return string(body), nil
}

// LegalRefusal reports whether ParseRefusal accepts a body.
func LegalRefusal(body []byte) bool { return len(body) <= MaxRefusal && legalDetail(body) }

// HandshakeStats counts events of handshakes. A counter that an end does not use stays zero.
type HandshakeStats struct {
	Replaced          uint64 // Connections ended because the same address sent a new Hello.
	Hellos            uint64 // Hello datagrams that could be read.
	Challenges        uint64 // Hello datagrams without a valid cookie, answered with one.
	Joins             uint64 // Join datagrams that could be read.
	JoinsRepeated     uint64 // Joins that arrived after the end of their session: delayed or repeated by the network.
	Resumes           uint64 // Resume datagrams that a client sent or a server could read.
	Migrated          uint64 // Sessions that continued at another address. A client counts its own moves.
	Resets            uint64 // Resets that a server sent or a client accepted.
	BadHandshakes     uint64 // Handshake datagrams that could not be read or were not expected.
	ResumesOld        uint64 // Resume datagrams older than an accepted one: delayed or repeated by the network.
	ResumesForeign    uint64 // Resume datagrams from an address at which the transport proves another user than at the Join.
	ResetsWaited      uint64 // Resets without the token of the session that a client did not accept yet.
	RefusedFull       uint64 // Clients: Hellos and Joins refused because all places are taken.
	RefusedAddress    uint64 // ClientsPerAddress: Hellos, Joins and Resumes refused because their host (an IPv4 address, an IPv6 /64) has its maximum of places.
	RefusedNetwork    uint64 // ClientsPerNetwork: Hellos, Joins and Resumes refused because their network has its maximum of places.
	BusyAddress       uint64 // HandshakesPerAddress: Hellos, Joins and Resumes delayed because too many came from their host.
	BusyNetwork       uint64 // HandshakesPerNetwork: Hellos, Joins and Resumes delayed because too many came from their network.
	NotApproved       uint64 // Clients that OnApprove refused.
	ApprovalsFull     uint64 // Clients, ClientsPerAddress: Joins delayed because too many other clients wait for OnApprove.
	ApprovalsLate     uint64 // HandshakeTimeout: clients refused because OnApprove did not decide in time.
	TakenOver         uint64 // Connections ended because the same player connected again.
	Displaced         uint64 // Connections ended because they were silent for a second and a new client of their host needed the place.
	RefusedSecond     uint64 // RefuseSecond: clients refused because the same player is connected.
	Returned          uint64 // Players that returned within Keep.
	KeptFull          uint64 // Clients: players dropped before Keep was over because too many others are away.
	RefusedProtocol   uint64 // Hellos refused because of another protocol or version.
	HandshakeTimeouts uint64 // HandshakeTimeout: attempts to connect that a client gave up.
}
