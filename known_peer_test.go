package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
)

// from returns the address of a peer that its transport recognises wherever it is, as transport/secure does.
func from(ip string, key uint64) transport.Addr {
	return transport.Addr{IP: transport.MustParseAddr(ip).IP, Key: key}
}

// A peer that its transport recognises is heard from anywhere at once, and gets nothing there before a Resume has proved the address.
func TestAKnownPeerIsHeardFromAnywhere(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.From = from("198.51.100.7:4000", 5)
	c := r.Joined(p, netcode.Config{})
	id, x := r.Spawn(0), float32(0)
	r.Server.Game = func(store *snapshot.Store) { x++; r.Set(store, id, x) }
	r.Run(time.Second)
	rebind(r, c, from("203.0.113.1:1", 5))
	sent := 0
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == c.Conn.LocalAddr() && peer.KindOf(packet) == peer.KindPacket {
			sent++
		}
		return packet
	}
	strangers, received := r.Server.Stats().Strangers, r.Server.Stats().Packets.Received
	r.Run(100 * time.Millisecond)
	require.Equal(t, strangers, r.Server.Stats().Strangers)
	require.Greater(t, r.Server.Stats().Packets.Received, received)
	require.Zero(t, sent, "the address has not proved itself")
	r.Run(2 * time.Second)
	require.Positive(t, sent)
	stats, _ := r.Server.ClientStats(1)
	require.Equal(t, c.Conn.LocalAddr(), stats.Address)
	require.EqualValues(t, 1, r.Server.Stats().Migrated)
}

// A peer that joins anew from another host needs a place there: it cannot gather the places of many hosts at one.
func TestAKnownPeerTakesNoPlaceOfAnotherHostAlong(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{ClientsPerAddress: 1})
	r.From = from("203.0.113.1:1", 1)
	there := r.Joined(p, netcode.Config{})
	r.From = from("198.51.100.7:4000", 2)
	c := r.Joined(p, netcode.Config{})
	r.From = from("203.0.113.1:2", 2)
	again := r.Join(p, netcode.Config{Random: rig.Random(99)})
	r.Until(func() bool { return again.State() != netcode.Connecting })
	require.Equal(t, netcode.Disconnected, again.State())
	require.ErrorIs(t, again.Err(), errs.ReasonCrowded)
	r.Run(time.Second)
	require.Equal(t, netcode.Connected, there.State())
	require.Equal(t, netcode.Connected, c.State(), "nothing has replaced it")
	r.From = from("192.0.2.1:1", 2)
	again = r.Joined(p, netcode.Config{Random: rig.Random(98)})
	require.EqualValues(t, 1, r.Server.Stats().Replaced, "where there is room, its session ends for the new one")
	require.Equal(t, netcode.Connected, again.State())
}

// A client whose address changes between its Join and the Welcome is welcomed where it is.
func TestAJoinFromAnotherAddressOfItsPeer(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	r.From = from("198.51.100.7:4000", 5)
	old := r.From
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == old && peer.KindOf(packet) == peer.KindWelcome {
			return nil
		}
		return packet
	}
	c := r.Join(p, netcode.Config{})
	r.Until(func() bool { return r.Server.Stats().Connected > 0 })
	require.Equal(t, netcode.Connecting, c.State())
	rebind(r, c, from("203.0.113.1:1", 5))
	r.Until(func() bool { return c.State() != netcode.Connecting })
	require.Equal(t, netcode.Connected, c.State(), c.Err())
	stats, _ := r.Server.ClientStats(c.ID())
	require.Equal(t, c.Conn.LocalAddr(), stats.Address)
}
