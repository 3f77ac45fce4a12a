package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// What is said again is the packet that said it, byte for byte: the other end
// takes the first that arrives, and has no more numbers to tell of than before.
func TestWhatIsSaidAgainIsTheSamePacket(t *testing.T) {
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
