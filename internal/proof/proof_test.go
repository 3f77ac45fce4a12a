package proof

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
)

func testCookies(fill byte) *Cookies {
	var secret [32]byte
	for i := range secret {
		secret[i] = fill
	}
	return NewCookies(secret)
}

// passes reports whether a cookie is good.
func passes(c *Cookies, cookie Cookie, addr transport.Addr, nonce uint64, epoch uint32, now time.Duration) bool {
	_, ok := c.Check(cookie, addr, nonce, epoch, now)
	return ok
}

func TestCookieIsBoundToEverything(t *testing.T) {
	c := testCookies(1)
	addr := transport.MustParseAddr("192.0.2.7:4000")
	const now, nonce, epoch = 12 * time.Second, 77, 5
	cookie := c.Make(addr, nonce, epoch, now)
	require.False(t, cookie.IsZero())
	require.True(t, passes(c, cookie, addr, nonce, epoch, now))
	require.True(t, passes(c, cookie, transport.MustParseAddr("[::ffff:192.0.2.7]:4000"), nonce, epoch, now),
		"the same address in its other spelling")

	require.False(t, passes(c, cookie, transport.MustParseAddr("192.0.2.7:4001"), nonce, epoch, now))
	require.False(t, passes(c, cookie, transport.MustParseAddr("192.0.2.8:4000"), nonce, epoch, now))
	require.False(t, passes(c, cookie, addr, nonce+1, epoch, now))
	require.False(t, passes(c, cookie, addr, nonce, epoch+1, now))
	require.False(t, passes(c, cookie, addr, nonce, 0, now), "made for a session that is gone")
	require.False(t, passes(c, Cookie{}, addr, nonce, epoch, now))
	require.False(t, passes(testCookies(2), cookie, addr, nonce, epoch, now), "a restarted server")
	for bit := range 8 * len(cookie) {
		forged := cookie
		forged[bit/8] ^= 1 << (bit % 8)
		require.False(t, passes(c, forged, addr, nonce, epoch, now), "bit %d", bit)
	}

	zone := transport.MustParseAddr("[fe80::1%eth0]:9")
	cookie = c.Make(zone, nonce, epoch, now)
	require.True(t, passes(c, cookie, zone, nonce, epoch, now))
	require.False(t, passes(c, cookie, transport.MustParseAddr("[fe80::1%eth1]:9"), nonce, epoch, now))
	require.False(t, passes(c, cookie, transport.MustParseAddr("[fe80::1]:9"), nonce, epoch, now))
}

func TestCookieIsBoundToAnAddressWithoutIP(t *testing.T) {
	c := testCookies(1)
	ip := transport.MustParseAddr("192.0.2.7:4000").IP
	addrs := []transport.Addr{{IP: ip}, {IP: ip, Key: 1}, {IP: ip, Key: 2}, {IP: ip, Via: 1}, {IP: ip, Key: 1, Via: 1}, {Key: 1}, {Key: 1 << 56}, {Key: 1, Via: 1}}
	for i, made := range addrs {
		cookie := c.Make(made, 1, 0, 0)
		for k, used := range addrs {
			require.Equal(t, i == k, passes(c, cookie, used, 1, 0, 0), "made for %v, used by %v", made, used)
		}
	}
}

func TestCookieExpires(t *testing.T) {
	c := testCookies(1)
	addr := transport.MustParseAddr("[2001:db8::1]:4000")
	for _, made := range []time.Duration{-7 * time.Second, -CookieBucket, -1, 0, 1, 4999 * time.Millisecond, time.Hour} {
		cookie := c.Make(addr, 1, 0, made)
		for _, age := range []time.Duration{0, time.Second, CookieBucket} {
			require.True(t, passes(c, cookie, addr, 1, 0, made+age), "made %v, age %v", made, age)
		}
		require.False(t, passes(c, cookie, addr, 1, 0, made+2*CookieBucket), "made %v", made)
		require.False(t, passes(c, cookie, addr, 1, 0, made-CookieBucket), "made %v, from the future", made)
	}
}

func TestCookieRotation(t *testing.T) {
	c := testCookies(1)
	addr := transport.MustParseAddr("192.0.2.7:4000")
	first := c.Make(addr, 1, 0, 0)
	c.Rotate([32]byte{2})
	second := c.Make(addr, 1, 0, 0)
	require.NotEqual(t, first, second)
	require.True(t, passes(c, first, addr, 1, 0, time.Second))
	require.True(t, passes(c, second, addr, 1, 0, time.Second))
	c.Rotate([32]byte{3})
	require.False(t, passes(c, first, addr, 1, 0, time.Second))
	require.True(t, passes(c, second, addr, 1, 0, time.Second))
}

func TestCookiesDoNotAllocate(t *testing.T) {
	c := testCookies(1)
	c.Rotate([32]byte{2})
	addr := transport.MustParseAddr("192.0.2.7:4000")
	cookie := c.Make(addr, 1, 0, 0)
	alloctest.Zero(t, 100, func() {
		cookie = c.Make(addr, 1, 0, 0)
		c.Check(cookie, addr, 2, 0, 0)
	})
}

// The epochs of a cookie are the same each time, and none can be read from it or from another cookie.
func TestEpochsFollowFromTheCookieAndAreSecret(t *testing.T) {
	c := testCookies(1)
	addr := transport.MustParseAddr("192.0.2.7:4000")
	cookie := c.Make(addr, 77, 5, 0)
	first, ok := c.Check(cookie, addr, 77, 5, 0)
	require.True(t, ok)
	again, ok := c.Check(cookie, addr, 77, 5, CookieBucket)
	require.True(t, ok)
	require.Equal(t, first, again)
	for _, epoch := range first {
		for at := 0; at+4 <= len(cookie); at++ {
			require.NotEqual(t, epoch, binary.LittleEndian.Uint32(cookie[at:]))
		}
	}
	other, ok := c.Check(c.Make(addr, 78, 5, 0), addr, 78, 5, 0)
	require.True(t, ok)
	for i := range first {
		require.NotEqual(t, first[i], other[i])
	}
}

// A token follows from the key and from the name of the session, and from nothing else.
func TestTokens(t *testing.T) {
	a, again, other := NewTokens([32]byte{1}), NewTokens([32]byte{1}), NewTokens([32]byte{2})
	want := a.Make(3, 4)
	require.True(t, want.Equal(again.Make(3, 4)))
	require.True(t, want.Equal(a.Make(3, 4)), "twice the same")
	for _, differs := range []Token{other.Make(3, 4), a.Make(4, 4), a.Make(3, 5), {}} {
		require.False(t, want.Equal(differs))
	}
	alloctest.Zero(t, 100, func() { a.Make(3, 4) })
}
