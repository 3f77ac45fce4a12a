package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

type (
	driftSwapped struct{ Y, X float32 }
	driftWidened struct{ X, Y float64 }
	driftMore    struct{ X, Y, Z float32 }
	driftBounded struct {
		X, Y float32 `net:"min=-1,max=1,step=0.1"`
	}
)

// A client whose protocol differs in the order of fields, in a type, in a field or component more or fewer, in a quantisation or a name is refused
// at the handshake, before a packet of a session. Another order of registration is no difference.
func TestCase13SchemaDrift(t *testing.T) {
	position13 := netcode.Named("position")
	drifts := map[string]func(p *netcode.Protocol){
		"fields in another order": func(p *netcode.Protocol) {
			netcode.Replicate[driftSwapped](p, position13)
			netcode.Replicate[health](p)
		},
		"a wider type": func(p *netcode.Protocol) {
			netcode.Replicate[driftWidened](p, position13)
			netcode.Replicate[health](p)
		},
		"a field more": func(p *netcode.Protocol) { netcode.Replicate[driftMore](p, position13); netcode.Replicate[health](p) },
		"another quantisation": func(p *netcode.Protocol) {
			netcode.Replicate[driftBounded](p, position13)
			netcode.Replicate[health](p)
		},
		"another name": func(p *netcode.Protocol) {
			netcode.Replicate[position](p, netcode.Named("place"))
			netcode.Replicate[health](p)
		},
		"a component fewer": func(p *netcode.Protocol) { netcode.Replicate[position](p) },
		"a component more": func(p *netcode.Protocol) {
			netcode.Replicate[position](p)
			netcode.Replicate[health](p)
			netcode.Replicate[chat](p)
		},
		"a message more": func(p *netcode.Protocol) {
			netcode.Replicate[position](p)
			netcode.Replicate[health](p)
			netcode.Handle[chat](p, nil)
		},
		"":                         func(p *netcode.Protocol) { netcode.Replicate[health](p); netcode.Replicate[position](p) },
		"nothing, positions first": func(p *netcode.Protocol) { netcode.Replicate[position](p); netcode.Replicate[health](p) },
	}
	refused := 0
	for name, register := range drifts {
		t.Run(name, func(t *testing.T) {
			r := rig.New(t, protocol(), netcode.Config{})
			r.Spawn(3)
			packets := 0
			r.Tamper = func(from, _ transport.Addr, b []byte) []byte {
				if from == r.Server.Conn.LocalAddr() && peer.KindOf(b) == peer.KindPacket {
					packets++
				}
				return b
			}
			p := netcode.NewProtocol()
			register(p)
			c := r.Join(p, netcode.Config{})
			r.Run(time.Second)
			if p.Hash() == protocol().Hash() {
				require.Contains(t, []string{"", "nothing, positions first"}, name)
				require.Equal(t, netcode.Connected, c.State())
				require.Positive(t, packets)
				return
			}
			require.Equal(t, netcode.Disconnected, c.State())
			require.Equal(t, errs.ReasonWrongProtocol, c.Err().Reason)
			require.Zero(t, packets, "no packet of a session was sent")
			require.EqualValues(t, 1, r.Server.Stats().RefusedProtocol)
			refused++
		})
	}
	require.GreaterOrEqual(t, refused, 8)
	casebook.Injected(t, refused, "protocols that differ")
}

// Cookies of another address or nonce, with each bit turned over, after their time, of a server before a restart, and of another protocol: none
// makes a session. The same cookie again gets the same answer, and one session.
func TestCase39CookieAbuse(t *testing.T) {
	p := protocol()
	s, list := proved(t, p, netcode.Config{}, 2)
	a, b := list[0], list[1]
	as := applicants{a.at: a, b.at: b}
	try := func(end *netcode.Server, from *applicant, hello peer.Hello) (accepted bool) {
		from.accept = peer.Accept{}
		steps.OfServer(end).Receive(from.at, peer.AppendHello(nil, hello))
		cookie := from.cookie
		as.hear(end, nobody)
		from.cookie = cookie
		return from.accept.Epoch != 0
	}
	good := peer.Hello{Version: peer.Version, Nonce: a.nonce, Protocol: p.Hash(), Cookie: a.cookie}
	require.True(t, try(s, a, good))
	count := 0
	bad := func(end *netcode.Server, from *applicant, change func(h *peer.Hello)) {
		t.Helper()
		h := good
		change(&h)
		require.False(t, try(end, from, h))
		count++
	}
	bad(s, b, func(*peer.Hello) {})
	bad(s, a, func(h *peer.Hello) { h.Nonce++ })
	bad(s, a, func(h *peer.Hello) { h.Protocol++ })
	bad(s, a, func(h *peer.Hello) { h.Version++ })
	for bit := range 8 * len(good.Cookie) {
		bad(s, a, func(h *peer.Hello) { h.Cookie[bit/8] ^= 1 << (bit % 8) })
	}
	fresh, err := netcode.NewServer(p, netcode.Config{Random: rig.Random(2)})
	require.NoError(t, err)
	steps.OfServer(fresh).BeginFrame(5 * time.Second)
	bad(fresh, a, func(*peer.Hello) {})
	require.True(t, try(s, a, good), "it is still good")
	join := peer.AppendJoin(nil, peer.Join{Nonce: a.nonce, Cookie: a.cookie}, wire.NewChecksum(a.accept.Epoch, p.Hash()))
	for bit := range 8 * (len(join) - wire.ChecksumSize) {
		damaged := append([]byte(nil), join...)
		damaged[bit/8] ^= 1 << (bit % 8)
		steps.OfServer(s).Receive(a.at, damaged)
		steps.OfServer(s).Receive(b.at, join)
		as.hear(s, nobody)
		count += 2
	}
	require.Zero(t, s.Stats().Connected)
	steps.OfServer(s).BeginFrame(25 * time.Second)
	bad(s, a, func(*peer.Hello) {}) // after its time
	steps.OfServer(s).Receive(a.at, join)
	require.Zero(t, s.Stats().Connected)
	require.Zero(t, fresh.Stats().Connected)
	casebook.Injected(t, count, "cookies that are not good here")
}
