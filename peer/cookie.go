package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

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
