package netcode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
)

// joinWith adds a client that connects with a payload. It does not wait.
func (r *rig) joinWith(p *netcode.Protocol, config netcode.Config, payload string) *clientEnd {
	r.t.Helper()
	config.Random = random(uint64(r.now/frameTime)<<4 + uint64(len(r.clients))) // Another one for each attempt of a player.
	c := r.join(p, config)
	require.NoError(r.t, c.ConnectWith(r.server.conn.LocalAddr(), []byte(payload)))
	c.log = nil
	return c
}

// byPayload accepts every client with its payload as its identity.
func byPayload(a *netcode.Approval) { a.Accept(string(a.Payload)) }

func TestOnApproveDecidesWhoGetsAPlace(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	var asked []string
	r.server.OnApprove(func(a *netcode.Approval) {
		require.Empty(t, r.server.log, "before a place is taken")
		asked = append(asked, fmt.Sprintf("%v %s", a.Address, a.Payload))
		require.Empty(t, a.User)
		require.True(t, a.Open())
		if !strings.HasPrefix(string(a.Payload), "key ") {
			require.True(t, a.Refuse("no key"))
			require.False(t, a.Accept("x"), "decided already")
			return
		}
		require.True(t, a.Accept(string(a.Payload[4:])))
		require.False(t, a.Refuse("late"), "decided already")
		require.False(t, a.Open())
	})
	bad := r.joinWith(p, netcode.Config{}, "nothing")
	r.until(func() bool { return bad.Err() != nil })
	require.ErrorIs(t, bad.Err(), peer.ReasonNotApproved)
	require.Equal(t, "no key", bad.Err().Detail)
	require.EqualValues(t, 1, r.server.Stats().NotApproved)
	none := r.join(p, netcode.Config{})
	r.until(func() bool { return none.Err() != nil })
	require.ErrorIs(t, none.Err(), peer.ReasonNotApproved)

	good := r.joinWith(p, netcode.Config{}, "key anna")
	r.until(func() bool { return good.State() == netcode.Connected })
	require.Equal(t, "anna", r.server.Identity(good.ID()))
	require.Equal(t, []string{"connect 1"}, r.server.log)
	require.False(t, r.server.Returned(good.ID()))
	r.run(time.Second)
	require.Equal(t, []string{
		fmt.Sprintf("%v nothing", bad.conn.LocalAddr()), fmt.Sprintf("%v ", none.conn.LocalAddr()), fmt.Sprintf("%v key anna", good.conn.LocalAddr()),
	}, asked, "once for each attempt")

	r.server.OnApprove(nil)
	all := r.joinWith(p, netcode.Config{}, "nothing")
	r.until(func() bool { return all.State() == netcode.Connected })
	require.Empty(t, r.server.Identity(all.ID()))
}

func TestPayloadHasALimit(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	longest := strings.Repeat("x", netcode.MaxPayload)
	r.server.OnApprove(func(a *netcode.Approval) {
		require.Equal(t, longest, string(a.Payload))
		a.Accept("")
	})
	largest := 0
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == r.server.conn.LocalAddr() && peer.KindOf(packet) == peer.KindJoin {
			largest = max(largest, len(packet))
		}
		return packet
	}
	c := r.joinWith(p, netcode.Config{}, longest)
	r.until(func() bool { return c.State() == netcode.Connected })
	require.Equal(t, 429, largest, "a Join fits into a path of 576 bytes")
	require.ErrorContains(t, c.ConnectWith(r.server.conn.LocalAddr(), make([]byte, netcode.MaxPayload+1)), "at most 400")
	require.Equal(t, netcode.Connected, c.State(), "nothing was done")
}

// A decision that is postponed costs the client no place. It may be given in any later frame.
func TestDecisionsCanBePostponed(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{Clients: 2})
	pending := map[string]*netcode.Approval{}
	r.server.OnApprove(func(a *netcode.Approval) {
		require.NotContains(t, pending, string(a.Payload), "asked once")
		pending[string(a.Payload)] = a
	})
	anna, bert := r.joinWith(p, netcode.Config{}, "anna"), r.joinWith(p, netcode.Config{}, "bert")
	r.run(2 * time.Second)
	require.Len(t, pending, 2)
	require.Equal(t, netcode.Connecting, anna.State())
	third := r.joinWith(p, netcode.Config{}, "carl")
	r.run(time.Second)
	require.Len(t, pending, 2, "at most Clients are asked about")
	require.Positive(t, r.server.Stats().ApprovalsFull)

	require.True(t, pending["anna"].Accept("anna"))
	require.True(t, pending["bert"].Refuse("wrong password"))
	r.run(200 * time.Millisecond)
	require.Equal(t, netcode.Connected, anna.State())
	require.ErrorIs(t, bert.Err(), peer.ReasonNotApproved)
	require.Equal(t, "wrong password", bert.Err().Detail)
	r.run(200 * time.Millisecond)
	require.Contains(t, pending, "carl")
	require.Equal(t, netcode.Connecting, third.State())
}

// A decision that does not come refuses the client when the server's time is over; where the client's own is over first, its error says why.
func TestDecisionsTimeOut(t *testing.T) {
	p := protocol()
	for _, test := range []struct {
		name   string
		server netcode.Config
		client netcode.Config
		want   peer.Reason
		detail string
	}{
		{"the server's time", netcode.Config{HandshakeTimeout: time.Second}, netcode.Config{}, peer.ReasonNotApproved, "did not decide in 1s"},
		{"the client's time", netcode.Config{HandshakeTimeout: time.Minute}, netcode.Config{}, peer.ReasonPending, "had not decided in 5s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, p, test.server)
			var asked *netcode.Approval
			r.server.OnApprove(func(a *netcode.Approval) { asked = a })
			c := r.joinWith(p, test.client, "anna")
			r.until(func() bool { return c.Err() != nil })
			require.ErrorIs(t, c.Err(), test.want)
			require.Contains(t, c.Err().Detail, test.detail)
			r.run(time.Minute)
			require.False(t, asked.Accept("anna"), "its time is over")
			require.EqualValues(t, 1, r.server.Stats().ApprovalsLate)
			require.Empty(t, r.server.log)
		})
	}
}

// An accepted client that does not ask any more takes no place, and is forgotten.
func TestAcceptedClientThatIsGoneTakesNoPlace(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{Clients: 1})
	var asked *netcode.Approval
	r.server.OnApprove(func(a *netcode.Approval) { asked = a })
	r.joinWith(p, netcode.Config{}, "anna")
	r.until(func() bool { return asked != nil })
	r.clients = nil
	asked.Accept("anna")
	r.run(10 * time.Second)
	require.Empty(t, r.server.log)
	bert := r.joinWith(p, netcode.Config{}, "bert")
	r.until(func() bool { return string(asked.Payload) == "bert" })
	asked.Accept("bert")
	r.until(func() bool { return bert.State() == netcode.Connected })
}

// A full server asks all the same: the client may be a player who has a place. If it is not, it is refused.
func TestFullServerRefusesWhoIsApproved(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{Clients: 1})
	r.server.OnApprove(byPayload)
	anna := r.joinWith(p, netcode.Config{}, "anna")
	r.until(func() bool { return anna.State() == netcode.Connected })
	bert := r.joinWith(p, netcode.Config{}, "bert")
	r.until(func() bool { return bert.Err() != nil })
	require.ErrorIs(t, bert.Err(), peer.ReasonFull)
	again := r.joinWith(p, netcode.Config{}, "anna")
	r.until(func() bool { return again.State() == netcode.Connected })
	require.Equal(t, anna.ID(), again.ID())
}

func TestApprovalFaultsRefuseTheClient(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	r.server.OnApprove(func(a *netcode.Approval) {
		if string(a.Payload) == "panic" {
			panic("oops")
		}
		require.False(t, a.Accept(strings.Repeat("x", netcode.MaxIdentity+1)))
	})
	panics, long := r.joinWith(p, netcode.Config{}, "panic"), r.joinWith(p, netcode.Config{}, "long")
	r.until(func() bool { return panics.Err() != nil && long.Err() != nil })
	require.ErrorIs(t, panics.Err(), peer.ReasonHandlerPanic)
	require.ErrorIs(t, long.Err(), peer.ReasonNotApproved)
	var failed *netcode.PanicError
	require.Len(t, r.server.errors, 2)
	require.True(t, errors.As(errors.Join(r.server.errors...), &failed))
	require.Equal(t, "OnApprove", failed.Name)
	require.ErrorContains(t, errors.Join(r.server.errors...), "the identity has 65 bytes")
}

// prover proves who is at an address.
type prover map[transport.Addr]string

func (p prover) Proved(of transport.Addr) (user string, data []byte, ok bool) {
	user, ok = p[of]
	return user, []byte("data of " + user), ok
}

func TestApprovalHasWhatTheTransportProves(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	proofs := prover{}
	r.server.SetProver(proofs)
	r.server.OnApprove(func(a *netcode.Approval) {
		require.Equal(t, "data of anna", string(a.Data))
		a.Accept(a.User)
	})
	c := r.joinWith(p, netcode.Config{}, "")
	proofs[c.conn.LocalAddr()] = "anna"
	r.until(func() bool { return c.State() == netcode.Connected })
	require.Equal(t, "anna", r.server.Identity(c.ID()))
}

// The pending decisions of one address are as few as its places.
func TestPendingDecisionsOfAnAddressHaveALimit(t *testing.T) {
	s := newSiege(t, netcode.Config{Clients: 64, ClientsPerAddress: 3})
	asked := 0
	s.server.OnApprove(func(*netcode.Approval) { asked++ })
	for i := range 8 {
		s.join(transport.MustParseAddr(fmt.Sprintf("198.51.100.9:%d", 4000+i)), netcode.Config{})
	}
	for range 60 {
		s.frame(func() {})
	}
	require.Equal(t, 3, asked)
	s.join(transport.MustParseAddr("203.0.113.9:4000"), netcode.Config{})
	for range 60 {
		s.frame(func() {})
	}
	require.Equal(t, 4, asked, "others are asked about")
}
