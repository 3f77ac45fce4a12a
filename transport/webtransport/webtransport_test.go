package webtransport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// listen starts a server on loopback and returns its URL and what a client trusts.
func listen(t *testing.T, config Config) (s *Server, url string, pin *tls.Config) {
	certificate, hash, err := NewCertificate(time.Now(), "127.0.0.1", "localhost")
	require.NoError(t, err)
	config.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s, err = Listen("127.0.0.1:0", config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, "https://" + s.LocalAddr().String() + "/netcode", Pin(hash)
}

func dial(t *testing.T, url string, pin *tls.Config) (*Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := Dial(ctx, url, pin, queued.Config{})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return c, err
}

// receive waits for a datagram, and asks for it again and again: one may be lost.
func receive(t *testing.T, c transport.Conn, ask func()) ([]byte, transport.Addr) {
	buf := make([]byte, 2048)
	var n int
	var from transport.Addr
	asked := time.Time{}
	require.Eventually(t, func() bool {
		if ask != nil && time.Since(asked) > time.Second {
			asked = time.Now()
			ask()
		}
		var err error
		n, from, err = c.Receive(buf)
		return n > 0 || err != nil
	}, time.Minute, time.Millisecond)
	return buf[:n], from
}

func TestDatagramsBothWays(t *testing.T) {
	s, url, pin := listen(t, Config{})
	seen := map[transport.Addr]bool{}
	for i := range byte(2) {
		c, err := dial(t, url, pin)
		require.NoError(t, err)
		datagram := bytes.Repeat([]byte{i + 1}, 1200) // netcode's largest packet, from the first one on
		got, from := receive(t, s, func() { require.NoError(t, c.Send(c.Server(), datagram)) })
		require.Equal(t, datagram, got)
		require.True(t, from.IP.Addr().IsLoopback())
		seen[from] = true
		got, back := receive(t, c, func() { require.NoError(t, s.Send(from, datagram)) })
		require.Equal(t, datagram, got)
		require.Equal(t, c.Server(), back)
	}
	require.Len(t, seen, 2)
	require.Zero(t, s.Stats().TooLarge)
}

func TestALargeDatagramEndsNothing(t *testing.T) {
	s, url, pin := listen(t, Config{})
	c, err := dial(t, url, pin)
	require.NoError(t, err)
	require.NoError(t, c.Send(c.Server(), make([]byte, 2000)))
	require.Eventually(t, func() bool { return c.Stats().TooLarge == 1 }, time.Minute, time.Millisecond)
	got, _ := receive(t, s, func() { require.NoError(t, c.Send(c.Server(), []byte{1})) })
	require.Equal(t, []byte{1}, got)
}

// Thousands of datagrams are sent at once: Send never waits, and each is sent or replaced.
func TestSendNeverWaits(t *testing.T) {
	s, url, pin := listen(t, Config{Config: queued.Config{Ring: 16}})
	c, err := dial(t, url, pin)
	require.NoError(t, err)
	_, from := receive(t, s, func() { require.NoError(t, c.Send(c.Server(), []byte{1})) })
	before, sent := s.Stats(), uint64(0)
	for ; sent < 10_000 || sent < 1<<20 && s.Stats().Overtaken == 0; sent++ {
		require.NoError(t, s.Send(from, make([]byte, 1200)))
	}
	require.Eventually(t, func() bool { n := s.Stats(); return n.Sent-before.Sent+n.Overtaken == sent }, time.Minute, time.Millisecond)
	require.Positive(t, s.Stats().Overtaken)
}

func TestOtherCertificatesAndPathsAreRefused(t *testing.T) {
	_, url, pin := listen(t, Config{})
	_, err := dial(t, url, Pin([32]byte{1}))
	require.ErrorIs(t, err, ErrOtherCertificate)
	_, err = dial(t, url, nil)
	require.Error(t, err, "no authority knows it")
	_, err = dial(t, url+"/other", pin)
	require.Error(t, err)
	_, err = Listen("127.0.0.1:0", Config{})
	require.Error(t, err, "no certificate")
}

func TestOrigins(t *testing.T) {
	s, _, _ := listen(t, Config{Origins: []string{"*.game.example"}})
	for origin, want := range map[string]bool{
		"": true, "https://a:4443": true, "https://play.game.example": true,
		"https://evil.example": false, "https://game.example.evil.example": false, "null": false, ":": false,
	} {
		require.Equal(t, want, s.mayConnect(&http.Request{Host: "a:4443", Header: http.Header{"Origin": {origin}}}), origin)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	s, url, pin := listen(t, Config{Config: queued.Config{Connections: 1}})
	first, err := dial(t, url, pin)
	require.NoError(t, err)
	_, err = dial(t, url, pin)
	require.Error(t, err)
	require.Eventually(t, func() bool { return s.Refused() > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, first.Err())
	require.NoError(t, s.Close())
	<-first.Done()
	require.Error(t, first.Err())
}

func TestCertificatesLastTenDays(t *testing.T) {
	now := time.Now()
	certificate, _, err := NewCertificate(now, "127.0.0.1", "game.example")
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	require.NoError(t, err)
	require.NoError(t, leaf.VerifyHostname("127.0.0.1"))
	require.NoError(t, leaf.VerifyHostname("game.example"))
	require.LessOrEqual(t, leaf.NotAfter.Sub(leaf.NotBefore), 14*24*time.Hour, "browsers allow no more")
	require.GreaterOrEqual(t, leaf.NotAfter.Sub(now), 9*24*time.Hour)
}

// A server knows the rate that congestion control leaves to each peer, until the peer has left.
func TestRateIsThatOfThePeer(t *testing.T) {
	s, url, pin := listen(t, Config{})
	c, err := dial(t, url, pin)
	require.NoError(t, err)
	_, from := receive(t, s, func() { require.NoError(t, c.Send(c.Server(), []byte("hello"))) })
	rate, ok := s.Rate(from)
	require.True(t, ok)
	require.Greater(t, rate, 12_000, "no less than ten packets in a second")
	_, ok = s.Rate(transport.MustParseAddr("127.0.0.1:1"))
	require.False(t, ok)
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { _, ok := s.Rate(from); return !ok }, time.Minute, time.Millisecond)
}

// TestDialSaysWhatIsWrong finds words for a URL of another kind, and for a certificate that nobody known signed and that is not pinned.
func TestDialSaysWhatIsWrong(t *testing.T) {
	for _, url := range []string{"", "game.example", "127.0.0.1:9000/netcode", "http://game.example/netcode", "https://", "wss://game.example/ws"} {
		_, err := Dial(t.Context(), url, nil, queued.Config{})
		require.EqualError(t, err, fmt.Sprintf("webtransport: Dial(%q): this is no URL of a server, as https://game.example:443/netcode is", url))
	}
	certificate, _, err := NewCertificate(time.Now(), "127.0.0.1")
	require.NoError(t, err)
	s, err := Listen("127.0.0.1:0", Config{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	require.NoError(t, err)
	defer s.Close()
	_, err = Dial(t.Context(), "https://"+s.LocalAddr().String()+"/netcode", nil, queued.Config{})
	require.ErrorContains(t, err, "no known authority signed the server's certificate: give Dial a tls.Config, as Pin makes")
}
