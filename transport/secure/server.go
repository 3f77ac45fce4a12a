package secure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/flynn/noise"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/internal/proof"
	"github.com/arche-netcode/netcode/transport"
)

// Config configures a server's end. Key and Admit are required. In other fields zero means the default.
type Config struct {
	Key   Key        // The server's secret, from ReadKey.
	Admit *Admission // Tokens or Open.

	// Sessions is the maximum number of sessions, at most half of them unconfirmed; default 2048. When it is reached, a new client gets
	// the place of the newest session of the host with the most, if that has more than the client's host: of an unconfirmed session,
	// with Open of any.
	Sessions int
	// SessionsPerHost is the maximum number of sessions whose handshakes came from one IPv4 address or IPv6 /64 network. A network around it may have twice as
	// many (/24, /56), a /48 four times. The default is an eighth of Sessions, at least 8; below 0 there is no limit. Loopback addresses are exempt
	// from this limit and from HandshakesPerHost.
	SessionsPerHost int
	// Handshakes is the maximum of handshakes with curve operations per second; default 1000, some 15 % of a core; below 0: no limit.
	// Hosts and networks share it: one that asked for none recently goes first.
	Handshakes        int
	HandshakesPerHost int           // The maximum for one IPv4 address or IPv6 /64, also of Resets; default 64; below 0: no limit.
	UsedTokens        int           // Maximum number of used tokens that are stored until they expire, a sixteenth for one user; default 65536. When it is reached no token is admitted.
	Timeout           time.Duration // A session ends after this time without a datagram; default 30 s.
	RekeyEvery        time.Duration // Maximum time in use of a key; default 2 min, at least twice Timeout.
	Ciphers           Cipher        // Ciphers that the server accepts; default both, AESGCM preferred.

	Now    func() time.Duration // Time since any fixed moment; default: since Listen.
	Wall   func() time.Time     // Calendar time, to check tokens; default time.Now.
	Random io.Reader            // Default: the operating system's random bytes.
	Logger *slog.Logger         // Default slog.Default.
	// KeyLog receives a line with the keys of each session. The keys let anyone read and forge the session: for debugging only.
	KeyLog io.Writer
}

const (
	pendingTime = 5 * time.Second // Maximum age of an unconfirmed session.
	pullLimit   = 1024            // Maximum of datagrams that one Receive handles itself.
	// leastPerHost is the least default of Config.SessionsPerHost: a household plays on a small server too, and a client that comes back
	// from another port is not locked out by its own old session.
	leastPerHost = 8
)

// withDefaults sets the zero fields to their defaults.
func (c Config) withDefaults() Config {
	orInt := func(v *int, other int) {
		if *v == 0 {
			*v = other
		}
	}
	orTime := func(v *time.Duration, other time.Duration) {
		if *v <= 0 {
			*v = other
		}
	}
	orInt(&c.Sessions, 2048)
	orInt(&c.SessionsPerHost, max(leastPerHost, c.Sessions/8))
	orInt(&c.Handshakes, 1000)
	orInt(&c.HandshakesPerHost, 64)
	orInt(&c.UsedTokens, 1<<16)
	orTime(&c.Timeout, 30*time.Second)
	orTime(&c.RekeyEvery, 2*time.Minute)
	c.RekeyEvery = max(c.RekeyEvery, 2*c.Timeout)
	if c.Ciphers == 0 {
		c.Ciphers = AESGCM | ChaCha20Poly1305
	}
	if c.Now == nil {
		c.Now = wallClock()
	}
	if c.Wall == nil {
		c.Wall = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Random = randomOr(c.Random)
	return c
}

// session is the keys that the server shares with a client.
type session struct {
	id          uint32
	serial      uint64         // The number of the session since Listen: the Key of its addresses for the layer above.
	from        transport.Addr // Where the client made its handshake.
	who         identity
	token       tokenID // Zero without a token.
	expires     int64   // Expiry of the token; 0: no token.
	out         sealer
	in          opener
	confirmed   bool // The client has proved that it has the keys.
	heard       time.Duration
	held, waits *hosts.Held[*session] // Among all, and among the unconfirmed ones.
	ephemeral   [32]byte              // Key of the Initiate, to recognise repeats.
	answer      []byte                // The Accept, sent again for repeats.
}

// Server is the server's end. It implements transport.Conn and transport.BatchSender. It receives from and sends to clients with
// a complete handshake only. An address has the number of its session as Key, which no other session ever has, and the IP from which the
// datagram came. The layer above decides whether a client has moved there: it sends to the IP that it trusts (docs/adr/0101). All
// methods are called from one goroutine.
type Server struct {
	inner       transport.Conn
	batch       transport.BatchSender // nil if inner does not implement it.
	config      Config
	gate        gate
	static      noise.DHKey
	cookies     *proof.Cookies
	tokens      *proof.Tokens // For Resets.
	sessions    map[uint32]*session
	serial      uint64                // Of the newest session.
	initiates   map[[32]byte]*session // All sessions by the key of their Initiate.
	bySerial    map[uint64]*session   // Confirmed sessions.
	pending     map[claim]*session
	hosts       *hosts.Table[*session] // All sessions,
	unconfirmed *hosts.Table[*session] // and those of pending.
	limiter     *hosts.Limiter
	swept       time.Duration
	stats       Stats

	scratch []byte // The received datagram.
	out     []byte // Datagrams to send,
	to      []transport.Addr
	runs    [][]byte
	sizes   []int
	which   []int // and the run of the caller that each is.
}

var (
	_ transport.Conn        = (*Server)(nil)
	_ transport.BatchSender = (*Server)(nil)
	_ transport.Prover      = (*Server)(nil)
)

// Listen wraps a server's connection. The Server owns the connection and closes it. The error names the missing field of Config.
func Listen(inner transport.Conn, config Config) (*Server, error) {
	config = config.withDefaults()
	switch {
	case inner == nil:
		return nil, errors.New("secure: Listen: the connection is nil")
	case config.Key == Key{}:
		return nil, errors.New("secure: Listen: Config.Key is zero: make a key file with `netcode key FILE` and set it to secure.ReadKey(FILE)")
	case config.Admit == nil:
		return nil, errors.New("secure: Listen: Config.Admit is nil: set it to secure.Tokens(), or to secure.Open() to let anyone join")
	case config.Sessions < 0 || config.UsedTokens < 0 || config.Ciphers&^(AESGCM|ChaCha20Poly1305) != 0:
		return nil, errors.New("secure: Listen: Sessions, UsedTokens or Ciphers of Config is out of its range")
	}
	admit := *config.Admit
	if !admit.open && len(admit.servers) == 0 {
		if isUnspecified(inner.LocalAddr()) {
			return nil, fmt.Errorf("secure: Listen: the connection is bound to %v, which no token names: set Config.Admit to secure.Tokens(\"HOST:PORT\") with the address that clients use", inner.LocalAddr())
		}
		admit.servers = []string{inner.LocalAddr().String()}
	}
	var secret [48]byte
	if _, err := io.ReadFull(config.Random, secret[:]); err != nil {
		return nil, fmt.Errorf("secure: Config.Random: %w", err)
	}
	s := &Server{
		inner: inner, config: config, static: config.Key.static(), cookies: proof.NewCookies([32]byte(secret[:])),
		gate:     gate{Admission: &admit, key: config.Key, used: map[tokenID]usedToken{}, byUser: map[string]int{}, limit: config.UsedTokens},
		sessions: map[uint32]*session{}, initiates: map[[32]byte]*session{}, bySerial: map[uint64]*session{},
		pending: map[claim]*session{}, hosts: hosts.NewTable[*session](false), unconfirmed: hosts.NewTable[*session](false), limiter: hosts.NewLimiter([16]byte(secret[32:])),
		tokens: newTokens(config.Key, inner.LocalAddr(), admit.servers), scratch: make([]byte, transport.MaxDatagram),
	}
	s.batch, _ = inner.(transport.BatchSender)
	s.gate.warn(config.Logger, inner.LocalAddr())
	return s, nil
}

// isUnspecified reports whether an address has no IP to which a client could send.
func isUnspecified(a transport.Addr) bool {
	return !a.IP.IsValid() || a.IP.Addr().IsUnspecified()
}

// Secure implements transport.Secured: it returns true.
func (s *Server) Secure() bool { return true }

// Waited implements transport.Timed: it asks the inner connection.
func (s *Server) Waited() time.Duration { return transport.WaitedOf(s.inner) }

// Rank implements transport.Ranker: it tells the inner connection.
func (s *Server) Rank(session bool) { transport.RankOf(s.inner, session) }

// LocalAddr implements transport.Conn.
func (s *Server) LocalAddr() transport.Addr { return s.inner.LocalAddr() }

// Close closes the inner connection.
func (s *Server) Close() error { return s.inner.Close() }

// Stats returns the counters since Listen.
func (s *Server) Stats() Stats {
	s.stats.Sessions, s.stats.UsedTokens = len(s.sessions), len(s.gate.used)
	return s.stats
}

// Proved implements transport.Prover with the connect tokens: they become Approval.User and Approval.Data of netcode. ok is false
// where there is no session, and for a client without a token.
func (s *Server) Proved(of transport.Addr) (user string, data []byte, ok bool) {
	if c := s.bySerial[of.Key]; c != nil {
		return c.who.User, c.who.Data, c.who.User != ""
	}
	return "", nil, false
}

// at returns the address of the inner connection for one of the layer above.
func (c *session) at(to transport.Addr) transport.Addr {
	to.Key = c.from.Key
	return to
}

// Send seals and sends a datagram. For an address without a session it only counts.
func (s *Server) Send(to transport.Addr, datagram []byte) error {
	c := s.bySerial[to.Key]
	switch {
	case len(datagram) == 0:
		return nil
	case c == nil:
		s.stats.NoSession++
		return nil
	case len(datagram) > transport.MaxDatagram-Overhead:
		return transport.ErrTooLarge
	}
	s.out = c.out.seal(s.out[:0], kindData, c.id, s.config.Now(), datagram)
	s.stats.Sealed++
	return s.inner.Send(c.at(to), s.out)
}

// SendAll implements transport.BatchSender. It seals each datagram of each run, and passes the runs to the inner connection.
func (s *Server) SendAll(to []transport.Addr, runs [][]byte, sizes []int) (failed int, err error) {
	if s.batch == nil {
		return s.sendEach(to, runs, sizes)
	}
	size := 0
	for i, run := range runs {
		if sizes[i] <= 0 || sizes[i]+Overhead > transport.MaxDatagram {
			return s.sendEach(to, runs, sizes)
		}
		size += len(run) + (len(run)/sizes[i]+1)*Overhead
	}
	if cap(s.out) < size { // Runs point into s.out, so it must not be reallocated.
		s.out = make([]byte, 0, size+size/4)
	}
	s.out, s.to, s.runs, s.sizes, s.which = s.out[:0], s.to[:0], s.runs[:0], s.sizes[:0], s.which[:0]
	now := s.config.Now()
	for i, run := range runs {
		c := s.bySerial[to[i].Key]
		if c == nil {
			s.stats.NoSession += uint64((len(run) + sizes[i] - 1) / sizes[i])
			continue
		}
		s.sealRun(c, to[i], i, run, sizes[i], now)
	}
	if len(s.runs) == 0 {
		return 0, nil
	}
	failed, err = s.batch.SendAll(s.to, s.runs, s.sizes)
	return s.which[failed], err
}

// sealRun seals the datagrams of a run. It splits a run that becomes longer than a datagram may be.
func (s *Server) sealRun(c *session, to transport.Addr, which int, run []byte, size int, now time.Duration) {
	begin := len(s.out)
	flush := func() {
		if len(s.out) > begin {
			s.to, s.runs = append(s.to, c.at(to)), append(s.runs, s.out[begin:len(s.out):len(s.out)])
			s.sizes, s.which = append(s.sizes, size+Overhead), append(s.which, which)
			begin = len(s.out)
		}
	}
	for len(run) > 0 {
		n := min(size, len(run))
		if len(s.out)-begin+n+Overhead > transport.MaxDatagram {
			flush()
		}
		s.out = c.out.seal(s.out, kindData, c.id, now, run[:n])
		s.stats.Sealed++
		run = run[n:]
	}
	flush()
}

// sendEach sends the runs one datagram at a time.
func (s *Server) sendEach(to []transport.Addr, runs [][]byte, sizes []int) (failed int, err error) {
	for i, run := range runs {
		for len(run) > 0 {
			n := len(run)
			if sizes[i] > 0 {
				n = min(n, sizes[i])
			}
			if fault := s.Send(to[i], run[:n]); fault != nil && err == nil {
				failed, err = i, fault
			}
			run = run[n:]
		}
	}
	return failed, err
}

// Receive returns the next datagram of a client with a complete handshake. It handles handshakes itself.
func (s *Server) Receive(buf []byte) (n int, from transport.Addr, err error) {
	now := s.config.Now()
	s.sweep(now)
	for range pullLimit {
		n, from, err := s.inner.Receive(s.scratch)
		if err != nil || n == 0 {
			return 0, transport.Addr{}, err
		}
		packet := s.scratch[:n]
		if packet[0] != kindData {
			s.handshake(from, packet, now)
			continue
		}
		n, name, err := s.open(buf, from, packet, now)
		if n > 0 || err != nil {
			return n, name, err
		}
	}
	return 0, transport.Addr{}, nil
}

// open opens a datagram of a session. The first one confirms the session.
func (s *Server) open(buf []byte, from transport.Addr, packet []byte, now time.Duration) (n int, name transport.Addr, err error) {
	if len(packet) < Overhead {
		s.stats.Malformed++
		return 0, name, nil
	}
	c := s.sessions[binary.BigEndian.Uint32(packet[1:])]
	if c == nil || from.Key != c.from.Key || !c.confirmed && c.from != from {
		s.stats.Unknown++
		if c == nil {
			s.tellReset(from, packet, now)
		}
		return 0, name, nil
	}
	n, result := c.in.open(buf, packet)
	switch result {
	case repeated:
		s.stats.Repeated++
	case tooOld:
		s.stats.TooOld++
	case forged:
		s.stats.Forged++
	case tooLong:
		return 0, name, transport.ErrTooLarge
	}
	if result != fine {
		return 0, name, nil
	}
	c.heard = now
	if !c.confirmed && !s.confirm(c) {
		return 0, name, nil
	}
	s.stats.Opened++
	from.Key = c.serial
	return n, from, nil
}

// confirm makes a session known to the layer above and marks its token as used.
func (s *Server) confirm(c *session) bool {
	if c.expires != 0 && !s.gate.use(c.token, c.who.User, c.expires, s.config.Wall()) {
		s.stats.TokenUsed++
		s.end(c)
		return false
	}
	s.settle(c)
	c.confirmed, c.answer = true, nil
	s.bySerial[c.serial] = c
	s.stats.Confirmed++
	return true
}

// end removes a session.
func (s *Server) end(c *session) {
	delete(s.sessions, c.id)
	delete(s.initiates, c.ephemeral)
	delete(s.bySerial, c.serial)
	s.settle(c)
	s.hosts.Remove(c.held)
}

// settle takes a session out of the unconfirmed ones.
func (s *Server) settle(c *session) {
	if s.pending[c.claim()] == c {
		delete(s.pending, c.claim())
		s.unconfirmed.Remove(c.waits)
	}
}

// sweep removes silent sessions, once a second.
func (s *Server) sweep(now time.Duration) {
	if now-s.swept < time.Second {
		return
	}
	s.swept = now
	for _, c := range s.sessions {
		if !c.confirmed && now-c.heard > pendingTime || now-c.heard > s.config.Timeout {
			s.stats.TimedOut++
			s.end(c)
		}
	}
}
