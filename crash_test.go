package netcode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/transport"
)

// A client that crashed and comes back from another port of its host has the only place at once, as another client, where the transport
// proves no user, or the same one. It once waited for the silence timeout of its own old session.
func TestAClientThatCrashedHasThePlaceOfItsSilentSession(t *testing.T) {
	for name, row := range map[string]struct {
		old, back string
		limits    netcode.Config
		after     time.Duration // Of silence.
		reason    errs.Reason   // Of the refusal; 0: the client gets the place.
		users     [2]string     // That the transport proves; empty: none.
	}{
		"the only place":                        {"198.51.100.7:4000", "198.51.100.7:4001", netcode.Config{Clients: 1}, 1100 * time.Millisecond, 0, [2]string{}},
		"on the same machine":                   {"127.0.0.1:4000", "127.0.0.1:4001", netcode.Config{Clients: 1}, 1100 * time.Millisecond, 0, [2]string{}},
		"of a /64":                              {"[2001:db8::1]:4000", "[2001:db8::2]:4000", netcode.Config{Clients: 1}, 1100 * time.Millisecond, 0, [2]string{}},
		"the only one of its host":              {"198.51.100.7:4000", "198.51.100.7:4001", netcode.Config{Clients: 8, ClientsPerAddress: 1}, 1100 * time.Millisecond, 0, [2]string{}},
		"a session that is not silent for long": {"198.51.100.7:4000", "198.51.100.7:4001", netcode.Config{Clients: 1}, 700 * time.Millisecond, errs.ReasonFull, [2]string{}},
		"a neighbour":                           {"198.51.100.7:4000", "198.51.100.8:4000", netcode.Config{Clients: 1}, 3 * time.Second, errs.ReasonFull, [2]string{}},
		"of the same user":                      {"198.51.100.7:4000", "198.51.100.7:4001", netcode.Config{Clients: 1}, 1100 * time.Millisecond, 0, [2]string{"ada", "ada"}},
		"of another user":                       {"198.51.100.7:4000", "198.51.100.7:4001", netcode.Config{Clients: 1}, 3 * time.Second, errs.ReasonFull, [2]string{"ada", "bob"}},
		"of a user, by nobody":                  {"198.51.100.7:4000", "198.51.100.7:4001", netcode.Config{Clients: 1}, 3 * time.Second, errs.ReasonFull, [2]string{"ada", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			r := rig.New(t, p, row.limits)
			proofs := prover{}
			for i, at := range []string{row.old, row.back} {
				if row.users[i] != "" {
					proofs[transport.MustParseAddr(at)] = row.users[i]
				}
			}
			steps.OfServer(r.Server).SetProver(proofs)
			r.From = transport.MustParseAddr(row.old)
			old := r.Joined(p, netcode.Config{})
			var reason *netcode.CloseError
			r.Server.OnDisconnect(func(_ netcode.ClientID, why *netcode.CloseError) { reason = why })
			kill(r, old)
			r.Run(row.after)
			r.From = transport.MustParseAddr(row.back)
			c, began := r.Join(p, netcode.Config{}), r.Now
			r.Until(func() bool { return c.State() != netcode.Connecting })
			if row.reason != 0 {
				require.ErrorIs(t, c.Err(), row.reason)
				require.Nil(t, reason)
				require.Zero(t, r.Server.Stats().Displaced)
				return
			}
			require.Equal(t, netcode.Connected, c.State())
			require.LessOrEqual(t, r.Now-began, 200*time.Millisecond)
			require.NotEqual(t, old.ID(), c.ID(), "another client")
			require.ErrorIs(t, reason, errs.ReasonReplaced)
			require.EqualValues(t, 1, r.Server.Stats().Displaced)
			require.Equal(t, []string{fmt.Sprint("connect ", old.ID()), fmt.Sprintf("disconnect %d: %v", old.ID(), reason), fmt.Sprint("connect ", c.ID())}, r.Server.Log)
			r.Run(time.Second)
			require.Zero(t, r.Server.Stats().RefusedFull+r.Server.Stats().RefusedAddress)
		})
	}
}

// The place of a client that plays, or is quiet because nothing happens, is nobody else's, and of many silent ones the one that is silent for
// longest ends.
func TestAQuietClientKeepsItsPlace(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 3})
	r.From = transport.MustParseAddr("198.51.100.7:4000")
	first := r.Joined(p, netcode.Config{})
	join := func(port int) *rig.ClientEnd {
		r.From = transport.MustParseAddr(fmt.Sprint("198.51.100.7:", port))
		return r.Joined(p, netcode.Config{})
	}
	join(4001)
	second := r.Clients[1]
	kill(r, second)
	r.Run(500 * time.Millisecond)
	third := join(4002)
	kill(r, third)
	r.Run(900 * time.Millisecond)
	fourth := join(4003)
	_, there := r.Server.ClientStats(second.ID())
	require.False(t, there, "it was silent for longer")
	_, there = r.Server.ClientStats(third.ID())
	require.True(t, there)
	for range 6 {
		r.Run(time.Second)
		require.Equal(t, netcode.Connected, first.State(), "nothing happens, and it is there")
		require.Equal(t, netcode.Connected, fourth.State())
	}
	join(4004) // For the third.
	r.From = transport.MustParseAddr("198.51.100.7:4005")
	c := r.Join(p, netcode.Config{})
	r.Until(func() bool { return c.State() != netcode.Connecting })
	require.ErrorIs(t, c.Err(), errs.ReasonFull, "the others are not silent")
}

// A place is not given before the game approves of the newcomer, and the identity of the silent player stays its own.
func TestASilentPlayerKeepsItsIdentity(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{Clients: 1, Keep: time.Minute})
	r.Server.OnApprove(func(a *netcode.Approval) {
		if string(a.Payload) == "thief" {
			a.Refuse("no")
			return
		}
		a.Accept(string(a.Payload))
	})
	seed := uint64(1)
	join := func(at, who string) *rig.ClientEnd {
		r.From, seed = transport.MustParseAddr(at), seed+1
		c := r.Join(p, netcode.Config{Random: rig.Random(seed)})
		require.NoError(t, c.ConnectWith(r.Server.Conn.LocalAddr(), []byte(who)))
		r.Until(func() bool { return c.State() != netcode.Connecting })
		return c
	}
	ada := join("198.51.100.7:4000", "ada")
	id := ada.ID()
	kill(r, ada)
	r.Run(1500 * time.Millisecond)
	require.ErrorIs(t, join("198.51.100.7:4001", "thief").Err(), errs.ReasonNotApproved)
	require.Zero(t, r.Server.Stats().Displaced)
	r.Clients = nil
	bob := join("198.51.100.7:4002", "bob")
	require.Equal(t, netcode.Connected, bob.State())
	require.NotEqual(t, id, bob.ID())
	require.Equal(t, "ada", r.Server.Identity(id), "she is away")
	bob.Close()
	r.Run(time.Second)
	require.Equal(t, id, join("203.0.113.1:1", "ada").ID())
}
