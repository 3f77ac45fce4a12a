package peer

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/wire"
)

// dumbReceived is the set of accepted sequences and nothing else.
type dumbReceived struct {
	first, newest uint64
	accepted      map[uint64]bool
}

func (d *dumbReceived) judge(sequence uint64) error {
	switch {
	case len(d.accepted) == 0 && sequence >= d.first:
		return nil
	case sequence < d.first, sequence+ReplayWindow <= d.newest:
		return ErrOld
	case d.accepted[sequence]:
		return ErrDuplicate
	}
	return nil
}

func (d *dumbReceived) bits() (bits uint32) {
	for n := uint64(0); n < AckReach; n++ {
		if d.newest >= n+1 && d.accepted[d.newest-1-n] {
			bits |= 1 << n
		}
	}
	return bits
}

func TestReceivedAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]uint64{1, 1 << 16, 32760, 65500}).Draw(t, "first")
		r := newReceived(first)
		d := dumbReceived{first: first, newest: first - 1, accepted: map[uint64]bool{}}
		for range 200 {
			step := rapid.OneOf(rapid.Int64Range(-40, 40), rapid.Int64Range(-300, 300),
				rapid.Int64Range(-32767, 32768)).Draw(t, "step")
			if step < 0 && uint64(-step) > d.newest {
				continue
			}
			sequence := d.newest + uint64(step)
			got, err := r.judge(wire.Sequence(sequence))
			require.Equal(t, d.judge(sequence), err, "sequence %d, newest %d", sequence, d.newest)
			if err != nil {
				continue
			}
			require.Equal(t, sequence, got)
			if rapid.Bool().Draw(t, "accept") {
				require.True(t, r.accept(got, true))
				require.False(t, r.accept(got, true))
				d.accepted[sequence] = true
				d.newest = max(d.newest, sequence)
			}
			has, newest, bits := r.any, wire.Sequence(r.newest), uint32(r.window[0]>>1)
			require.Equal(t, len(d.accepted) > 0, has)
			if has {
				require.Equal(t, wire.Sequence(d.newest), newest)
				require.Equal(t, d.bits(), bits)
			}
		}
	})
}

// TestCase18GapsAtTheMask jumps ahead from a full window: nothing in the gap may
// read as received, and everything before it that is in reach still does.
func TestCase18GapsAtTheMask(t *testing.T) {
	for _, first := range startSequences() {
		for _, gap := range []uint64{1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 32768} {
			t.Run(fmt.Sprintf("%d+%d", first, gap), func(t *testing.T) {
				r := newReceived(first)
				for n := range uint64(400) {
					require.True(t, r.accept(first+n, true))
				}
				last := first + 399
				sequence, err := r.judge(wire.Sequence(last + gap))
				require.NoError(t, err)
				require.Equal(t, last+gap, sequence)
				casebook.Injected(t, gap, "numbers missing before a packet")
				require.True(t, r.accept(sequence, true))
				bits := uint32(r.window[0] >> 1)
				for n := range uint64(AckReach) {
					require.Equal(t, n+1 >= gap, bits>>n&1 == 1, "ack bit %d", n)
				}
				for back := range uint64(ReplayWindow) {
					require.Equal(t, back == 0 || back >= gap, r.has(back), "window bit %d", back)
				}
			})
		}
	}
}

func TestReceivedBeforeTheFirst(t *testing.T) {
	for _, first := range append(startSequences(), 1) {
		r := newReceived(first)
		_, err := r.judge(wire.Sequence(first - 1))
		require.ErrorIs(t, err, ErrOld)
		_, err = r.judge(wire.Sequence(first - 200))
		require.ErrorIs(t, err, ErrOld)
		r.accept(first+10, false)
		_, err = r.judge(wire.Sequence(first - 1))
		require.ErrorIs(t, err, ErrOld, "inside the window and before the start")
		got, err := r.judge(wire.Sequence(first))
		require.NoError(t, err)
		require.Equal(t, first, got)
	}
}

func TestLateAcceptBehindTheWindowIsNoNews(t *testing.T) {
	r := newReceived(1)
	r.accept(1000, true)
	require.False(t, r.accept(1000-ReplayWindow, true))
	require.True(t, r.accept(1001-ReplayWindow, true))
}

// An acknowledgement is said again while packets are missing, for a few ticks
// after the last one came; a number that was left out on purpose is no reason.
func TestAcknowledgementsAreSaidAgainWherePacketsAreLost(t *testing.T) {
	for _, first := range startSequences() {
		a, b := newTestConn(first, 64), newTestConn(first, 64)
		require.False(t, b.RepeatAck(0), "nothing came yet")
		lost := func(now time.Duration) { finish(t, a, true, 1, now) }
		deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
		require.False(t, b.RepeatAck(0), "what was before the first was never sent")
		a.Skip()
		deliver(t, b, finish(t, a, true, 1, 10*ms), 10*ms, nil)
		require.False(t, b.RepeatAck(10*ms))
		lost(20 * ms)
		deliver(t, b, finish(t, a, true, 1, 30*ms), 30*ms, nil)
		require.True(t, b.RepeatAck(40*ms))
		require.True(t, b.RepeatAck(60*ms))
		require.False(t, b.RepeatAck(60*ms+1), "three ticks")
		for range AckReach {
			deliver(t, b, finish(t, a, true, 1, 70*ms), 70*ms, nil)
		}
		require.False(t, b.RepeatAck(70*ms), "that was long ago")
	}
}

// Where much is lost an acknowledgement is said several times in a tick: once
// more for every four of the 32 numbers before the newest that are missing.
func TestAcknowledgementsAreSaidMoreOftenTheMoreIsLost(t *testing.T) {
	for _, first := range startSequences() {
		for _, c := range []struct{ lost, copies int }{{0, 0}, {3, 0}, {4, 1}, {7, 1}, {8, 2}, {12, 3}, {AckReach - 1, 3}} {
			a, b, now := newTestConn(first, 128), newTestConn(first, 128), time.Duration(0)
			for i := range 2*AckReach + 1 { // the second half is what counts: the lost ones, and then others
				now += 10 * ms
				p := finish(t, a, true, 1, now)
				if i < AckReach || i >= AckReach+c.lost {
					deliver(t, b, p, now, nil)
				}
			}
			require.Equal(t, c.copies, b.AckRepeats(now), "%d lost", c.lost)
			require.Zero(t, b.AckRepeats(now+time.Second), "nothing comes any more")
		}
	}
}

func TestWindowAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w window
		through := map[uint64]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := w.base + rapid.Uint64Range(0, ReliableWindow-1).Draw(t, "n")
			end := from + rapid.Uint64Range(1, 200).Draw(t, "run")
			for n := from; n < min(end, w.base+ReliableWindow); n++ {
				require.Equal(t, through[n], w.has(n), "%d", n)
				if n < w.base {
					continue
				}
				w.set(n)
				through[n] = true
			}
			if rapid.Bool().Draw(t, "close the gap") {
				n := w.base
				w.set(n)
				through[n] = true
			}
			oldest := uint64(0)
			for through[oldest] {
				oldest++
			}
			require.Equal(t, oldest, w.base)
			for n := w.base; n < w.base+ReliableWindow; n++ {
				require.Equal(t, through[n], w.has(n), "%d from %d", n, w.base)
			}
		}
	})
}

// Again gives the packet that acknowledged, byte for byte: the other end takes the
// first that arrives, and has no more numbers to tell of than before.
func TestRepeatedAckIsTheSamePacket(t *testing.T) {
	for _, first := range startSequences() {
		a, b := newTestConn(first, 64), newTestConn(first, 64)
		again := func() []byte {
			var dst [AckSize]byte
			if n := b.Again(dst[:]); n > 0 {
				return dst[:n]
			}
			return nil
		}
		require.Nil(t, again(), "nothing was said yet")
		deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
		said := finish(t, b, false, 1, 10*ms)
		next, sent := b.Next(), b.Stats()
		require.Equal(t, said, again())
		require.Equal(t, said, again(), "as often as one likes")
		require.Zero(t, b.Again(make([]byte, AckSize-1)), "there is no room")
		require.Equal(t, next, b.Next(), "no number went with it")
		require.EqualValues(t, 2, b.Stats().Repeated)
		require.Equal(t, sent.BytesSent+2*uint64(len(said)), b.Stats().BytesSent)
		require.Equal(t, sent.Sent, b.Stats().Sent)

		told := &log{}
		deliver(t, a, said, 20*ms, told)
		require.Len(t, told.acked, 1)
		_, err := a.Read(again(), 30*ms, told)
		require.ErrorIs(t, err, ErrDuplicate)
		require.Len(t, told.acked, 1)

		finish(t, b, true, 2, 40*ms)
		require.Equal(t, said, again(), "a packet with messages went out meanwhile, and acknowledged the same")
		deliver(t, b, finish(t, a, false, 2, 50*ms), 50*ms, nil)
		require.Nil(t, again(), "there is more to say")
		finish(t, b, true, 3, 60*ms)
		require.Nil(t, again(), "which has messages beside it: that one is not repeated")
		said = finish(t, b, false, 3, 60*ms)
		require.Equal(t, said, again())
	}
}

func TestSayingAgainAllocatesNothing(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	finish(t, b, false, 1, 10*time.Millisecond)
	var dst [AckSize]byte
	alloctest.Zero(t, 100, func() { b.Again(dst[:]) })
}
