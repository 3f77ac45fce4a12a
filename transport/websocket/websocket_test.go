package websocket

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// listen starts a server and returns the URL of its handler.
func listen(t *testing.T, config Config) (*Server, string) {
	s := NewServer(transport.MustParseAddr("127.0.0.1:80"), config)
	h := httptest.NewUnstartedServer(s)
	h.Config.ConnContext = ShortBuffer
	h.Start()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		h.Close()
	})
	return s, "ws" + strings.TrimPrefix(h.URL, "http")
}

func dial(t *testing.T, url string) *Conn {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := Dial(ctx, url, queued.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// receive waits for a datagram.
func receive(t *testing.T, c transport.Conn) ([]byte, transport.Addr) {
	buf := make([]byte, 2048)
	var n int
	var from transport.Addr
	require.Eventually(t, func() (came bool) {
		var err error
		n, from, err = c.Receive(buf)
		return n > 0 || err != nil
	}, time.Minute, time.Millisecond)
	return buf[:n], from
}

func TestDatagramsBothWays(t *testing.T) {
	s, url := listen(t, Config{})
	clients := []*Conn{dial(t, url), dial(t, url)}
	seen := map[transport.Addr]bool{}
	for i, c := range clients {
		for _, size := range []int{1, 1200, 2048} {
			datagram := bytes.Repeat([]byte{byte(i + 1)}, size)
			require.NoError(t, c.Send(c.Server(), datagram))
			got, from := receive(t, s)
			require.Equal(t, datagram, got)
			require.True(t, from.IP.Addr().IsLoopback())
			seen[from] = true
			require.NoError(t, s.Send(from, got))
			got, from = receive(t, c)
			require.Equal(t, datagram, got)
			require.Equal(t, c.Server(), from)
		}
	}
	require.Len(t, seen, 2)
	require.NoError(t, clients[0].Close())
	require.Eventually(t, func() bool {
		for from := range seen {
			require.NoError(t, s.Send(from, []byte{1}))
		}
		return s.Stats().Unreachable > 0
	}, time.Minute, time.Millisecond, "a connection that has ended")
}

// A client that reads nothing blocks the stream. What waits is replaced, and no Send waits.
func TestABlockedStreamReplacesWhatWaits(t *testing.T) {
	s, url := listen(t, Config{Config: queued.Config{Ring: 8}})
	socket, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
	require.NoError(t, err)
	defer socket.Close()
	require.NoError(t, socket.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(socket, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(socket), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	_, err = socket.Write([]byte{0x82, 0x81, 0, 0, 0, 0, 7}) // A masked binary message of one byte.
	require.NoError(t, err)
	_, from := receive(t, s)
	const most = 1 << 20
	sent := 0
	for ; sent < most && s.Stats().Overtaken < 1000; sent++ {
		require.NoError(t, s.Send(from, make([]byte, 1200)))
	}
	require.Less(t, sent, most, "the stream never blocked")
	require.LessOrEqual(t, uint64(sent), s.Stats().Sent+s.Stats().Overtaken+8+1, "sent, replaced, or in the ring")
}

func TestCase52HostileClients(t *testing.T) {
	s, url := listen(t, Config{Config: queued.Config{MaxDatagram: 1300}})
	c := dial(t, url)
	require.NoError(t, c.Send(c.Server(), make([]byte, 1301)))
	require.Eventually(t, func() bool { return s.Stats().TooLarge == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Send(c.Server(), []byte{1}))
	got, _ := receive(t, s)
	require.Equal(t, []byte{1}, got, "the connection goes on")
	casebook.Injected(t, s.Stats().TooLarge, "messages that are too large")

	for _, frame := range [][]byte{
		{0x81, 0x81, 0, 0, 0, 0, 'a'},  // text
		{0x82, 0x01, 'a'},              // not masked
		bytes.Repeat([]byte{0xff}, 14), // nonsense
	} {
		socket, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(socket, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		require.NoError(t, err)
		reader := bufio.NewReader(socket)
		_, err = http.ReadResponse(reader, nil)
		require.NoError(t, err)
		_, err = socket.Write(frame)
		require.NoError(t, err)
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = bytes.NewBuffer(nil).ReadFrom(reader)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server ends it: %x", frame)
		casebook.Injected(t, 1, "frames that no browser sends, each on a connection of its own")
		_ = socket.Close()
	}
}

func TestOrigins(t *testing.T) {
	_, url := listen(t, Config{Origins: []string{"*.game.example"}})
	for origin, want := range map[string]int{
		"": http.StatusSwitchingProtocols, "https://play.game.example": http.StatusSwitchingProtocols, "https://evil.example": http.StatusForbidden,
	} {
		r, err := http.NewRequest("GET", "http"+strings.TrimPrefix(url, "ws"), nil)
		require.NoError(t, err)
		for name, value := range map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		_ = answer.Body.Close()
		require.Equal(t, want, answer.StatusCode, origin)
	}
}

func TestTheServerMayAskAProxyForAddresses(t *testing.T) {
	behind := netip.MustParseAddrPort("192.0.2.7:0")
	s, url := listen(t, Config{IP: func(*http.Request) netip.AddrPort { return behind }})
	c := dial(t, url)
	require.NoError(t, c.Send(c.Server(), []byte{1}))
	_, from := receive(t, s)
	require.Equal(t, behind, from.IP)
	require.NoError(t, s.Close())
	<-c.Done()
	require.Error(t, c.Err())
}

// TestDialSaysWhatIsWrong finds words for a URL of another kind, and for a certificate that nobody known signed.
func TestDialSaysWhatIsWrong(t *testing.T) {
	for _, url := range []string{"", "game.example", "127.0.0.1:9000/ws", "http://game.example/ws", "udp://game.example"} {
		_, err := Dial(t.Context(), url, queued.Config{})
		require.EqualError(t, err, fmt.Sprintf("websocket: Dial(%q): this is no URL of a server, as wss://game.example/ws is", url))
	}
	h := httptest.NewUnstartedServer(http.NotFoundHandler())
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	defer h.Close()
	_, err := Dial(t.Context(), "wss"+strings.TrimPrefix(h.URL, "https"), queued.Config{})
	require.ErrorContains(t, err, "no known authority signed the server's certificate")
}
