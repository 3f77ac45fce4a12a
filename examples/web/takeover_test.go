package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/transport/websocket"
	"github.com/arche-netcode/netcode/transport/webtransport"
	"github.com/arche-netcode/netcode/wire"
)

// cable is the path to a server. An attacker on it sees each byte of both directions, and sends from the address of whoever uses it.
type cable struct {
	mu   sync.Mutex
	seen [][]byte // Datagrams, or what one read of a stream returned.
	far  net.Conn // The end at the server; of TCP that of the newest connection.
	near *net.UDPConn
	uses map[netip.AddrPort]bool // Everybody who uses it hears all datagrams of the server.
}

func (c *cable) note(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) < 4000 {
		c.seen = append(c.seen, bytes.Clone(b))
	}
}

// tcp returns the address of a cable to a TCP server.
func (c *cable) tcp(t *testing.T, server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	pass := func(to, from net.Conn) {
		var buf [4096]byte
		for {
			n, err := from.Read(buf[:])
			c.note(buf[:n])
			if _, fault := to.Write(buf[:n]); err != nil || fault != nil {
				_, _ = to.Close(), from.Close()
				return
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.far = far
			c.mu.Unlock()
			go pass(far, near)
			go pass(near, far)
		}
	}()
	return l.Addr().String()
}

// udp returns the address of a cable to a UDP server. All who use it come from one address.
func (c *cable) udp(t *testing.T, server string) string {
	far, err := net.Dial("udp", server)
	require.NoError(t, err)
	c.far, c.uses = far, map[netip.AddrPort]bool{}
	c.near, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = c.far.Close(), c.near.Close() })
	go func() {
		var buf [4096]byte
		for {
			n, from, err := c.near.ReadFromUDPAddrPort(buf[:])
			if err != nil {
				return
			}
			c.note(buf[:n])
			c.mu.Lock()
			c.uses[from] = true
			c.mu.Unlock()
			_, _ = c.far.Write(buf[:n])
		}
	}()
	go func() {
		var buf [4096]byte
		for {
			n, err := c.far.Read(buf[:])
			if err != nil {
				return
			}
			c.note(buf[:n])
			c.mu.Lock()
			for to := range c.uses {
				_, _ = c.near.WriteToUDPAddrPort(buf[:n], to)
			}
			c.mu.Unlock()
		}
	}()
	return c.near.LocalAddr().String()
}

// saw reports whether bytes came by in clear, or masked as a browser's WebSocket masks them: the mask is beside them.
func (c *cable) saw(text []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.seen {
		if bytes.Contains(b, text) {
			return true
		}
		for at := range len(b) - min(len(b), len(text)+3) {
			same := true
			for i, x := range text[4:] { // A mask has four bytes.
				same = same && b[at+i]^text[i] == b[at+i+4]^x
			}
			if same {
				return true
			}
		}
	}
	return false
}

// link is a client's end of either transport.
type link interface {
	transport.Conn
	Server() transport.Addr
	Done() <-chan struct{}
}

// wiretap passes the datagrams of a client on and keeps them in clear, as its cable does not.
type wiretap struct {
	link
	clear [][]byte
	heard []byte // The newest long one that came.
}

func (w *wiretap) Receive(buf []byte) (int, transport.Addr, error) {
	n, from, err := w.link.Receive(buf)
	if n > 20 {
		w.heard = bytes.Clone(buf[:n])
	}
	return n, from, err
}

func (w *wiretap) Send(to transport.Addr, b []byte) error {
	if len(w.clear) < 1000 {
		w.clear = append(w.clear, bytes.Clone(b))
	}
	return w.link.Send(to, b)
}

type tally struct{ N int32 }

type knock struct{ N int32 }

// siege is a game that ada plays over a real socket, and an attacker on her path.
type siege struct {
	*testing.T
	now     time.Duration
	loops   []*systems.Runner
	worlds  []*ecs.World
	game    *netcode.Server
	ada     *netcode.Client
	line    *wiretap
	cable   *cable
	dial    func(behind bool) link // Through the cable, or beside it.
	clear   bool                   // The cable is a WebSocket without TLS.
	street  string                 // The encrypted UDP socket beside.
	ears    []transport.Conn       // Of the attacker.
	to      []transport.Addr
	cookies []peer.Cookie // Of each, for his Resumes.
	heard   int
	value   int32
	said    []string
	ids     map[string]netcode.ClientID
}

const (
	ticket  = "ada's ticket, which is good once and nobody knows"
	another = "a ticket of mallory"
)

func (s *siege) clock() time.Duration { return s.now }

func (s *siege) protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[tally](p)
	netcode.Handle(p, func(ctx *netcode.Context, m *knock) {
		s.said = append(s.said, fmt.Sprint(s.game.Identity(ctx.Sender), " ", m.N))
	}, netcode.FromClient())
	return p
}

// run adds the loop of an end.
func (s *siege) run(of func() systems.Group) {
	w := ecs.NewWorld()
	s.worlds = append(s.worlds, &w)
	s.loops = append(s.loops, systems.NewRunner(&w, of(), 60))
}

// join makes a client of the game.
func (s *siege) join(over link, payload string) *netcode.Client {
	c, err := netcode.NewClient(s.protocol(), netcode.Config{SilenceTimeout: time.Hour, HandshakeTimeout: time.Hour})
	require.NoError(s, err)
	s.run(func() systems.Group { return systems.NewClient(c, over, s.clock) })
	require.NoError(s, c.ConnectWith(over.Server(), []byte(payload)))
	return c
}

// newSiege starts the game on a web transport, joined with an encrypted UDP socket, and ada in it.
func newSiege(t *testing.T, listen func(s *siege) transport.Conn, admit *secure.Admission, key secure.Key) *siege {
	s := &siege{T: t, cable: &cable{}, ids: map[string]netcode.ClientID{}}
	web := listen(s)
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	s.street = socket.LocalAddr().String()
	beside, err := secure.Listen(socket, secure.Config{Key: key, Admit: admit, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.game, err = netcode.NewServer(s.protocol(), netcode.Config{SilenceTimeout: time.Hour, HandshakeTimeout: time.Hour, Clients: 3})
	require.NoError(t, err)
	s.game.OnApprove(func(a *netcode.Approval) {
		switch string(a.Payload) {
		case ticket:
			a.Accept("ada")
		case another:
			a.Accept("mallory")
		default:
			a.Refuse("no ticket")
		}
	})
	s.game.OnConnect(func(c netcode.ClientID) { s.ids[s.game.Identity(c)] = c })
	over := transport.Join(web, beside)
	t.Cleanup(func() { require.NoError(t, over.Close()) })
	group := systems.NewServer(s.game, over, s.clock)
	s.run(func() systems.Group { return group })
	build := generic.NewMap2[components.Replicated, tally](s.worlds[0])
	entity, values := build.New(), generic.NewMap1[tally](s.worlds[0])
	group.Add(tick.Update, systems.Func(func(*ecs.World) { s.value++; values.Get(entity).N = s.value }))
	s.line = &wiretap{link: s.dial(true)}
	s.ada = s.join(s.line, ticket)
	return s
}

// until plays under attack until something holds.
func (s *siege) until(text string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); {
		require.True(s, time.Now().Before(end), text)
		s.play(1)
	}
}

// play runs frames. Each takes two milliseconds at least, in which the sockets work. Ada says a new number in each.
func (s *siege) play(frames int) {
	for range frames {
		s.now += time.Second / 60
		for _, loop := range s.loops {
			loop.Step()
		}
		if s.ada.State() == netcode.Connected {
			require.NoError(s, netcode.Send(s.ada, netcode.ToServer(), &knock{s.value}))
		}
		s.attacks()
		time.Sleep(2 * time.Millisecond)
	}
}

// listens adds a connection of the attacker's own.
func (s *siege) listens(over transport.Conn, to transport.Addr) {
	s.ears, s.to, s.cookies = append(s.ears, over), append(s.to, to), append(s.cookies, peer.Cookie{})
}

// attacks sends from each connection of the attacker ada's own datagrams, as if he could read them, but no Resume, which TLS hides. He makes
// those himself, with all that is no secret there: her client and her nonce.
func (s *siege) attacks() {
	var buf [2048]byte
	for i, ear := range s.ears {
		for {
			n, _, err := ear.Receive(buf[:])
			if n == 0 || err != nil {
				break
			}
			switch kind := peer.KindOf(buf[:n]); kind {
			case peer.KindChallenge:
				if c, err := peer.ParseChallenge(buf[:n]); err == nil && c.Nonce == uint64(i) {
					s.cookies[i] = c.Cookie // His address is proved.
				}
			case peer.KindReset, peer.KindRefuse:
			default:
				s.heard++
			}
		}
		if len(s.line.clear) == 0 {
			continue
		}
		hello, err := peer.ParseHello(s.line.clear[0])
		require.NoError(s, err)
		forged := peer.Resume{Client: s.ada.ID(), Nonce: hello.Nonce, Path: uint64(i), Number: uint32(s.value) << 8, Cookie: s.cookies[i]}
		_ = ear.Send(s.to[i], peer.AppendResume(nil, forged, wire.NewChecksum(uint32(s.value), hello.Protocol)))
		for _, old := range [][]byte{s.line.clear[(int(s.value)*7+i)%len(s.line.clear)], s.line.clear[len(s.line.clear)-1]} {
			if peer.KindOf(old) != peer.KindResume {
				_ = ear.Send(s.to[i], old)
			}
		}
	}
	if s.cable.near != nil { // A datagram does not end a QUIC connection, as a byte within TCP does.
		s.cable.mu.Lock()
		old := bytes.Clone(s.cable.seen[int(s.value)*13%len(s.cable.seen)])
		s.cable.mu.Unlock()
		_, _ = s.cable.far.Write(old)
		old[len(old)/2]++
		_, _ = s.cable.far.Write(old)
	}
}

// repeats opens a connection of the attacker and sends all that ada's cable carried.
func (s *siege) repeats(server string) {
	c, err := net.Dial("tcp", server)
	require.NoError(s, err)
	s.Cleanup(func() { _ = c.Close() })
	s.cable.mu.Lock()
	defer s.cable.mu.Unlock()
	for _, b := range s.cable.seen {
		_, _ = c.Write(b)
	}
}

// holds checks that nobody but ada was heard as ada, that she plays on with the world, and that her session is where she is.
func (s *siege) holds() {
	s.Helper()
	require.Zero(s, s.heard, "the attacker reads nothing")
	from, last := s.value, len(s.said)
	query := generic.NewFilter1[tally]()
	s.until("ada plays on", func() bool {
		q, seen := query.Query(s.worlds[1]), int32(0)
		for q.Next() {
			seen = q.Get().N
		}
		return seen > from && len(s.said) > last
	})
	require.Equal(s, netcode.Connected, s.ada.State())
	seen := map[string]bool{}
	for _, one := range s.said {
		require.True(s, strings.HasPrefix(one, "ada "), one)
		require.False(s, seen[one], "%s came twice", one)
		seen[one] = true
	}
	require.Equal(s, s.ada.ID(), s.ids["ada"])
	require.Equal(s, s.clear, s.cable.saw([]byte(ticket)), "her ticket passes in clear")
	require.Equal(s, s.clear, s.cable.saw(s.line.heard), "what she hears passes in clear")
}

// listenSocket serves WebSockets. All of them seem to come from one address, as behind a proxy.
func listenSocket(encrypted bool) func(s *siege) transport.Conn {
	return func(s *siege) transport.Conn {
		server := websocket.NewServer(transport.MustParseAddr("127.0.0.1:443"), websocket.Config{
			Config: queued.Config{Connections: 12, Idle: time.Hour},
			IP:     func(*http.Request) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.9:4000") },
		})
		h := httptest.NewUnstartedServer(server)
		scheme, trust := "ws://", &tls.Config{}
		if encrypted {
			h.StartTLS()
			scheme, trust.RootCAs = "wss://", x509.NewCertPool()
			trust.RootCAs.AddCert(h.Certificate())
		} else {
			h.Start()
		}
		s.Cleanup(h.Close)
		before := http.DefaultClient.Transport // Dial uses it.
		http.DefaultClient.Transport = &http.Transport{TLSClientConfig: trust}
		s.Cleanup(func() { http.DefaultClient.Transport = before })
		at := map[bool]string{true: s.cable.tcp(s.T, h.Listener.Addr().String()), false: h.Listener.Addr().String()}
		s.dial = func(behind bool) link {
			ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
			defer cancel()
			c, err := websocket.Dial(ctx, scheme+at[behind], queued.Config{Idle: time.Hour})
			require.NoError(s, err)
			s.Cleanup(func() { _ = c.Close() })
			return c
		}
		return server
	}
}

// listenSession serves WebTransport.
func listenSession(s *siege) transport.Conn {
	certificate, hash, err := webtransport.NewCertificate(time.Now(), "127.0.0.1")
	require.NoError(s, err)
	server, err := webtransport.Listen("127.0.0.1:0", webtransport.Config{
		Config: queued.Config{Connections: 12, Idle: time.Hour}, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
	})
	require.NoError(s, err)
	at := map[bool]string{true: s.cable.udp(s.T, server.LocalAddr().String()), false: server.LocalAddr().String()}
	s.dial = func(behind bool) link {
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		c, err := webtransport.Dial(ctx, "https://"+at[behind]+"/netcode", webtransport.Pin(hash), queued.Config{Idle: time.Hour})
		require.NoError(s, err)
		s.Cleanup(func() { _ = c.Close() })
		return c
	}
	return server
}

// moments are the times at which the attacker comes.
func moments() map[string]func(s *siege) {
	connects := func(s *siege) {
		for _, behind := range []bool{true, false} {
			c := s.dial(behind)
			s.listens(c, c.Server())
		}
	}
	return map[string]func(s *siege){
		"before ada": connects,
		"while ada plays": func(s *siege) {
			s.plays()
			for range 6 { // The others' places are taken, ada's is not.
				connects(s)
				s.play(10)
			}
		},
		"when ada's connection has ended": func(s *siege) {
			s.plays()
			require.NoError(s, s.line.link.Close())
			connects(s) // From her address.
			s.play(60)
			s.line.link = s.dial(true)
		},
		"with a session of his own": func(s *siege) {
			s.plays()
			own := s.dial(true)
			thief := s.join(own, another)
			s.until("mallory plays", func() bool { return thief.State() == netcode.Connected })
			require.NotEqual(s, s.ada.ID(), thief.ID())
			s.loops = s.loops[:2] // His client lets his connection be, and he uses it for ada's datagrams.
			s.listens(&deaf{own}, own.Server())
		},
		"by guessing tickets": func(s *siege) {
			s.plays()
			guess := s.join(s.dial(true), "ada")
			s.until("he is refused", func() bool { return guess.State() == netcode.Disconnected })
			require.ErrorIs(s, guess.Err(), errs.ReasonNotApproved)
			s.loops = s.loops[:2]
		},
	}
}

// deaf drops what comes: it is for a session of the attacker's own.
type deaf struct{ link }

func (d *deaf) Receive([]byte) (int, transport.Addr, error) { return 0, transport.Addr{}, nil }

// plays runs until ada plays.
func (s *siege) plays() {
	s.Helper()
	s.until("ada connects", func() bool { return s.ada.State() == netcode.Connected && len(s.said) > 10 })
}

// An attacker who is on the path of a WebSocket over TLS or of WebTransport, sends from the victim's address, and opens connections of his
// own there and to an encrypted UDP socket joined with it, reads nothing, forges nothing, and gets neither the victim's session by a Resume
// nor its name, identity or place.
func TestNobodyTakesOverAWebSession(t *testing.T) {
	key := secure.Key{3}
	for name, listen := range map[string]func(s *siege) transport.Conn{"WebSocket": listenSocket(true), "WebTransport": listenSession} {
		for moment, attack := range moments() {
			for _, open := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/open=%t", name, moment, open), func(t *testing.T) {
					admit := secure.Open()
					if !open {
						admit = secure.Tokens()
					}
					s := newSiege(t, listen, admit, key)
					config := secure.ClientConfig{ServerKey: key.Public()}
					if !open {
						config.Token = s.token(key)
					}
					socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
					require.NoError(t, err)
					stranger, err := secure.Dial(socket, config)
					require.NoError(t, err)
					t.Cleanup(func() { _ = stranger.Close() })
					s.listens(stranger, transport.MustParseAddr(s.street))
					attack(s)
					s.plays()
					s.play(60)
					s.holds()
				})
			}
		}
	}
}

// token returns a token of mallory for the encrypted UDP socket.
func (s *siege) token(key secure.Key) []byte {
	b, err := secure.Issue(key, secure.Token{User: "mallory", Servers: []string{s.street}, Expires: time.Now().Add(time.Hour)})
	require.NoError(s, err)
	return b
}

// Bytes within a WebSocket over TLS end the connection and are nobody's. Its session is her own still: she dials anew and has it.
func TestForgedBytesInAWebSocketEndItAlone(t *testing.T) {
	s := newSiege(t, listenSocket(true), secure.Open(), secure.Key{3})
	s.plays()
	s.cable.mu.Lock()
	far, old := s.cable.far, bytes.Join(s.cable.seen, nil)
	s.cable.mu.Unlock()
	_, _ = far.Write(old[:min(len(old), 4096)])
	s.until("the server ends it", func() bool {
		select {
		case <-s.line.Done():
			return true
		default:
			return false
		}
	})
	s.repeats(far.RemoteAddr().String())
	c := s.dial(true)
	s.listens(c, c.Server())
	s.play(60)
	s.line.link = s.dial(true)
	s.holds()
}

// A WebSocket without TLS is in clear: who is on the path reads her ticket and all that a Resume needs. SECURITY.md says so.
func TestAWebSocketWithoutTLSIsInClear(t *testing.T) {
	s := newSiege(t, listenSocket(false), secure.Open(), secure.Key{3})
	s.clear = true
	s.plays()
	s.holds()
}
