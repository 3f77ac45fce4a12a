//go:build amd64 || arm64

package udp

import (
	"reflect"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMessageIsTheKernels: struct mmsghdr is a struct msghdr and a number, and each begins where a pointer may.
func TestMessageIsTheKernels(t *testing.T) {
	m := reflect.TypeFor[message]()
	require.EqualValues(t, 64, m.Size())
	require.Zero(t, m.Field(0).Offset)
	require.EqualValues(t, syscall.SizeofMsghdr, m.Field(1).Offset)
	require.EqualValues(t, 56, m.Field(1).Offset)
}

// TestVolleyOfAKernelThatKnowsNone: it is asked once.
func TestVolleyOfAKernelThatKnowsNone(t *testing.T) {
	a := listen(t, "127.0.0.1:0", Config{})
	w := &a.sender.volley
	w.n, w.errs[0], w.errs[1] = 2, syscall.ENOSYS, syscall.EAGAIN
	require.EqualValues(t, 1, w.count(a, [][]byte{{1}, {1, 2, 3}}, []int{1, 1}), "the first is to be sent by itself")
	require.True(t, w.off)
	require.EqualValues(t, 3, a.Stats().SendDropped)
	b := listen(t, "127.0.0.1:0", Config{})
	sendAll(t, a, []*Conn{b}, []runTo{{0, 1, 5, 5}, {0, 1, 6, 6}})
	require.EqualValues(t, 1, a.Stats().Volleys)
	require.EqualValues(t, 2, a.Stats().Sent)
}

func volleys(*Conn) bool { return true }

func switchOff(c *Conn, off bool) { c.sender.volley.off = off }
