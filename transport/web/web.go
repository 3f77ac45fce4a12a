//go:build js && wasm

package web

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// Config names a server. At least one URL is required.
type Config struct {
	queued.Config
	WebTransport string // URL of transport/webtransport, such as "https://game.example/netcode"; empty for none.
	WebSocket    string // URL of transport/websocket, such as "wss://game.example/ws"; empty for none.
	// Hashes are the SHA-256 hashes of self-signed certificates, for development: webtransport.NewCertificate returns one.
	// Without hashes a known authority must have signed the certificate.
	Hashes [][]byte
	// Wait is the maximum time for WebTransport before Dial tries WebSocket; default 3 s. Networks that drop UDP never answer.
	Wait time.Duration
}

// Conn is the browser's end of a connection: a transport.Conn with one peer.
type Conn struct {
	*queued.Conn
	server   *queued.Peer
	by       string
	fallback error
}

// errNoURL means that Config names no server.
var errNoURL = errors.New("web: Dial needs Config.WebTransport or Config.WebSocket")

// Dial connects to a server by WebTransport. If that fails or takes longer than Config.Wait, it uses WebSocket. ctx limits
// connecting only. Never call Dial from a function that JavaScript calls. Connect the client to Server.
func Dial(ctx context.Context, config Config) (*Conn, error) {
	if config.Wait <= 0 {
		config.Wait = 3 * time.Second
	}
	c := &Conn{Conn: queued.New(transport.Addr{}, config.Config)}
	pipe, err := c.open(ctx, config)
	if err != nil {
		return nil, err
	}
	if c.server, err = c.Add(netip.AddrPort{}, pipe); err != nil {
		return nil, err
	}
	return c, nil
}

// open opens WebTransport or WebSocket.
func (c *Conn) open(ctx context.Context, config Config) (queued.Pipe, error) {
	c.fallback = errNoURL
	if config.WebTransport != "" {
		limited, cancel := context.WithTimeout(ctx, config.Wait)
		defer cancel()
		s, err := openSession(limited, config.WebTransport, config.Hashes)
		if err == nil {
			c.by, c.fallback = "WebTransport", nil
			return s, nil
		}
		c.fallback = err
	}
	if config.WebSocket == "" {
		return nil, c.fallback
	}
	s, err := openSocket(ctx, config.WebSocket)
	if err != nil {
		return nil, errors.Join(c.fallback, err)
	}
	c.by = "WebSocket"
	return s, nil
}

// By returns the chosen transport: "WebTransport" or "WebSocket".
func (c *Conn) By() string { return c.by }

// Fallback returns the reason why the connection is not WebTransport, nil if it is.
func (c *Conn) Fallback() error { return c.fallback }

// Server returns the address of the server.
func (c *Conn) Server() transport.Addr { return c.server.Addr() }

// Done returns a channel that is closed when the connection has ended. Dial again for a new connection.
func (c *Conn) Done() <-chan struct{} { return c.server.Done() }

// Err returns the reason why the connection ended, nil before.
func (c *Conn) Err() error { return c.server.Err() }
