package handshake

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// oneSession is a server with one session. The embedded interface is nil: any call that keeps or changes something panics.
type oneSession struct {
	Sessions
	seat Session
}

func (s oneSession) At(address transport.Addr) Session {
	if address == s.seat.Address {
		return s.seat
	}
	return Session{}
}

func (s oneSession) Proved(transport.Addr) string { return "" }

func (s oneSession) Of(client wire.ClientID) Session {
	if client == s.seat.Client {
		return s.seat
	}
	return Session{}
}

func (s oneSession) Local(wire.ClientID) Phase { return Nobody }

// Before an address has proved itself a Door keeps nothing and changes no session, and no answer is longer than its question. Each
// datagram is counted.
func TestADoorKeepsNothingOfUnprovenAddresses(t *testing.T) {
	const protocol = 7
	random := rand.New(rand.NewPCG(1, 2))
	session := Session{Phase: Connected, Client: 5, Nonce: 11, Epoch: 13, Protocol: protocol, Address: transport.AddrOf(netip.MustParseAddrPort("198.51.100.1:1"))}
	var out outbox.Buffer
	var full uint64
	var stats peer.HandshakeStats
	r := report.New(nil)
	d, err := NewDoor(Config{
		Clients: 4, Timeout: time.Second, Random: rand.NewChaCha8([32]byte{}), Known: []Protocol{{Hash: protocol}}, Canon: &canon.Description{},
		Limits: admission.Limits{HandshakesPerAddress: 16, HandshakesPerNetwork: 64},
	}, oneSession{seat: session}, &tick.Frame{}, Outbox{Buffer: &out, Full: &full, Stats: &stats}, &r)
	require.NoError(t, err)
	fromClient, _ := Checksums(session.Epoch, protocol)
	answered := map[peer.Kind]int{}
	for range 20_000 {
		from := transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(random.Uint32()), byte(random.Uint32())}), 9))
		if random.IntN(8) == 0 {
			from = session.Address
		}
		var cookie peer.Cookie
		if random.IntN(2) == 0 {
			cookie[random.IntN(len(cookie))] = 1
		}
		nonce, client, number := 10+random.Uint64N(3), wire.ClientID(4+random.Uint32N(3)), uint32(0) // A Resume of 0 is an old one.
		if from != session.Address {
			number = random.Uint32N(3)
		}
		var question []byte
		switch random.IntN(3) {
		case 0:
			question = peer.AppendHello(nil, peer.Hello{Version: peer.Version + uint16(random.IntN(2)), Nonce: nonce, Protocol: random.Uint64N(9), Cookie: cookie})
		case 1:
			question = peer.AppendJoin(nil, peer.Join{Nonce: nonce, Cookie: cookie, Payload: make([]byte, random.IntN(99))}, fromClient)
		default:
			question = peer.AppendResume(nil, peer.Resume{Client: client, Nonce: nonce, Path: random.Uint64(), Number: number, Cookie: cookie}, fromClient)
		}
		switch random.IntN(4) {
		case 0:
			question = question[:1+random.IntN(len(question))]
		case 1:
			question[1+random.IntN(len(question)-1)] ^= 1 << random.IntN(8)
		}
		before := stats
		d.Receive(peer.KindOf(question), from, question)
		require.NotEqual(t, before, stats, "%x is not counted", question)
		answers := 0
		out.Drain(func(to transport.Addr, answer []byte) {
			answers++
			answered[peer.KindOf(answer)]++
			require.Equal(t, from, to)
			require.LessOrEqual(t, len(answer), len(question))
		})
		require.LessOrEqual(t, answers, 1)
	}
	require.Zero(t, full)
	require.Empty(t, d.decisions.Waiting)
	require.Nil(t, d.past.Find(11, 0))
	require.Equal(t, admission.NewPlayers(), d.Players)
	for _, kind := range []peer.Kind{peer.KindChallenge, peer.KindReset, peer.KindRefuse} {
		require.NotZero(t, answered[kind], "kind %v", kind)
	}
	require.Len(t, answered, 3, "an Accept or a Welcome needs a proved address")
}
