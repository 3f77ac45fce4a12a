package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSumOfATailIsThatOfItsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packet := rapid.SliceOfN(rapid.Byte(), 0, 1300).Draw(t, "packet")
		size := rapid.IntRange(0, len(packet)).Draw(t, "size")
		check := Checksum(rapid.Uint32().Draw(t, "check"))
		var s TailSize
		s.Prepare(size)
		tail := s.Tail(packet[len(packet)-size:])
		require.Equal(t, check.Sum(packet), check.SumTail(packet, tail))
		require.Equal(t, check.Sum(packet), check.SumTail(packet, Tail{}))
		s.Prepare(size + 1)
		require.Equal(t, check.Sum(packet), check.SumTail(packet, tail), "another size is of no use")
	})
}
