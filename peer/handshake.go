package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
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

// CookieBucket is the length of one time bucket of cookies. A cookie is good
// in the bucket it was made in and in the next: 5 to 10 s.
const CookieBucket = 5 * time.Second

// Cookie proves that whoever sends it receives what is sent to its address.
// The zero value means none.
type Cookie [16]byte

// IsZero reports whether there is no cookie.
func (c Cookie) IsZero() bool { return c == Cookie{} }

// Cookies makes and checks address cookies without remembering any: a cookie is
// the first 16 bytes of HMAC-SHA256 over what it is bound to, so a flood of
// hellos from forged addresses costs the server no memory (RFC 9147 §5.1 and
// RFC 9000 §8.1 do likewise). The epoch of the session that a cookie opens is
// taken from the 16 bytes behind those, which nobody sees: so nothing is
// remembered for it either, and whoever knows it has received Accept.
//
// A cookie is bound to the client's address, its nonce, the time bucket and the
// session epoch that the address has at that moment (0 for none). The last is
// what keeps a delayed hello of an earlier attempt from replacing the session
// that came after it: it was made for another epoch.
//
// Two bits of a cookie tell its time bucket and its secret, so that checking
// one takes one HMAC. The zero value is not usable. Not for concurrent use.
type Cookies struct {
	macs    [2]hash.Hash // by generation of the secret, modulo 2; nil before there was one
	newest  uint64       // generation of the present secret
	message []byte
	sum     [sha256.Size]byte // here and not on the stack, where Sum would make it escape
}

// Epochs are four numbers that follow from a cookie and that only the server knows. The first that can be the epoch of a
// session is.
type Epochs [4]uint32

// NewCookies returns cookies under a secret, which should be 32 random bytes
// that nobody else has.
func NewCookies(secret [32]byte) *Cookies {
	c := &Cookies{message: make([]byte, 0, 64)}
	c.macs[0] = hmac.New(sha256.New, secret[:])
	return c
}

// Rotate makes cookies under a new secret from now on. Cookies of the secret
// before it stay good until their time is over or Rotate is called again.
func (c *Cookies) Rotate(secret [32]byte) {
	c.newest++
	c.macs[c.newest%2] = hmac.New(sha256.New, secret[:])
}

// Make returns the cookie for a client's address and nonce at a time. epoch is
// that of the session which the address has at present, 0 if it has none.
func (c *Cookies) Make(addr transport.Addr, nonce uint64, epoch uint32, now time.Duration) Cookie {
	cookie, _ := c.compute(c.newest, addr, nonce, epoch, bucket(now))
	return cookie
}

// Check reports whether a cookie was made here for the same address, nonce and
// epoch, in this time bucket or the one before, and which epochs follow from it.
// The zero cookie never passes.
func (c *Cookies) Check(cookie Cookie, addr transport.Addr, nonce uint64, epoch uint32, now time.Duration) (Epochs, bool) {
	made, generation := bucket(now), c.newest
	if uint64(cookie[0])&bucketBit != made&bucketBit {
		made--
	}
	if uint64(cookie[0]>>1)&1 != generation&1 {
		generation--
	}
	if cookie.IsZero() || c.macs[generation%2] == nil {
		return Epochs{}, false
	}
	want, epochs := c.compute(generation, addr, nonce, epoch, made)
	if !hmac.Equal(want[:], cookie[:]) {
		return Epochs{}, false
	}
	return epochs, true
}

// bucketBit, the lowest, is the bit of a cookie's first byte that tells its time bucket; the one above it tells the
// generation of its secret. macBits are those of the HMAC.
const (
	bucketBit = 1
	macBits   = 0xFC
)

// bucket numbers the time buckets. Before the origin of time there is one more,
// which the conversion wraps; newest-1 wraps alike, so neighbours stay neighbours.
func bucket(now time.Duration) uint64 {
	if now < 0 {
		now -= CookieBucket - 1
	}
	return uint64(now / CookieBucket)
}

func (c *Cookies) compute(generation uint64, addr transport.Addr, nonce uint64, epoch uint32, bucket uint64) (cookie Cookie, epochs Epochs) {
	ip := addr.IP.Addr().Unmap().As16()
	b := c.message[:0]
	b = binary.LittleEndian.AppendUint64(b, bucket)
	b = binary.LittleEndian.AppendUint64(b, nonce)
	b = binary.LittleEndian.AppendUint32(b, epoch)
	b = binary.LittleEndian.AppendUint16(b, addr.IP.Port())
	b = append(b, ip[:]...)
	b = append(b, addr.IP.Addr().Zone()...) // the only part without a fixed size; no zone has a zero byte
	if addr.Key != 0 || addr.Via != 0 {
		b = binary.LittleEndian.AppendUint64(append(b, 0, addr.Via), addr.Key)
	}
	c.message = b
	mac := c.macs[generation%2]
	mac.Reset()
	mac.Write(b) // a hash never returns an error
	sum := mac.Sum(c.sum[:0])
	copy(cookie[:], sum)
	cookie[0] = cookie[0]&macBits | byte(generation&1)<<1 | byte(bucket&bucketBit)
	for i := range epochs {
		epochs[i] = binary.LittleEndian.Uint32(sum[len(cookie)+4*i:])
	}
	return cookie, epochs
}

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

const (
	// maxPast is the number of ended sessions that a server remembers.
	maxPast = 1024
	// pastFor is the time for which it remembers one. A cookie, and so a Join, is valid for two buckets at most.
	pastFor = 2 * CookieBucket
)

// PastSessions remembers for a while which sessions are over, so that a late or repeated Join makes no second session of the same
// Hello. Where too many end at a time the oldest are forgotten. Its memory is allocated at once: a server's heap does not grow with
// the clients that have left.
type PastSessions struct {
	ring []pastSession
	next int
}

// pastSession is one that is over.
type pastSession struct {
	nonce  uint64
	until  time.Duration
	reason Error
}

// NewPastSessions returns room for maxPast.
func NewPastSessions() PastSessions { return PastSessions{ring: make([]pastSession, maxPast)} }

// Add remembers a session that is over.
func (p *PastSessions) Add(nonce uint64, reason *Error, now time.Duration) {
	p.ring[p.next] = pastSession{nonce, now + pastFor, *reason}
	p.next = (p.next + 1) % maxPast
}

// Find returns why the session of a nonce is over, nil if there was none.
func (p *PastSessions) Find(nonce uint64, now time.Duration) *Error {
	for i := range p.ring {
		if one := &p.ring[i]; one.nonce == nonce && now < one.until {
			return &one.reason
		}
	}
	return nil
}

// MaxRefuseDetail is the longest detail of a Refuse, in bytes. With it the
// datagram is still smaller than a Hello.
const MaxRefuseDetail = 480

// Refuse is the server's answer to a Hello with a valid cookie that it will not
// accept.
//
//	byte 0     1       9        10
//	+------+-------+--------+------------+----------+
//	| 0x84 | nonce | reason | detail ... | checksum |
//	+------+-------+--------+------------+----------+
//	 1      8       1        0..480       4
//
// It is the same in every version.
type Refuse struct {
	Nonce  uint64 // of the Hello
	Reason Reason // never ReasonNone
	Detail string // one printable line of UTF-8; for ReasonWrongProtocol, the first difference
}

const refuseFixed = 10

// AppendRefuse appends the datagram. The detail is cut to MaxRefuseDetail bytes,
// and what is not printable in it becomes question marks.
func AppendRefuse(b []byte, r Refuse) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindRefuse))
	b = binary.LittleEndian.AppendUint64(b, r.Nonce)
	b = append(b, byte(r.Reason))
	b = append(b, cleanDetail(r.Detail, MaxRefuseDetail)...)
	return sealDatagram(b, start)
}

// ParseRefuse reads a Refuse datagram. A reason that is not known here is no
// error. Errors are ErrChecksum and ErrMalformed.
func ParseRefuse(datagram []byte) (Refuse, error) {
	const fixed = refuseFixed + wire.ChecksumSize
	if len(datagram) < fixed || len(datagram)-fixed > MaxRefuseDetail {
		return Refuse{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindRefuse)
	if err != nil {
		return Refuse{}, err
	}
	r := Refuse{Nonce: binary.LittleEndian.Uint64(b), Reason: Reason(b[8])}
	detail := b[refuseFixed-1:]
	if r.Reason == ReasonNone || !legalDetail(detail) {
		return Refuse{}, ErrMalformed
	}
	r.Detail = string(detail)
	return r, nil
}

// MaxRefusal is the longest text of a refusal, in bytes.
const MaxRefusal = 200

// AppendRefusal appends the body of a refusal, the error with which a call was answered. The text is cut to MaxRefusal bytes,
// and what is not printable in it becomes question marks.
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

// LegalRefusal reports whether ParseRefusal would read a body.
func LegalRefusal(body []byte) bool { return len(body) <= MaxRefusal && legalDetail(body) }

// HandshakeStats counts events of handshakes. A counter that an end does not use stays zero.
type HandshakeStats struct {
	Replaced          uint64 // Connections ended because the same address said hello anew.
	Hellos            uint64 // Hello datagrams that could be read.
	Challenges        uint64 // Hello datagrams without a valid cookie, answered with one.
	Joins             uint64 // Join datagrams that could be read.
	JoinsRepeated     uint64 // Joins that came when their session was over: held back or repeated by the network.
	Resumes           uint64 // Resume datagrams: those that a client sent, and those that a server could read.
	Migrated          uint64 // Sessions that went on at another address. A client counts its own moves.
	Resets            uint64 // Answers to Resumes of sessions that are over or unknown: sent by a server, and believed by a client.
	BadHandshakes     uint64 // Handshake datagrams that could not be read, or that nobody waits for.
	ResumesOld        uint64 // Resume datagrams older than one that counted: repeated or held back by the network.
	ResetsWaited      uint64 // Resets without the token of the session that a client did not believe yet.
	RefusedFull       uint64 // Clients: hellos and joins refused because all places are taken.
	RefusedAddress    uint64 // ClientsPerAddress: hellos, joins and resumes refused because their address has so many places.
	RefusedNetwork    uint64 // ClientsPerNetwork: hellos, joins and resumes refused because their network has so many places.
	BusyAddress       uint64 // HandshakesPerAddress: hellos, joins and resumes put off because too many came from their address.
	BusyNetwork       uint64 // HandshakesPerNetwork: hellos, joins and resumes put off because too many came from their network.
	NotApproved       uint64 // Clients that OnApprove refused.
	ApprovalsFull     uint64 // Clients, ClientsPerAddress: joins put off because OnApprove has not decided about so many others.
	ApprovalsLate     uint64 // HandshakeTimeout: clients refused because OnApprove did not decide in time.
	TakenOver         uint64 // Connections ended because the same player connected anew.
	RefusedSecond     uint64 // RefuseSecond: clients refused because the same player is connected.
	Returned          uint64 // Players that came back within Keep.
	KeptFull          uint64 // Clients: players that were forgotten before Keep was over because so many others are away.
	RefusedProtocol   uint64 // Hellos refused for another protocol or version.
	HandshakeTimeouts uint64 // HandshakeTimeout: attempts to connect that were given up. A server has none.
}
