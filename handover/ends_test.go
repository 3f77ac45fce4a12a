package handover_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/handover"
)

// TestAHostMovesItsGuests moves a player off a host and to it. The host's own player cannot move.
func TestAHostMovesItsGuests(t *testing.T) {
	r := newRig(t, 10, 2, 1, late)
	r.quiet = true
	r.nodes[0].hosts = true
	r.start()
	require.True(t, r.run(5*time.Second, r.joined))
	r.begin()
	r.wait(4 * time.Second)
	require.Equal(t, map[handover.Outcome]int{handover.Moved: 1}, r.model.moved)
	client, ok := r.nodes[1].clientOf(0)
	require.True(t, ok)
	require.NoError(t, r.nodes[1].mover.Move(client, r.destination(r.nodes[0], 0)))
	r.wait(4 * time.Second)
	require.Equal(t, map[handover.Outcome]int{handover.Moved: 2}, r.model.moved, "%v", r.model.errors)
	host, ok := r.nodes[0].clientOf(99)
	require.True(t, ok)
	require.ErrorIs(t, r.nodes[0].mover.Move(host, r.destination(r.nodes[1], 99)), handover.ErrHost)
}

// armour is a component that only the newer build has.
type armour struct{ Plates uint8 }

// TestAPlayerMovesToANewerBuild moves a player to a server of a newer build, which has one more component.
func TestAPlayerMovesToANewerBuild(t *testing.T) {
	r := newRig(t, 11, 2, 1, late)
	r.quiet = true
	newer := newProtocol(func(p *netcode.Protocol) { netcode.Replicate[armour](p) })
	newer.Support(newProtocol().Description())
	r.nodes[1].p = newer
	r.start()
	require.True(t, r.run(5*time.Second, r.joined))
	r.begin()
	r.wait(4 * time.Second)
	require.Equal(t, map[handover.Outcome]int{handover.Moved: 1}, r.model.moved, "%v", r.model.errors)
	_, ok := r.players[0].hero()
	require.True(t, ok)
}

// TestAPlayerStaysIfTheBuildIsAnother moves a player to a server that its client cannot speak to.
func TestAPlayerStaysIfTheBuildIsAnother(t *testing.T) {
	r := newRig(t, 12, 2, 1, late)
	r.quiet = true
	r.nodes[1].p = newProtocol(func(p *netcode.Protocol) { netcode.Replicate[armour](p) })
	r.start()
	require.True(t, r.run(5*time.Second, r.joined))
	r.begin()
	r.wait(4 * time.Second)
	require.Equal(t, map[handover.Outcome]int{handover.Stayed: 1}, r.model.moved, "%v", r.model.errors)
	_, ok := r.players[0].hero()
	require.True(t, ok)
}
