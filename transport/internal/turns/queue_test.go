package turns

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
)

// peerAt is an address of one of several hosts: IPv4 of three networks, IPv6 of two, this machine, and no IP.
func peerAt(host, port int) transport.Addr {
	ips := []string{"203.0.113.1", "203.0.113.2", "198.51.100.1", "2001:db8::1", "2001:db8:0:0:1::1", "2001:db8:0:1::1", "127.0.0.1"}
	if host == len(ips) {
		return transport.Addr{Key: uint64(port)}
	}
	return transport.Addr{IP: netip.AddrPortFrom(netip.MustParseAddr(ips[host]), uint16(port))}
}

// Each peer gets its datagrams in order, but for those that were lost, and no line counts wrongly, whatever happens.
func TestQueueAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 12).Draw(t, "slots")
		q := New(slots, 8, slots)
		waits := map[transport.Addr][]byte{} // Of each peer, the first bytes of what waits.
		next := byte(0)
		addr := func(t *rapid.T) transport.Addr {
			return peerAt(rapid.IntRange(0, 7).Draw(t, "host"), rapid.IntRange(1, 3).Draw(t, "port"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				from := addr(t)
				next++
				lost, stored := q.Put(from, netip.Addr{}, []byte{next, 1}, 0)
				if stored {
					waits[from] = append(waits[from], next)
				}
				require.True(t, lost == 1 || stored)
				if stored && lost == 1 { // The newest of a peer made room.
					for of, p := range q.peers {
						if n := len(waits[of]); n > p.n {
							require.Equal(t, n-1, p.n)
							waits[of] = waits[of][:n-1]
						}
					}
				}
				if !stored {
					require.Positive(t, q.others.n+q.members.n)
				}
			},
			"take": func(t *rapid.T) {
				var buf [8]byte
				n, from, _ := q.Take(buf[:])
				if n == 0 {
					for _, w := range waits {
						require.Empty(t, w)
					}
					return
				}
				require.Equal(t, 2, n)
				require.Equal(t, waits[from][0], buf[0])
				waits[from] = waits[from][1:]
				if rapid.Bool().Draw(t, "rank") {
					q.Rank(rapid.Bool().Draw(t, "session"))
				}
			},
			"forget": func(t *rapid.T) { q.Forget(addr(t)) },
			"sweep":  func(t *rapid.T) { q.sweep(time.Hour) },
			"": func(t *rapid.T) {
				total := 0
				for _, w := range waits {
					total += len(w)
				}
				require.Equal(t, total, slots-q.unused)
				require.Equal(t, total, q.members.n+q.others.n)
				require.Equal(t, q.members.n, count(t, &q.members))
				require.Equal(t, q.others.n, count(t, &q.others))
			},
		})
	})
}

// count counts what waits in a line, and checks its turns.
func count(t *rapid.T, l *line) (n int) {
	if l.turn == nil {
		return l.n
	}
	for child := l.turn; ; {
		require.Equal(t, l, child.up)
		require.Equal(t, child, child.right.left)
		require.Positive(t, child.n)
		n += count(t, child)
		if child = child.right; child == l.turn {
			break
		}
	}
	require.Equal(t, n, l.n)
	return n
}

// fill puts datagrams of a peer, and returns how many were stored.
func fill(q *Queue, from transport.Addr, n int) (stored int) {
	for range n {
		if _, ok := q.Put(from, netip.Addr{}, []byte{1}, 0); ok {
			stored++
		}
	}
	return stored
}

// take takes n datagrams and counts them by peer.
func take(q *Queue, n int) map[transport.Addr]int {
	got, buf := map[transport.Addr]int{}, make([]byte, 8)
	for range n {
		if size, from, _ := q.Take(buf); size > 0 {
			got[from]++
		}
	}
	return got
}

func TestHostsTakeTurns(t *testing.T) {
	q := New(100, 8, 100)
	a1, a2, b, c := peerAt(0, 1), peerAt(0, 2), peerAt(2, 1), peerAt(3, 1)
	for _, p := range []transport.Addr{a1, a2, b, c} {
		require.Equal(t, 20, fill(q, p, 20))
	}
	require.Equal(t, map[transport.Addr]int{a1: 5, a2: 5, b: 10, c: 10}, take(q, 30), "one host has two peers")
	take(q, 1000)

	// Whoever has filled the queue makes room.
	require.Equal(t, 100, fill(q, a1, 200))
	require.Equal(t, 50, fill(q, b, 60), "until both have the same")
	require.Equal(t, 50, take(q, 100)[b])

	// An honest peer beside 64 hosts.
	for i := range 64 {
		fill(q, transport.Addr{IP: netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(i), 0, 1}), 1)}, 50)
	}
	require.Equal(t, 1, fill(q, b, 1))
	require.Equal(t, 1, take(q, 65)[b])
}

// has reports whether a peer has a session.
func (q *Queue) has(from transport.Addr) bool {
	p := q.peers[from]
	return p != nil && p.session
}

func TestPeersWithASessionComeFirst(t *testing.T) {
	q := New(100, 8, 100)
	a, b := peerAt(0, 1), peerAt(0, 2) // Of one host.
	fill(q, a, 1)
	take(q, 1)
	q.Rank(true)
	require.True(t, q.has(a))
	require.Equal(t, 25, fill(q, b, 100), "others have a quarter")
	require.Equal(t, 75, fill(q, a, 75))
	require.Equal(t, map[transport.Addr]int{a: 30, b: 10}, take(q, 40))
	q.Forget(a)
	require.False(t, q.has(a))
	require.Equal(t, 45, take(q, 100)[a], "what waits of it can still be taken")
}

// Peers that come once take no memory for ever, and those with a session are not forgotten for them.
func TestStrangersAreForgotten(t *testing.T) {
	q := New(16, 8, 16)
	player := peerAt(0, 1)
	fill(q, player, 1)
	take(q, 1)
	q.Rank(true)
	for i := range 10_000 {
		fill(q, transport.Addr{IP: netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(i >> 8), byte(i), 1}), 1)}, 1)
		take(q, 1)
	}
	require.LessOrEqual(t, len(q.peers)+len(q.groups), 200)
	require.True(t, q.has(player))
	q.sweep(2 * silence)
	require.False(t, q.has(player), "it is silent")
}

func TestTheQueueTakesMemoryAsItIsUsed(t *testing.T) {
	q := New(1024, 2048, 1024)
	held := func() (bytes int) {
		for i := range q.slots {
			bytes += cap(q.slots[i].data)
		}
		return bytes
	}
	require.Zero(t, held())
	from, buf := peerAt(0, 1), make([]byte, 2048)
	for range 5000 {
		q.Put(from, netip.Addr{}, buf[:100], 0)
		q.Take(buf)
	}
	require.LessOrEqual(t, held(), 1024*slotStep)
	alloctest.Zero(t, 100, func() {
		q.Put(from, netip.Addr{}, buf[:100], 0)
		q.Take(buf)
		q.Rank(true)
	})
	n, _, _ := q.Take(buf)
	require.Zero(t, n)
	q.Put(from, netip.Addr{}, buf, 0)
	n, _, _ = q.Take(buf[:7])
	require.Equal(t, 2048, n, "it did not fit")
}
