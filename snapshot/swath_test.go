package snapshot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// someEntries are entities of a list, in no order where apart.
func someEntries(r *rand.Rand, apart bool) (next []sentEntry) {
	at, gap := r.IntN(100), 1+r.IntN(20)
	for range 1 + r.IntN(ahead) {
		at += 1 + r.IntN(gap)
		next = append(next, sentEntry{index: uint32(at), mask: 3, span: 5})
	}
	if apart {
		r.Shuffle(len(next), func(i, k int) { next[i], next[k] = next[k], next[i] })
	}
	return next
}

// What a swath says by words is what its entities say one by one, in whatever order they come.
func TestASwathIsItsEntities(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h, again swath
	for i := range 5000 {
		next := someEntries(r, i%3 == 0)
		odd := r.IntN(len(next))
		switch i % 5 {
		case 1:
			next[odd].mask = 1
		case 2:
			next[odd].span = 6
		}
		want := len(next)
		if i%7 == 0 {
			next[odd].despawn, want = true, odd
		}
		n := h.take(next)
		require.Equal(t, want, n)
		if n == 0 {
			continue
		}
		k, members := 0, r.Uint32()&r.Uint32()&(1<<n-1)
		if i%2 == 0 {
			members = 1<<n - 1
		}
		h.wait(members, n)
		for w, word := range h.words[:h.n] {
			of, waits := uint64(0), uint64(0)
			require.EqualValues(t, k, h.from[w])
			for ; k < h.end(w, n); k++ {
				require.Equal(t, word.word, next[k].index>>6)
				require.Equal(t, next[k].index, h.index[k])
				of |= 1 << (next[k].index & 63)
				waits |= uint64(members>>k&1) << (next[k].index & 63)
			}
			require.Equal(t, []uint64{of, waits}, []uint64{word.of, h.waits[w]})
		}
		require.Equal(t, n, k)
		require.Equal(t, members, h.members(n))
		alike, span := true, true
		for _, e := range next[:n] {
			alike, span = alike && e.mask == next[0].mask, span && e.span == next[0].span
		}
		require.Equal(t, []bool{alike, span}, []bool{h.alike, h.span})
	}
	require.Zero(t, again.take(nil))
	require.Zero(t, again.take(make([]sentEntry, ahead+1)), "more than there is room for")
}

// What a packet carried again is noted as one by one, also across the end of the ring.
func TestEntriesAreNotedTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	a, b := newSentRing(64, nil), newSentRing(64, nil)
	b.next, a.next = firstEntries-300, firstEntries-300
	for i := range 40 {
		var p, q sentPacket
		next := someEntries(r, false)
		span := uint16(5 + i%2)
		a.addAll(&p, next, span, span == 5)
		for _, e := range next {
			e.span = span
			b.add(&q, e)
		}
		require.Equal(t, q, p)
		require.Equal(t, b.next, a.next)
	}
	require.Greater(t, a.next, uint64(firstEntries), "it did not come to the end of the ring: the test shows nothing")
	require.Equal(t, b.entries, a.entries)
}
