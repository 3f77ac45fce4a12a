package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is said again is the packet that said it, byte for byte: the other end
// takes the first that arrives, and has no more numbers to tell of than before.
func TestWhatIsSaidAgainIsTheSamePacket(t *testing.T) {
	for _, first := range startSequences() {
		a, b := newTestConn(first, 64), newTestConn(first, 64)
		require.Nil(t, b.Again(), "nothing was said yet")
		deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
		said := finish(t, b, false, 1, 10*ms)
		next, sent := b.Next(), b.Stats()
		require.Equal(t, said, b.Again())
		require.Equal(t, said, b.Again(), "as often as one likes")
		require.Equal(t, next, b.Next(), "no number went with it")
		require.EqualValues(t, 2, b.Stats().Repeated)
		require.Equal(t, sent.BytesSent+2*uint64(len(said)), b.Stats().BytesSent)
		require.Equal(t, sent.Sent, b.Stats().Sent)

		told := &log{}
		deliver(t, a, said, 20*ms, told)
		require.Len(t, told.acked, 1)
		_, err := a.Read(b.Again(), 30*ms, told)
		require.ErrorIs(t, err, ErrDuplicate)
		require.Len(t, told.acked, 1)

		finish(t, b, true, 2, 40*ms)
		require.Equal(t, said, b.Again(), "a packet with messages went out meanwhile, and acknowledged the same")
		deliver(t, b, finish(t, a, false, 2, 50*ms), 50*ms, nil)
		require.Nil(t, b.Again(), "there is more to say")
		finish(t, b, true, 3, 60*ms)
		require.Nil(t, b.Again(), "which has messages beside it: that one is not repeated")
		said = finish(t, b, false, 3, 60*ms)
		require.Equal(t, said, b.Again())
	}
}

func TestSayingAgainAllocatesNothing(t *testing.T) {
	a, b := newTestConn(1, 64), newTestConn(1, 64)
	deliver(t, b, finish(t, a, true, 1, 0), 0, nil)
	finish(t, b, false, 1, 10*time.Millisecond)
	require.Zero(t, testing.AllocsPerRun(100, func() { b.Again() }))
}
