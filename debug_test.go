package netcode_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
)

type debugSteps struct {
	X float32 `net:"min=-512,max=512,step=0.002"`
}

func debugged(turn bool, heard *[]debugSteps) *netcode.Protocol {
	p := protocol()
	if turn {
		p.Debug()
	}
	netcode.Handle(p, func(_ *message.Context, m *debugSteps) {
		if heard != nil {
			*heard = append(*heard, *m)
		}
	})
	return p
}

// Packing off on both ends: the hash is another one, the state and the messages are the same.
func TestDebugOnBothEndsWorks(t *testing.T) {
	for _, on := range []bool{false, true} {
		var heard []debugSteps
		p := debugged(on, &heard)
		require.Equal(t, on, p.Hash() != debugged(false, nil).Hash())
		r := rig.New(t, p, netcode.Config{})
		c := r.Joined(p, netcode.Config{})
		id := r.Spawn(1.5)
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &debugSteps{X: -0.25}))
		r.Until(func() bool { return len(heard) == 1 && c.Replica().Row(id.Index, 1) != nil })
		require.InDelta(t, -0.25, heard[0].X, 0.001)
		require.Equal(t, []uint32{math.Float32bits(1.5), 0}, c.Replica().Row(id.Index, 1))
		require.Empty(t, r.Server.Errors)
	}
}

// On one end only, the server refuses before any component byte and the client learns why.
func TestDebugOnOneEndIsRefused(t *testing.T) {
	for _, on := range []bool{false, true} {
		server, client := debugged(on, nil), debugged(!on, nil)
		r := rig.New(t, server, netcode.Config{})
		end := r.Join(client, netcode.Config{})
		r.Until(func() bool { return end.State() == netcode.Disconnected })
		require.ErrorIs(t, end.Err(), errs.ReasonWrongProtocol)
		require.Contains(t, end.Err().Detail, map[bool]string{true: "the server", false: "the client"}[on]+" has the field unpacked more")
		require.Empty(t, r.Server.Log)
	}
}

func TestDebugPanicsOnceFrozen(t *testing.T) {
	p := protocol()
	p.Hash()
	require.PanicsWithValue(t, "netcode: Debug: the protocol is frozen: turn packing off before the first NewServer or NewClient", p.Debug)
}

// Every packet of a session prints, with the names and values that are in it; without packing the values also stand in
// its bytes as in memory.
func TestDumpShowsTheContentsOfPackets(t *testing.T) {
	for _, on := range []bool{false, true} {
		p := debugged(on, nil)
		r := rig.New(t, p, netcode.Config{})
		var text, blind strings.Builder
		var all []byte
		var c *rig.ClientEnd
		r.Tamper = func(_, _ transport.Addr, packet []byte) []byte {
			if c != nil {
				text.Write(inspect.AppendClientDump(nil, c.Client, packet))
			}
			blind.Write(inspect.AppendDump(nil, p, packet))
			all = append(all, packet...)
			return packet
		}
		c = r.Join(p, netcode.Config{})
		r.Until(func() bool { return c.State() == netcode.Connected })
		id := r.Spawn(137.25)
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &debugSteps{X: 7}))
		r.Until(func() bool { return c.Replica().Row(id.Index, 1) != nil })
		r.Run(1e9)
		r.Change(func(store *snapshot.Store) { r.Set(store, id, 138.5) })
		r.Until(func() bool { return c.Replica().Row(id.Index, 1)[0] == math.Float32bits(138.5) })
		r.Change(func(store *snapshot.Store) { store.Despawn(id) })
		r.Until(func() bool { return c.Replica().Len() == 0 })
		c.Close()
		r.Run(1e8)
		for _, want := range []string{
			"handshake datagram of kind 1, Hello,", "message 1 snapshot, stage Initialization", "entity " + id.String() + ", whole", "position X=137.25 Y=0",
			"message 16 debugSteps, stage Update", "X=7", ", against tick ", "position X=138.5 Y=0", "despawn " + id.String(), "message 3 close", "ack ",
		} {
			require.Contains(t, text.String(), want)
		}
		require.NotContains(t, text.String(), "not known here")
		require.NotContains(t, text.String(), "legal")
		require.Contains(t, blind.String(), "which are not known here")
		inMemory := binary.LittleEndian.AppendUint32(nil, math.Float32bits(137.25))
		require.Equal(t, on, strings.Contains(string(all), string(inMemory)), "packing %v", !on)
	}
}

// A dump of anything is a text, also of damaged packets.
func TestDumpOfAnything(t *testing.T) {
	p := debugged(false, nil)
	r := rig.New(t, p, netcode.Config{})
	var packets [][]byte
	r.Tamper = func(_, _ transport.Addr, packet []byte) []byte {
		packets = append(packets, append([]byte(nil), packet...))
		return packet
	}
	c := r.Joined(p, netcode.Config{})
	r.Spawn(1)
	r.Run(3e9)
	require.Greater(t, len(packets), 10)
	damaged := 0
	for _, packet := range packets {
		for cut := range packet {
			require.NotEmpty(t, inspect.AppendClientDump(nil, c.Client, packet[:cut]))
			flipped := append([]byte(nil), packet...)
			flipped[cut] ^= 0x55
			require.NotEmpty(t, inspect.AppendClientDump(nil, c.Client, flipped))
			require.NotEmpty(t, inspect.AppendDump(nil, p, append(flipped, 1)))
			damaged += 3
		}
	}
	require.Greater(t, damaged, 1000)
}
