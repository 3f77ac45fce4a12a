package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/netip"
	"time"
)

// CookieBucket is how long one time bucket of cookies lasts. A cookie is good
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
// RFC 9000 §8.1 do likewise).
//
// A cookie is bound to the client's address, its nonce, the time bucket and the
// session epoch that the address has at that moment (0 for none). The last is
// what keeps a delayed hello of an earlier attempt from replacing the session
// that came after it: it was made for another epoch.
//
// The zero value is not usable. Not for concurrent use.
type Cookies struct {
	current  hash.Hash
	previous hash.Hash // nil before the first Rotate
	message  []byte
	sum      [sha256.Size]byte // here and not on the stack, where Sum would make it escape
}

// NewCookies returns cookies under a secret, which should be 32 random bytes
// that nobody else has.
func NewCookies(secret [32]byte) *Cookies {
	return &Cookies{
		current: hmac.New(sha256.New, secret[:]),
		message: make([]byte, 0, 64),
	}
}

// Rotate makes cookies under a new secret from now on. Cookies of the secret
// before it stay good until their time is over or Rotate is called again.
func (c *Cookies) Rotate(secret [32]byte) {
	c.previous = c.current
	c.current = hmac.New(sha256.New, secret[:])
}

// Make returns the cookie for a client's address and nonce at a time. epoch is
// that of the session which the address has at present, 0 if it has none.
func (c *Cookies) Make(addr netip.AddrPort, nonce uint64, epoch uint32, now time.Duration) Cookie {
	return c.compute(c.current, addr, nonce, epoch, bucket(now))
}

// Check reports whether a cookie was made here for the same address, nonce and
// epoch, in this time bucket or the one before. The zero cookie never passes.
func (c *Cookies) Check(cookie Cookie, addr netip.AddrPort, nonce uint64, epoch uint32, now time.Duration) bool {
	if cookie.IsZero() {
		return false
	}
	newest := bucket(now)
	for _, mac := range [...]hash.Hash{c.current, c.previous} {
		if mac == nil {
			continue
		}
		for _, b := range [...]uint64{newest, newest - 1} {
			want := c.compute(mac, addr, nonce, epoch, b)
			if hmac.Equal(want[:], cookie[:]) {
				return true
			}
		}
	}
	return false
}

// bucket numbers the time buckets. Before the origin of time there is one more,
// which the conversion wraps; newest-1 wraps alike, so neighbours stay neighbours.
func bucket(now time.Duration) uint64 {
	if now < 0 {
		now -= CookieBucket - 1
	}
	return uint64(now / CookieBucket)
}

func (c *Cookies) compute(mac hash.Hash, addr netip.AddrPort, nonce uint64, epoch uint32, bucket uint64) Cookie {
	ip := addr.Addr().Unmap().As16()
	b := c.message[:0]
	b = binary.LittleEndian.AppendUint64(b, bucket)
	b = binary.LittleEndian.AppendUint64(b, nonce)
	b = binary.LittleEndian.AppendUint32(b, epoch)
	b = binary.LittleEndian.AppendUint16(b, addr.Port())
	b = append(b, ip[:]...)
	b = append(b, addr.Addr().Zone()...) // last, because it is the only part without a fixed size
	c.message = b
	mac.Reset()
	mac.Write(b) // a hash never returns an error
	var cookie Cookie
	copy(cookie[:], mac.Sum(c.sum[:0]))
	return cookie
}
