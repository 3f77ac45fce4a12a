package netcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
)

// Where half of what the server sends is lost a client says several times in a tick what came, in one and the same packet: so
// the server has but one number a tick to acknowledge.
func TestAcknowledgementsAreSaidAgainInTheSamePacket(t *testing.T) {
	r := newRig(t, protocol(), netcode.Config{})
	c := r.joined(protocol(), netcode.Config{})
	id := r.spawn(1)
	r.server.game = func(store *snapshot.Store) { r.set(store, id, float32(store.Tick())) }
	sent, distinct, lose := 0, map[string]bool{}, random(9)
	r.tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == r.server.conn.LocalAddr() && lose.Uint64()%2 == 0 {
			return nil
		}
		if from == c.conn.LocalAddr() {
			sent++
			distinct[string(packet)] = true
		}
		return packet
	}
	r.run(100 * 2 * frameTime)
	before, after := sent, len(distinct)
	r.run(100 * 2 * frameTime)
	require.Greater(t, sent-before, 250, "in 100 ticks")
	require.Less(t, len(distinct)-after, 110, "of them different")
	require.Equal(t, int(c.Stats().Packets.Repeated), sent-len(distinct))
	require.NotZero(t, r.server.Stats().Packets.Duplicates)
	require.Equal(t, netcode.Connected, c.State())
}
