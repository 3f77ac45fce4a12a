package systems_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/peer"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
)

// air is a network on which everybody at an address hears all that is sent to it, and a wiretap records each datagram.
type air struct {
	ends     map[transport.Addr][]*antenna
	recorded []datagram
	race     string // An attacker's address, whose copies of what the server is sent arrive first.
}

type datagram struct {
	from, to transport.Addr
	bytes    []byte
}

// antenna is a connection at an address of the air, which a test may change as a NAT does.
type antenna struct {
	air    *air
	at     transport.Addr
	local  transport.Addr // As LocalAddr returns it.
	queue  []datagram
	silent bool // Nothing leaves it, and nothing comes.
}

func newAir() *air { return &air{ends: map[transport.Addr][]*antenna{}} }

func (a *air) listen(at string) *antenna {
	c := &antenna{air: a, local: transport.MustParseAddr(at)}
	c.move(at)
	return c
}

// move changes the address of an antenna.
func (c *antenna) move(to string) {
	rest := c.air.ends[c.at][:0]
	for _, one := range c.air.ends[c.at] {
		if one != c {
			rest = append(rest, one)
		}
	}
	c.air.ends[c.at], c.at, c.queue = rest, transport.MustParseAddr(to), nil
	c.air.ends[c.at] = append(c.air.ends[c.at], c)
}

func (a *air) deliver(d datagram) {
	for _, end := range a.ends[d.to] {
		if !end.silent && len(end.queue) < 4096 {
			end.queue = append(end.queue, d)
		}
	}
}

func (c *antenna) Send(to transport.Addr, b []byte) error {
	if c.silent {
		return nil
	}
	d := datagram{c.at, to, bytes.Clone(b)}
	c.air.recorded = append(c.air.recorded, d)
	if c.air.race != "" && to == transport.MustParseAddr(siegeServer) {
		c.air.deliver(datagram{transport.MustParseAddr(c.air.race), to, d.bytes})
	}
	c.air.deliver(d)
	return nil
}

func (c *antenna) Receive(buf []byte) (int, transport.Addr, error) {
	if c.silent || len(c.queue) == 0 {
		return 0, transport.Addr{}, nil
	}
	d := c.queue[0]
	c.queue = c.queue[1:]
	return copy(buf, d.bytes), d.from, nil
}

func (c *antenna) LocalAddr() transport.Addr { return c.local }
func (c *antenna) Close() error              { return nil }

// siege is a game that a victim plays over an encrypted connection, and an attacker who sees each datagram and sends from any address.
type siege struct {
	rig
	t        *testing.T
	air      *air
	key      secure.Key
	end      *secure.Server
	game     *netcode.Server
	victim   *netcode.Client
	line     *antenna // Of the victim.
	far      *secure.Client
	spy      *spy
	said     []string // By whom each ping was, by the server's Identity, and its number.
	ears     []*secure.Client
	heard    int      // Datagrams that the attacker opened.
	clear    [][]byte // The victim's datagrams before they were sealed, which the attacker cannot know.
	token    func(user string) []byte
	open     bool
	dialled  int
	value    int32
	identity map[string]netcode.ClientID
}

const (
	siegeHome   = "198.51.100.7:4000"
	siegeStreet = "203.0.113.9:5000"
	siegeServer = "192.0.2.1:9000"
	siegePlain  = "192.0.2.1:9001"
)

// newSiege makes a game in which ada plays. wrap puts the encrypted connection into others.
func newSiege(t *testing.T, open bool, wrap func(a *air, end *secure.Server) transport.Conn) *siege {
	s := &siege{rig: rig{ends: newEnds()}, t: t, air: newAir(), key: secure.Key{3}, open: open, identity: map[string]netcode.ClientID{}}
	start := time.Unix(1_800_000_000, 0)
	wall := func() time.Time { return start.Add(s.now) }
	admit := secure.Tokens(siegeServer)
	if open {
		admit = secure.Open()
	}
	var err error
	s.end, err = secure.Listen(s.air.listen(siegeServer), secure.Config{Key: s.key, Admit: admit, Now: s.clock, Wall: wall, Timeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler), Random: rand.NewChaCha8([32]byte{1})})
	require.NoError(t, err)
	s.token = func(user string) []byte {
		b, err := secure.Issue(s.key, secure.Token{User: user, Servers: []string{siegeServer}, Issued: wall(), Expires: wall().Add(time.Hour)})
		require.NoError(t, err)
		return b
	}
	protocol := func() *netcode.Protocol {
		p := netcode.NewProtocol()
		netcode.Replicate[counter](p)
		netcode.Handle(p, func(ctx *netcode.Context, m *knock) {
			s.said = append(s.said, fmt.Sprint(s.game.Identity(ctx.Sender), " ", m.N))
		}, netcode.FromClient())
		return p
	}
	s.game, err = netcode.NewServer(protocol(), netcode.Config{SilenceTimeout: time.Minute, Plain: true})
	require.NoError(t, err)
	s.game.OnApprove(func(a *netcode.Approval) {
		who := a.User
		if open {
			who = "open " + string(a.Payload) // A game with logins of its own.
		}
		a.Accept(who)
	})
	s.game.OnConnect(func(c netcode.ClientID) { s.identity[s.game.Identity(c)] = c })
	s.victim, err = netcode.NewClient(protocol(), netcode.Config{SilenceTimeout: time.Minute})
	require.NoError(t, err)
	s.line = s.air.listen(siegeHome)
	s.far = s.dial(s.line, "ada")
	s.spy = &spy{s.far, s}
	s.server = systems.NewServer(s.game, wrap(s.air, s.end), s.clock)
	s.client = systems.NewClient(s.victim, s.spy, s.clock)
	s.run(s.world(), s.server)
	s.run(s.world(), s.client)
	build := generic.NewMap2[components.Replicated, counter](s.worlds[0])
	entity, value := build.New(), generic.NewMap1[counter](s.worlds[0])
	s.server.Add(tick.Update, systems.Func(func(*ecs.World) { s.value++; value.Get(entity).N = s.value }))
	require.NoError(t, s.victim.ConnectWith(transport.MustParseAddr(siegeServer), []byte("ada")))
	return s
}

// dial makes a client of the encrypted connection, of a user or with Open of nobody.
func (s *siege) dial(over transport.Conn, user string) *secure.Client {
	s.dialled++
	config := secure.ClientConfig{Now: s.clock, Wall: func() time.Time { return time.Unix(1_800_000_000, 0).Add(s.now) }, Random: rand.NewChaCha8([32]byte{byte(s.dialled), 9})}
	if s.open {
		config.ServerKey = s.key.Public()
	} else {
		config.Token = s.token(user)
	}
	c, err := secure.Dial(over, config)
	require.NoError(s.t, err)
	return c
}

// spy passes the victim's datagrams on and keeps copies.
type spy struct {
	*secure.Client
	siege *siege
}

func (s *spy) Send(to transport.Addr, b []byte) error {
	if len(s.siege.clear) < 1000 {
		s.siege.clear = append(s.siege.clear, bytes.Clone(b))
	}
	return s.Client.Send(to, b)
}

// listens makes the attacker complete a handshake of his own from an address, as mallory.
func (s *siege) listens(at string) {
	s.ears = append(s.ears, s.dial(s.air.listen(at), fmt.Sprint("mallory ", len(s.ears))))
}

// attacks is one step of the attacker, from each address where he is. He keeps his sessions, reads what comes, and repeats recorded
// datagrams from there. Even the victim's own datagrams, sealed with his keys, are of no use to him: with Open but a Resume, which only
// its client knows.
func (s *siege) attacks() {
	var buf [2048]byte
	for i, ear := range s.ears {
		require.NoError(s.t, ear.Send(transport.MustParseAddr(siegeServer), []byte("a stranger")))
		for {
			n, _, err := ear.Receive(buf[:])
			if n == 0 || err != nil { // His token is used, if the server ended his session.
				break
			}
			if kind := peer.KindOf(buf[:n]); kind != peer.KindChallenge && kind != peer.KindReset && kind != peer.KindRefuse {
				s.heard++
			}
		}
		if ear.Open() && len(s.clear) > 0 {
			old := s.clear[(int(s.value)*7+i)%len(s.clear)]
			for _, b := range [][]byte{old, s.clear[len(s.clear)-1]} {
				if kind := peer.KindOf(b); kind != peer.KindResume || !s.open {
					require.NoError(s.t, ear.Send(transport.MustParseAddr(siegeServer), b))
					s.air.deliver(datagram{s.line.at, transport.MustParseAddr(siegePlain), b})
				}
			}
		}
	}
	for i := range 2 {
		if n := len(s.air.recorded); n > 0 {
			d := s.air.recorded[(int(s.value)*13+i*n/2)%n]
			s.air.deliver(datagram{d.from, d.to, d.bytes})
			s.air.deliver(datagram{transport.MustParseAddr(siegeStreet), d.to, d.bytes})
		}
	}
}

// play runs the game under attack. The victim sends a message each frame.
func (s *siege) play(d time.Duration) {
	for end := s.now + d; s.now < end; s.step() {
		s.attacks()
		if s.victim.State() == netcode.Connected {
			require.NoError(s.t, netcode.Send(s.victim, netcode.ToServer(), &knock{s.value}))
		}
	}
}

// holds checks that the attacker read nothing and was nobody, and that the victim plays.
func (s *siege) holds() {
	s.t.Helper()
	require.Zero(s.t, s.heard, "the attacker reads nothing")
	who := "ada"
	if s.open {
		who = "open ada"
	}
	from, last := s.value, len(s.said)
	s.play(3 * time.Second)
	require.Zero(s.t, s.heard, "the attacker reads nothing")
	require.Equal(s.t, netcode.Connected, s.victim.State())
	require.Greater(s.t, len(s.said), last, "the victim is heard")
	seen := map[string]bool{}
	for _, one := range s.said {
		require.True(s.t, strings.HasPrefix(one, who+" "), one)
		require.False(s.t, seen[one], "%s came twice", one)
		seen[one] = true
	}
	filter := generic.NewFilter1[counter]()
	query := filter.Query(s.worlds[1])
	require.True(s.t, query.Next())
	require.Greater(s.t, query.Get().N, from, "the victim sees the game")
	query.Close()
	require.Len(s.t, s.identity, 1)
}

// An attacker who sees each datagram, sends from any address, the victim's too, and completes handshakes of his own, takes over no
// session: he reads nothing, forges nothing, and is never handled with the victim's identity. He once inherited the session of whose
// address he sent from.
func TestNobodyTakesOverASecureSession(t *testing.T) {
	moments := map[string]func(s *siege){
		"at the victim's address from the start": func(s *siege) {
			s.listens(siegeHome)
			s.play(3 * time.Second)
		},
		"at the victim's address while it plays": func(s *siege) {
			s.play(time.Second)
			s.listens(siegeHome)
			s.play(2 * time.Second)
			s.listens(siegeHome)
			s.play(2 * time.Second)
		},
		"where the victim was before it moved": func(s *siege) {
			s.play(time.Second)
			s.line.move(siegeStreet)
			s.listens(siegeHome)
			s.play(2 * time.Second)
		},
		"where the victim moves to, and back": func(s *siege) {
			s.play(time.Second)
			s.listens(siegeStreet)
			s.play(time.Second)
			s.line.move(siegeStreet)
			s.play(2 * time.Second)
			s.listens(siegeHome)
			s.line.move(siegeHome)
			s.play(2 * time.Second)
		},
		"while the victim is silent, and its keys are lost": func(s *siege) {
			s.play(time.Second)
			s.line.silent = true
			s.play(6 * time.Second)
			s.listens(siegeHome)
			s.play(2 * time.Second)
			s.line.silent = false
			if !s.open {
				require.NoError(s.t, s.far.SetToken(s.token("ada")))
			}
			s.play(3 * time.Second)
			require.Greater(s.t, s.far.Stats().Sessions, uint64(1))
		},
		"whose copies arrive first, from his own address": func(s *siege) {
			s.play(time.Second)
			s.listens(siegeStreet)
			s.air.race = siegeStreet
			s.play(3 * time.Second)
		},
		"between two handshakes of the victim": func(s *siege) {
			s.play(time.Second)
			s.listens(siegeHome)
			s.play(time.Second)
			s.far = s.dial(s.line, "ada") // It loses its keys, and makes a handshake while its session is there.
			s.spy.Client = s.far
			s.play(3 * time.Second)
		},
	}
	wraps := map[string]func(a *air, end *secure.Server) transport.Conn{
		"alone": func(_ *air, end *secure.Server) transport.Conn { return end },
		"beside a plain one": func(a *air, end *secure.Server) transport.Conn {
			return transport.Join(a.listen(siegePlain), end)
		},
	}
	for moment, attack := range moments {
		for name, wrap := range wraps {
			for _, open := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/open=%t", moment, name, open), func(t *testing.T) {
					s := newSiege(t, open, wrap)
					attack(s)
					s.holds()
				})
			}
		}
	}
}
