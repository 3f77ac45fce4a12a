package websocket

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport/queued"
)

// claimed is for Config.IP: the address that a request claims.
func claimed(r *http.Request) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(r.URL.Query().Get("ip")), 4000)
}

// flood opens a WebSocket that sends frames of one byte as fast as the server reads them, until its end.
func flood(t *testing.T, url, ip string) {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "GET /?ip=%s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", ip)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	frames := bytes.Repeat([]byte{0x82, 0x81, 0, 0, 0, 0, 'f'}, 1000) // Binary, masked with zero.
	go func() {
		for err := error(nil); err == nil; {
			_, err = c.Write(frames)
		}
	}()
}

// share plays frames of a server that takes a fixed number of datagrams in each, and returns the share that it takes of what an honest client
// sends, which is an eighth of that. Nothing depends on time: a frame begins when all of the client's datagrams were read, and takes its number
// however long they need to come.
func share(t *testing.T, floods int, of, from string, session bool) float64 {
	const frames, most, each = 60, 64, 8
	s, url := listen(t, Config{Config: queued.Config{PerIP: floods + 1}, IP: claimed})
	for range floods {
		flood(t, url, of)
	}
	socket, _, err := websocket.Dial(t.Context(), url+"/?ip="+from, nil)
	require.NoError(t, err)
	ctx := socket.CloseRead(t.Context()) // It reads the pongs.
	buf, got := make([]byte, 64), 0
	take := func() (one bool) {
		n, _, err := s.Receive(buf)
		require.NoError(t, err)
		if n > 0 {
			s.Rank(session && buf[0] == 'h')
			if buf[0] == 'h' {
				got++
			}
		}
		return n > 0
	}
	for frame := range frames + 1 {
		for range each {
			require.NoError(t, socket.Write(ctx, websocket.MessageBinary, []byte{'h'}))
		}
		require.NoError(t, socket.Ping(ctx)) // The server answers when it has read all before.
		if floods == 0 {
			for take() {
			}
			continue
		}
		for n, end := 0, time.Now().Add(time.Minute); n < most; {
			if take() {
				n++
				continue
			}
			require.True(t, time.Now().Before(end), "the flood has ended")
			time.Sleep(time.Millisecond)
		}
		if frame == 0 { // The server knows the session by the first datagrams.
			got = 0
		}
	}
	t.Logf("%d of %d; %+v", got, frames*each, s.Stats())
	return float64(got) / (frames * each)
}

// 64 connections of one address that send frames of one byte as fast as they can take nothing from an honest client.
func TestAFloodOfWebSocketsTakesNothingFromOthers(t *testing.T) {
	const bad, good = "203.0.113.9", "198.51.100.7"
	require.GreaterOrEqual(t, share(t, 0, bad, good, true), 1.0, "without a flood all come")
	for name, row := range map[string]struct {
		from    string
		session bool
	}{
		"without a session yet":     {good, false},
		"with a session":            {good, true},
		"with a session, same host": {bad, true},
	} {
		t.Run(name, func(t *testing.T) { require.GreaterOrEqual(t, share(t, 64, bad, row.from, row.session), 0.95) })
	}
}

// Connections of 32 hosts that send half a request, or half a TLS handshake, stall without end, and more than the server holds. Honest clients
// get in while they come.
func TestHalfOpenConnectionsLockNobodyOut(t *testing.T) {
	const hosts, each, honest = 32, 8, 8
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprint(encrypted), func(t *testing.T) {
			var now atomic.Pointer[netip.Addr] // The address of the next connection.
			at := func(port int) netip.AddrPort { return netip.AddrPortFrom(*now.Load(), uint16(port)) }
			s, h := listenGuarded(t, Config{Config: queued.Config{Connections: 64, Idle: time.Hour}}, at, encrypted)
			came := func() uint64 {
				p := s.Pending()
				return uint64(p.Now) + p.Displaced + p.Refused
			}
			stall := func(host byte) {
				ip, before := netip.AddrFrom4([4]byte{203, 0, host, 9}), came()
				now.Store(&ip)
				c := halfOpen(t, h)
				if encrypted {
					_, _ = io.WriteString(c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc") // The begin of a ClientHello.
				}
				require.Eventually(t, func() bool { return came() > before }, time.Minute, time.Millisecond)
			}
			for range each {
				for host := range hosts {
					stall(byte(host))
				}
			}
			require.Equal(t, 64, s.Pending().Now, "more than the server holds")
			trust := &tls.Config{RootCAs: x509.NewCertPool()}
			if encrypted {
				trust.RootCAs.AddCert(h.Certificate())
			}
			for i := range honest {
				ip := netip.AddrFrom4([4]byte{198, 51, byte(i), 7})
				now.Store(&ip)
				c := dialHonest(t, h, trust)
				require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte{byte(i)}))
				got, _ := receive(t, s)
				require.Equal(t, []byte{byte(i)}, got)
				for host := range hosts {
					stall(byte(host))
				}
			}
			require.Equal(t, uint64(honest), s.Stats().Opened)
		})
	}
}

// dialHonest opens a WebSocket to a server, with TLS if it has that.
func dialHonest(t *testing.T, h *httptest.Server, trust *tls.Config) *websocket.Conn {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	over := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(h.URL, "http")+"/ws", &websocket.DialOptions{HTTPClient: over})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}
