package input

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Malformed recorded inputs are refused, or accepted for a bounded number of players, also in a replay.
func FuzzRecorded(f *testing.F) {
	f.Add([]byte{1, 1, recordedHere, 0}, []byte{1, 1, recordedSame})
	f.Add([]byte{2, 7, recordedHere | recordedShown, 6, 1, 0x22, 0x11, recordedSame, 9, 0, 0}, []byte{1})
	f.Add([]byte{64}, []byte{65, 1})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		p := netcode.NewProtocol()
		Register[look](p)
		s, err := netcode.NewServer(p, netcode.Config{FirstTick: 100})
		require.NoError(t, err)
		steps.OfServer(s).BeginFrame(0)
		_, err = extend.OfServer(s).AddRecordedPlayer(7)
		require.NoError(t, err)
		feature := extend.OfServer(s).Records()[0]
		if feature.Read(first, true) {
			feature.Read(second, false)
		}
		require.LessOrEqual(t, len(queuesOf(s).recorder.played), wire.MaxClients)
		_, _ = Of[look](s, 7)
		_, _ = Recorded[look](s, 7)
		steps.OfServer(s).Send()
	})
}

// More players than a server may have are refused, since each takes memory.
func TestTooManyRecordedPlayersAreRefused(t *testing.T) {
	p := netcode.NewProtocol()
	Register[look](p)
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	tick := func(players int) (body []byte) {
		body = []byte{1}
		for i := range players {
			body = append(wire.AppendVarint(body, uint64(i+1)), 0, 0)
		}
		return body
	}
	feature := extend.OfServer(s).Records()[0]
	require.True(t, feature.Read(tick(wire.MaxClients), true))
	require.False(t, feature.Read(tick(wire.MaxClients+1), true))
}

// A presented moment must be one that a client can send.
func TestAMomentThatNoClientTellsOfIsRefused(t *testing.T) {
	const most = behindMost * int64(tick.OneTick/behindUnit)
	for back, want := range map[int64]bool{0: true, most: true, most + 1: false, -1: false, math.MinInt64: false, math.MaxInt64: false} {
		p := netcode.NewProtocol()
		Register[look](p)
		s, err := netcode.NewServer(p, netcode.Config{FirstTick: 5000})
		require.NoError(t, err)
		body := append(wire.AppendVarint([]byte{1, 7, recordedShown}, uint64(back<<1^back>>63)), 0)
		require.Equal(t, want, extend.OfServer(s).Records()[0].Read(body, true), back)
	}
}

// Players that leave are not stored after the recording has ended.
func TestAStoppedRecordingKeepsNoPlayers(t *testing.T) {
	p := netcode.NewProtocol()
	Register[look](p)
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	gone := func() int {
		steps.OfServer(s).BeginFrame(0)
		c, err := extend.OfServer(s).AddRecordedPlayer(7)
		require.NoError(t, err)
		c.EndRecorded(false)
		steps.OfServer(s).Send()
		return len(queuesOf(s).recorder.gone)
	}
	feature := extend.OfServer(s).Records()[0]
	feature.Write(nil, true)
	require.NotZero(t, gone())
	feature.Stop()
	require.Zero(t, gone())
}
