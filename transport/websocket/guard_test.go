package websocket

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// elsewhere gives connections other addresses than loopback, which has no limits: the address is that of their port.
type elsewhere struct {
	net.Listener
	at func(port int) netip.AddrPort
}

func (l elsewhere) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &moved{c, net.TCPAddrFromAddrPort(l.at(c.RemoteAddr().(*net.TCPAddr).Port))}, nil
}

type moved struct {
	net.Conn
	from net.Addr
}

func (m *moved) RemoteAddr() net.Addr { return m.from }

// listenGuarded starts a server behind Guard, with a page beside the WebSocket.
func listenGuarded(t *testing.T, config Config, at func(port int) netip.AddrPort, secure bool) (*Server, *httptest.Server) {
	s := NewServer(transport.MustParseAddr("127.0.0.1:80"), config)
	mux := http.NewServeMux()
	mux.Handle("/ws", s)
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	h := httptest.NewUnstartedServer(mux)
	h.Listener = s.Guard(elsewhere{h.Listener, at})
	h.Config.ConnContext = ShortBuffer
	h.Config.ErrorLog = log.New(io.Discard, "", 0) // Each handshake that stalls is a line.
	if secure {
		h.StartTLS()
	} else {
		h.Start()
	}
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		h.Close()
	})
	return s, h
}

// halfOpen opens a TCP connection and sends half a request, or nothing to a server with TLS.
func halfOpen(t *testing.T, h *httptest.Server) net.Conn {
	c, err := net.Dial("tcp", h.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	if h.TLS == nil {
		_, err = io.WriteString(c, "GET /ws HTTP/1.1\r\nHost: ")
		require.NoError(t, err)
	}
	return c
}

// ended waits until the server has ended a connection.
func ended(t *testing.T, c net.Conn) {
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := io.Copy(io.Discard, c)
	if fault, is := err.(net.Error); is {
		require.False(t, fault.Timeout(), "the server does not end it")
	}
}

// TCP connections of one host that never ask for a WebSocket take no place, and the oldest of the host end for newer ones.
func TestHalfOpenConnectionsTakeNoPlace(t *testing.T) {
	at := func(port int) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr("203.0.113.9"), uint16(port))
	}
	s, h := listenGuarded(t, Config{Config: queued.Config{Connections: 16, PerIP: 8, Idle: time.Hour}}, at, false)
	var half []net.Conn
	for range 64 {
		half = append(half, halfOpen(t, h))
	}
	for _, c := range half[:56] {
		ended(t, c)
	}
	require.Equal(t, 8, s.Pending().Now)
	require.EqualValues(t, 56, s.Pending().Displaced)
	for range 8 {
		c := dial(t, "ws"+strings.TrimPrefix(h.URL, "http")+"/ws") // Of the same host, each in place of one of these.
		require.NoError(t, c.Send(c.Server(), []byte{1}))
		receive(t, s)
	}
	_, err := http.Get(h.URL + "/page")
	require.NoError(t, err)
}

// upgrade opens a connection, asks for a WebSocket, and waits for the answer, or the end of the connection.
func upgrade(t *testing.T, s *Server, h *httptest.Server) {
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	if h.TLS != nil {
		trust := h.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		trust.ServerName = "example.com" // That of httptest's certificate.
		conn = tls.Client(conn, trust)
	}
	_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if fault, is := err.(net.Error); is {
		require.False(t, fault.Timeout(), "neither an answer nor an end")
	}
	if err == nil {
		require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
		require.Eventually(t, func() bool { return s.Stats().Opened > 0 }, time.Minute, time.Millisecond)
	}
}

// A connection without a WebSocket ends after Config.Idle, and one with a WebSocket is not counted, also below TLS.
func TestConnectionsWithoutAWebSocketEnd(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint(secure), func(t *testing.T) {
			at := func(port int) netip.AddrPort {
				return netip.AddrPortFrom(netip.MustParseAddr("203.0.113.9"), uint16(port))
			}
			s, h := listenGuarded(t, Config{Config: queued.Config{Idle: 300 * time.Millisecond}}, at, secure)
			for s.Stats().Opened == 0 { // A busy machine may take longer than Idle for a handshake.
				upgrade(t, s, h)
			}
			require.Zero(t, s.Pending().Now, "it has a WebSocket")
			before := s.Pending().Idle
			ended(t, halfOpen(t, h))
			require.Equal(t, before+1, s.Pending().Idle)
			require.Zero(t, s.Pending().Refused)
			require.Positive(t, s.Stats().Opened)
		})
	}
}
