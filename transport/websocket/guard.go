package websocket

import (
	"net"
	"net/http"
	"sync"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// Guard returns a listener that bounds the TCP connections without a WebSocket: half a request, a browser that only loads the page,
// nothing at all. Give it to http.Server.Serve. A host has at most Config.PerIP of them, and they end when the server has written nothing
// to them for Config.Idle; see queued.Pending. Leave it out behind a proxy, which is one host and has limits of its own.
func (s *Server) Guard(l net.Listener) net.Listener { return &guard{l, s} }

// Pending returns the counters of the connections of Guard that have no WebSocket.
func (s *Server) Pending() queued.PendingStats { return s.pending.Stats() }

// guard is the listener of Guard.
type guard struct {
	net.Listener
	server *Server
}

// Accept implements net.Listener. It closes connections that are too many.
func (l *guard) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := transport.Addr{}
		if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			from = transport.AddrOf(tcp.AddrPort())
		}
		claim, err := l.server.pending.Enter(from.IP.Addr())
		if err != nil {
			_ = conn.Close()
			continue
		}
		g := &guarded{Conn: conn, claim: claim, server: l.server}
		l.server.guarded.Store(nameOf(conn.LocalAddr(), conn.RemoteAddr().String()), g)
		claim.Ready(func() { _ = g.Close() })
		return g, nil
	}
}

// nameOf names a connection by its ends.
func nameOf(local net.Addr, remote string) string { return local.String() + " " + remote }

// guarded is a connection of the guard.
type guarded struct {
	net.Conn
	claim  *queued.Claim
	server *Server
	once   sync.Once
}

// Write implements net.Conn. What the server writes, such as a page, is work for the connection: its time begins anew.
func (g *guarded) Write(b []byte) (int, error) {
	g.claim.Touch()
	return g.Conn.Write(b)
}

// NetConn returns the connection itself, as tls.Conn does.
func (g *guarded) NetConn() net.Conn { return g.Conn }

// Close implements net.Conn.
func (g *guarded) Close() error {
	g.once.Do(func() {
		g.server.guarded.CompareAndDelete(nameOf(g.LocalAddr(), g.RemoteAddr().String()), g)
		g.claim.Leave()
	})
	return g.Conn.Close()
}

// guardOf returns the guard's connection of a request, nil if there is none.
func (s *Server) guardOf(r *http.Request) *guarded {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return nil
	}
	if g, ok := s.guarded.Load(nameOf(local, r.RemoteAddr)); ok {
		return g.(*guarded)
	}
	return nil
}
