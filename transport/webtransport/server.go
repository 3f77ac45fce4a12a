package webtransport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

const (
	// mostStreams is the maximum number of streams that a client may open: a session needs one, HTTP/3 three in one direction.
	mostStreams = 4
	// idleTimeout ends a QUIC connection that receives nothing.
	idleTimeout = 30 * time.Second
	// streamWindow and connectionWindow are the bytes that streams may hold: they carry headers only, since datagrams are in none.
	streamWindow, connectionWindow = 16 << 10, 64 << 10
	// mostHeader is the maximum number of bytes of a request's header.
	mostHeader = 8 << 10
	// announced is the value of WT_INITIAL_MAX_STREAMS_UNI, _BIDI and WT_INITIAL_MAX_DATA: Safari 26.4 and newer refuses a server
	// without them before it sends CONNECT (webtransport-go issue 355). It limits nothing: the limits are those of QUIC, above.
	announced = 1 << 60
)

// Config configures a Server. TLS is required, other zero fields mean the defaults.
type Config struct {
	queued.Config
	// TLS has the certificate: from an authority that browsers trust, or from NewCertificate.
	TLS *tls.Config
	// Path is the path of the URL; default "/netcode".
	Path string
	// Origins are the hosts of pages that may connect, such as "game.example" or "*.game.example:8080". Pages of the server's own
	// host and port may always connect, and so may clients without an Origin header, which are no browsers.
	Origins []string
}

// Server is a transport.Conn over the WebTransport sessions that it accepts.
type Server struct {
	*queued.Conn
	config  Config
	socket  net.PacketConn
	quic    *quic.Transport
	wt      *webtransport.Server
	pending *queued.Pending
	conns   sync.Map // netip.AddrPort -> *quic.Conn.
}

// claimKey is the key of the *queued.Claim in the context of a QUIC connection.
type claimKey struct{}

// Secure implements transport.Secured: QUIC encrypts.
func (s *Server) Secure() bool { return true }

// Listen binds a UDP socket to an address such as ":443" and accepts sessions.
func Listen(addr string, config Config) (*Server, error) {
	if config.TLS == nil {
		return nil, fmt.Errorf("webtransport: Listen(%s): Config.TLS is needed, with a certificate", addr)
	}
	at, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("webtransport: %w", err)
	}
	socket, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fmt.Errorf("webtransport: %w", err)
	}
	return serve(socket, config)
}

// serve accepts sessions on a socket and takes ownership of it. The socket's addresses are *net.UDPAddr.
func serve(socket net.PacketConn, config Config) (*Server, error) {
	if config.Path == "" {
		config.Path = "/netcode"
	}
	local := transport.AddrOf(socket.LocalAddr().(*net.UDPAddr).AddrPort())
	s := &Server{Conn: queued.New(local, config.Config), config: config, socket: socket, pending: queued.NewPending(config.Config)}
	// Every client proves its address by a Retry (RFC 9000, section 8.1.2) before the handshake costs more than a hash. Then it is
	// counted, before anything is kept.
	s.quic = &quic.Transport{Conn: socket, VerifySourceAddress: func(net.Addr) bool { return true }, ConnContext: s.claim}
	tlsConfig := http3.ConfigureTLSConfig(config.TLS)
	listener, err := s.quic.ListenEarly(tlsConfig, &quic.Config{
		EnableDatagrams: true, EnableStreamResetPartialDelivery: true, MaxIdleTimeout: idleTimeout,
		MaxIncomingStreams: mostStreams, MaxIncomingUniStreams: mostStreams,
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
	})
	if err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("webtransport: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(config.Path, s.upgrade)
	h3 := &http3.Server{Handler: mux, EnableDatagrams: true, TLSConfig: tlsConfig, MaxHeaderBytes: mostHeader}
	s.wt = &webtransport.Server{H3: h3, CheckOrigin: s.mayConnect, Config: &webtransport.Config{
		MaxIncomingStreams: announced, MaxIncomingUniStreams: announced, MaxIncomingData: announced,
	}}
	webtransport.ConfigureHTTP3Server(h3)
	go s.accept(listener)
	return s, nil
}

// claim counts a QUIC connection whose address is proved, until it has ended.
func (s *Server) claim(ctx context.Context, client *quic.ClientInfo) (context.Context, error) {
	claim, err := s.pending.Enter(ipOf(client.RemoteAddr).Addr())
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, claim.Leave)
	return context.WithValue(ctx, claimKey{}, claim), nil
}

// ipOf returns the IP address and port of a UDP address, zero for another one.
func ipOf(addr net.Addr) netip.AddrPort {
	if udp, ok := addr.(*net.UDPAddr); ok {
		return transport.AddrOf(udp.AddrPort()).IP
	}
	return netip.AddrPort{}
}

// accept accepts QUIC connections until the listener is closed.
func (s *Server) accept(listener *quic.EarlyListener) {
	for {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			return
		}
		from := ipOf(conn.RemoteAddr())
		s.conns.Store(from, conn)
		claimOf(conn.Context()).Ready(func() {
			_ = conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeExcessiveLoad), "no session")
		})
		go func() {
			defer s.conns.CompareAndDelete(from, conn)
			_ = s.wt.ServeQUICConn(conn) // It returns when the connection has ended.
		}()
	}
}

// claimOf returns the claim of a QUIC connection.
func claimOf(ctx context.Context) *queued.Claim { return ctx.Value(claimKey{}).(*queued.Claim) }

// upgrade turns a request into a session, if there is a place for it.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) {
	from, _ := r.Context().Value(http3.RemoteAddrContextKey).(net.Addr)
	ip := ipOf(from)
	if s.Full(ip.Addr()) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	accepted, err := s.wt.Upgrade(w, r)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	claim := claimOf(r.Context())
	claim.Begin()
	defer claim.End()
	peer, err := s.Add(ip, &session{Session: accepted})
	if err != nil {
		return // Add has closed it.
	}
	<-peer.Done()
}

// mayConnect reports whether the origin of a request may connect.
func (s *Server) mayConnect(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	page, err := url.Parse(origin)
	if err != nil {
		return false
	}
	if page.Host == r.Host {
		return true
	}
	for _, pattern := range s.config.Origins {
		if ok, err := path.Match(pattern, page.Host); ok && err == nil {
			return true
		}
	}
	return false
}

// Rate returns the bytes per second that QUIC's congestion control allows to a peer at present: its window per round trip. ok is
// false if there is no such peer. If more is sent, newer datagrams replace older ones.
func (s *Server) Rate(of transport.Addr) (bytesPerSecond int, ok bool) {
	conn, ok := s.conns.Load(of.IP)
	if !ok {
		return 0, false
	}
	stats := conn.(*quic.Conn).ConnectionStats()
	round := max(stats.SmoothedRTT, time.Millisecond)
	return int(float64(stats.CongestionWindow) / round.Seconds()), true
}

// Refused returns the number of QUIC connections and sessions that were refused, because of Config.Connections, Config.PerIP or too many
// handshakes.
func (s *Server) Refused() uint64 { return s.Stats().Refused + s.pending.Stats().Refused }

// Pending returns the counters of QUIC connections without a session.
func (s *Server) Pending() queued.PendingStats { return s.pending.Stats() }

// Close ends all sessions and closes the socket.
func (s *Server) Close() error {
	err := s.Conn.Close()
	_ = s.wt.Close()
	_ = s.quic.Close()
	if fault := s.socket.Close(); err == nil && !errors.Is(fault, net.ErrClosed) {
		err = fault
	}
	return err
}
