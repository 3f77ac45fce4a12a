package collections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/steps"
)

// Illegal recorded collections are refused, or stay within their limits.
func FuzzRecorded(f *testing.F) {
	made := func(t *testing.T) (*netcode.Server, *extend.ServerRecord) {
		p := netcode.NewProtocol()
		NewList[uint16](p, "list", MaxElements(8))
		NewMap[uint16, int32](p, "table", MaxElements(8))
		s, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		return s, extend.OfServer(s).Records()[0]
	}
	f.Add([]byte{3, 1, 7, 0, byte(opReset), byte(opInsert), 0, 0, 5, 0}, []byte{3, 1, 2, 0, byte(opWhole)})
	f.Add([]byte{3, 1, 3, 0, byte(opReset), byte(opWhole)}, []byte{3, 2, 3, 1, byte(opReset), byte(opWhole)})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s, feature := made(t)
		if feature.Read(first, true) {
			feature.Read(second, false)
		}
		id := s.Spawn()
		feature.Apply(func(netcode.NetworkID) netcode.NetworkID { return id })
		steps.OfServer(s).BeginFrame(0)
		steps.OfServer(s).Send()
		e, _ := extend.ExtensionOf[*end](s)
		for _, c := range e.origin.contents {
			require.LessOrEqual(t, c.rows.Len(), 8)
		}
	})
}

// After a recording has ended, no changes are stored for it.
func TestAStoppedRecordingKeepsNoChanges(t *testing.T) {
	p := netcode.NewProtocol()
	list := NewList[uint16](p, "list")
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	id := s.Spawn()
	kept := func() int {
		steps.OfServer(s).BeginFrame(0)
		require.NoError(t, list.Of(s, id).Append(7))
		steps.OfServer(s).Send()
		e, _ := extend.ExtensionOf[*end](s)
		return len(e.recording.bodies)
	}
	feature := extend.OfServer(s).Records()[0]
	feature.Write(nil, true)
	require.NotZero(t, kept())
	feature.Stop()
	require.Zero(t, kept())
}

// TestAnEntityBeforeTakesNothingAlong: an entity has its own collections, not those of an earlier entity at its index.
// They stay when the earlier one is found to be gone.
func TestAnEntityBeforeTakesNothingAlong(t *testing.T) {
	p := netcode.NewProtocol()
	NewList[uint16](p, "list")
	NewMap[uint16, int32](p, "table")
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	feature := extend.OfServer(s).Records()[0]
	first, second := s.Spawn(), s.Spawn()
	require.True(t, feature.Read([]byte{3, 1, 3, 0, byte(opReset), byte(opWhole)}, true))
	feature.Apply(func(netcode.NetworkID) netcode.NetworkID { return first })
	require.True(t, feature.Read([]byte{3, 2, 3, 1, byte(opReset), byte(opWhole)}, false))
	feature.Apply(func(recorded netcode.NetworkID) netcode.NetworkID {
		if recorded.Generation == 1 {
			return netcode.NetworkID{}
		}
		return second
	})
	e, _ := extend.ExtensionOf[*end](s)
	require.NotNil(t, e.recording.mirror.Find(1, netcode.NetworkID{Index: 3, Generation: 2}))
	require.NotNil(t, e.origin.Find(1, second))
}
