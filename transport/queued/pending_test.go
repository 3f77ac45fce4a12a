package queued_test

import (
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport/queued"
)

func pendingHost(i int) netip.Addr { return netip.AddrFrom4([4]byte{byte(100 + i>>8), byte(i), 0, 9}) }

// Handshakes that never end cannot be ended for others. So a host has few of them, fewer when there are many, and a new one always has its own.
func TestHandshakesAreSharedByHosts(t *testing.T) {
	p := queued.NewPending(queued.Config{})
	for range 100 {
		for host := range 64 {
			_, _ = p.Enter(pendingHost(host))
		}
	}
	require.LessOrEqual(t, p.Stats().Now, 1024)
	var claims []*queued.Claim
	for host := range 1000 {
		claim, err := p.Enter(pendingHost(1000 + host))
		require.NoError(t, err, "host %d that has none", host)
		claims = append(claims, claim)
	}
	_, err := p.Enter(pendingHost(3))
	require.ErrorIs(t, err, queued.ErrFull)
	before := p.Stats().Now
	for _, claim := range claims {
		claim.Leave()
		claim.Leave()
		claim.Ready(func() { t.Error("it has left") })
	}
	require.Equal(t, before-1000, p.Stats().Now)
}

// The oldest of the host with the most ends for a newcomer, and none of those that have a session.
func TestTheOldestOfTheHostWithTheMostEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := queued.NewPending(queued.Config{Connections: 4, PerIP: 3, Idle: time.Second})
		var lock sync.Mutex // timers end connections at the same moment
		var ended []string
		enter := func(name string, host int) *queued.Claim {
			claim, err := p.Enter(pendingHost(host))
			require.NoError(t, err)
			claim.Ready(func() {
				lock.Lock()
				ended = append(ended, name)
				lock.Unlock()
				claim.Leave()
			})
			return claim
		}
		gone := func() []string {
			lock.Lock()
			defer lock.Unlock()
			return slices.Clone(ended)
		}
		player := enter("player", 1)
		player.Begin()
		enter("a1", 1)
		enter("b1", 2)
		enter("a2", 1)
		enter("a3", 1)
		enter("a4", 1)
		require.Equal(t, []string{"a1"}, gone(), "PerIP")
		enter("c1", 3)
		require.Equal(t, []string{"a1", "a2"}, gone(), "Connections")
		require.EqualValues(t, 2, p.Stats().Displaced)

		time.Sleep(900 * time.Millisecond)
		player.End()
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		require.Len(t, gone(), 6)
		require.NotContains(t, gone(), "player", "its time began when its session ended")
		player.Touch()
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		require.NotContains(t, gone(), "player")
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.Contains(t, gone(), "player")
		require.Zero(t, p.Stats().Now)
		require.EqualValues(t, 5, p.Stats().Idle)
	})
}
