package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// CookieBucket is the length of one time bucket of cookies. A cookie is valid in its bucket and in the next one: for 5
// to 10 s.
const CookieBucket = 5 * time.Second

// Cookie proves that its sender receives packets for its address. The zero value means none.
type Cookie [16]byte

// IsZero reports whether there is no cookie.
func (c Cookie) IsZero() bool { return c == Cookie{} }

// Cookies makes and checks address cookies without storing them. A cookie is the first 16 bytes of an HMAC-SHA256 over
// the data that it is bound to. So a flood of Hellos from forged addresses takes no memory at the server (compare RFC
// 9147, section 5.1, and RFC 9000, section 8.1).
//
// The epoch of the session that a cookie opens comes from the next 16 bytes of the HMAC, which are not part of the
// cookie. So the server does not store the epoch either, and an end that has the epoch has received Accept.
//
// A cookie is bound to the client's address, its nonce, the time bucket and the present session epoch of the address (0
// for none). Because of the epoch, a delayed Hello of an earlier attempt cannot replace the session that came after it.
//
// Two bits of a cookie contain its time bucket and its secret, so that a check needs one HMAC. The zero value is not
// usable. Cookies must be used by one goroutine at a time.
type Cookies struct {
	macs    [2]hash.Hash // by generation of the secret, modulo 2; nil: none
	newest  uint64       // generation of the present secret
	message []byte
	sum     [sha256.Size]byte // a field, since a local variable would escape to the heap
}

// Epochs are four numbers derived from a cookie. Only the server can compute them. The epoch of a session is the first
// of them that is legal.
type Epochs [4]uint32

// NewCookies returns the Cookies of a secret, which should be 32 random bytes.
func NewCookies(secret [32]byte) *Cookies {
	c := &Cookies{message: make([]byte, 0, 64)}
	c.macs[0] = hmac.New(sha256.New, secret[:])
	return c
}

// Rotate makes cookies with a new secret from now on. Cookies of the last secret stay valid until their time is over or
// Rotate is called again.
func (c *Cookies) Rotate(secret [32]byte) {
	c.newest++
	c.macs[c.newest%2] = hmac.New(sha256.New, secret[:])
}

// Make returns the cookie for a client's address and nonce at a time. epoch is the epoch of the address's present
// session, or 0.
func (c *Cookies) Make(addr transport.Addr, nonce uint64, epoch uint32, now time.Duration) Cookie {
	cookie, _ := c.compute(c.newest, addr, nonce, epoch, bucket(now))
	return cookie
}

// Check reports whether a cookie was made by this server for the same address, nonce and epoch, in this time bucket or
// the one before. It returns the epochs of the cookie. The zero cookie is never valid.
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

// bucketBit is the bit of a cookie's first byte with the time bucket. The next bit has the generation of the secret.
// macBits are the bits of the HMAC.
const (
	bucketBit = 1
	macBits   = 0xFC
)

// bucket returns the number of a time bucket. Before the origin of time the number is negative and wraps. made-1 wraps
// in the same way, so neighbours stay neighbours.
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
	b = append(b, addr.IP.Addr().Zone()...) // the only part of variable size; a zone has no zero byte
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
