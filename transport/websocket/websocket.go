package websocket

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

const (
	// writeTimeout ends a connection that accepts no data for this long.
	writeTimeout = 10 * time.Second
	// socketBuffer is the size of a socket's send buffer in bytes. It is small, because newer datagrams cannot replace those in
	// it.
	socketBuffer = 16 << 10
)

// Config configures a Server. Zero fields mean the defaults.
type Config struct {
	queued.Config
	// Origins are the hosts of pages that may connect, such as "game.example" or "*.game.example:8080". Pages of the server's own
	// host may always connect, and so may clients without an Origin header, which are no browsers.
	Origins []string
	// IP returns the address of a request's client, for a server behind a proxy. By default it is the address of the connection.
	IP func(r *http.Request) netip.AddrPort
}

// Server is a transport.Conn over the WebSockets that its handler accepts.
type Server struct {
	*queued.Conn
	config  Config
	pending *queued.Pending
	guarded sync.Map // The guard's connections: names -> *guarded.
}

// NewServer returns a server without connections. local is the result of LocalAddr. Use the Server as handler of an http.Server
// whose ConnContext is ShortBuffer.
func NewServer(local transport.Addr, config Config) *Server {
	if config.IP == nil {
		config.IP = remoteIP
	}
	return &Server{Conn: queued.New(local, config.Config), config: config, pending: queued.NewPending(config.Config)}
}

func remoteIP(r *http.Request) netip.AddrPort {
	ip, _ := netip.ParseAddrPort(r.RemoteAddr) // zero on an error: an address without IP
	return ip
}

// ServeHTTP accepts a WebSocket, if there is a place for it, and returns when it has ended.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from := s.config.IP(r)
	if s.Full(from.Addr()) {
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{OriginPatterns: s.config.Origins, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered.
	}
	if g := s.guardOf(r); g != nil {
		g.claim.Begin()
		defer g.claim.End()
	}
	peer, err := s.Add(from, newPipe(socket))
	if err != nil {
		return // Add has closed it.
	}
	<-peer.Done()
}

// ShortBuffer is for http.Server.ConnContext. It shortens the socket's send buffer, so that the data in it is never old.
func ShortBuffer(ctx context.Context, c net.Conn) context.Context {
	for wrapped, ok := c.(interface{ NetConn() net.Conn }); ok; wrapped, ok = c.(interface{ NetConn() net.Conn }) { // of TLS, of Guard
		c = wrapped.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(socketBuffer) // best effort
	}
	return ctx
}

// Conn is the client's end of a WebSocket: a transport.Conn with one peer.
type Conn struct {
	*queued.Conn
	server *queued.Peer
}

// Dial connects to a server at a URL such as "wss://game.example/ws". ctx limits connecting only. Connect the client to Server.
func Dial(ctx context.Context, url string, config queued.Config) (*Conn, error) {
	if !strings.HasPrefix(url, "ws://") && !strings.HasPrefix(url, "wss://") {
		return nil, fmt.Errorf("websocket: Dial(%q): this is no URL of a server, as wss://game.example/ws is", url)
	}
	socket, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled})
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return nil, fmt.Errorf("websocket: no known authority signed the server's certificate: on one machine use ws:// without TLS: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("websocket: %w", err)
	}
	c := &Conn{Conn: queued.New(transport.Addr{}, config)}
	if c.server, err = c.Add(netip.AddrPort{}, newPipe(socket)); err != nil {
		return nil, err
	}
	return c, nil
}

// Server returns the address of the server.
func (c *Conn) Server() transport.Addr { return c.server.Addr() }

// Done returns a channel that is closed when the connection has ended. Dial again for a new connection.
func (c *Conn) Done() <-chan struct{} { return c.server.Done() }

// Err returns the reason why the connection ended, nil before.
func (c *Conn) Err() error { return c.server.Err() }

// pipe is one WebSocket.
type pipe struct {
	socket *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
}

func newPipe(socket *websocket.Conn) *pipe {
	socket.SetReadLimit(transport.MaxDatagram)
	p := &pipe{socket: socket}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

var errText = errors.New("websocket: a message of text, where only binary ones are datagrams")

// Write implements queued.Pipe.
func (p *pipe) Write(datagram []byte) error {
	ctx, cancel := context.WithTimeout(p.ctx, writeTimeout)
	defer cancel()
	return p.socket.Write(ctx, websocket.MessageBinary, datagram)
}

// Read implements queued.Pipe.
func (p *pipe) Read(buf []byte) (int, error) {
	kind, message, err := p.socket.Reader(p.ctx)
	if err != nil {
		return 0, err
	}
	if kind != websocket.MessageBinary {
		return 0, errText
	}
	n, err := io.ReadFull(message, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	rest, err := io.Copy(io.Discard, message) // Limited by SetReadLimit.
	if err == nil && rest > 0 {
		err = transport.ErrTooLarge
	}
	return n, err
}

// Close implements queued.Pipe. It does not wait.
func (p *pipe) Close() error {
	p.cancel()
	return p.socket.CloseNow()
}
