package wire

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

func TestChecksumIsTheCRCOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epoch := rapid.Uint32().Draw(t, "epoch")
		protocol := rapid.Uint64().Draw(t, "protocol")
		packet := rapid.SliceOf(rapid.Byte()).Draw(t, "packet")
		all := binary.LittleEndian.AppendUint32(nil, epoch)
		all = append(binary.LittleEndian.AppendUint64(all, protocol), packet...)
		require.Equal(t, crc32.ChecksumIEEE(all), NewChecksum(epoch, protocol).Sum(packet))
	})
}

func TestChecksumTellsSessionsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packet := rapid.SliceOf(rapid.Byte()).Draw(t, "packet")
		protocol, a, b := rapid.Uint64().Draw(t, "protocol"), rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b")
		if a != b {
			require.NotEqual(t, NewChecksum(a, protocol).Sum(packet), NewChecksum(b, protocol).Sum(packet))
		}
	})
}

func TestChecksumAllocatesNothing(t *testing.T) {
	packet := make([]byte, 1200)
	alloctest.Zero(t, 100, func() { NewChecksum(7, 9).Sum(packet) })
}
