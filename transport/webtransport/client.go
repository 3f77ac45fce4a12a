package webtransport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/quic-go/webtransport-go"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// Conn is the client's end of a session: a transport.Conn with one peer.
type Conn struct {
	*queued.Conn
	server *queued.Peer
}

// Dial connects to a server at a URL such as "https://game.example:443/netcode". ctx limits connecting only. If tls is nil a
// known authority must have signed the server's certificate. Pin trusts one certificate. Without a port in the URL it is 443. Connect
// the client to Server.
func Dial(ctx context.Context, url string, tls *tls.Config, config queued.Config) (*Conn, error) {
	return dialOver(ctx, &webtransport.Transport{TLSClientConfig: tls}, url, config)
}

// dialOver is Dial through a given transport, which may have its own socket.
func dialOver(ctx context.Context, over *webtransport.Transport, to string, config queued.Config) (*Conn, error) {
	at, err := url.Parse(to)
	if err != nil || at.Scheme != "https" || at.Hostname() == "" {
		return nil, fmt.Errorf("webtransport: Dial(%q): this is no URL of a server, as https://game.example:443/netcode is", to)
	}
	if at.Port() == "" {
		at.Host = net.JoinHostPort(at.Hostname(), "443")
	}
	_, accepted, err := over.Dial(ctx, at.String(), nil)
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) && over.TLSClientConfig == nil {
		return nil, fmt.Errorf("webtransport: no known authority signed the server's certificate: give Dial a tls.Config, as Pin makes: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("webtransport: %w", err)
	}
	c := &Conn{Conn: queued.New(transport.Addr{}, config)}
	if c.server, err = c.Add(netip.AddrPort{}, &session{Session: accepted}); err != nil {
		return nil, err
	}
	return c, nil
}

// Server returns the address of the server.
func (c *Conn) Server() transport.Addr { return c.server.Addr() }

// Done returns a channel that is closed when the session has ended. Dial again for a new session.
func (c *Conn) Done() <-chan struct{} { return c.server.Done() }

// Err returns the reason why the session ended, nil before.
func (c *Conn) Err() error { return c.server.Err() }
