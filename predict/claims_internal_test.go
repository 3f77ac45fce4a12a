package predict

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// The examples of PROTOCOL.md: an effect in tick 70000 of entity 7 of generation 2, and the systems of a server.
func TestTheBytesOfEffectsAndSystems(t *testing.T) {
	var s wire.Serializer
	for want, m := range map[string]wire.Serializable{
		"03000170110900fc020000000801": &claims{Judged: 3, Effects: []claimed{{Tick: 70000 & 0xFFFF, Kind: 9, Name: 2<<32 | 7 + 1, Ordinal: 1}}},
		"020361626303646566":           &systemList{Names: []string{"abc", "def"}},
	} {
		room := make([]byte, 64)
		n, err := s.Write(room, m)
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(room[:n]))
	}
	require.Error(t, s.Read([]byte{0, 0, claimsInMessage + 1}, &claims{}))
	require.Error(t, s.Read([]byte{systemsAtMost + 1}, &systemList{}))
}

// A hostile client claims effects without end.
func TestClaimsAreBounded(t *testing.T) {
	var l waitingClaims
	for range 20 {
		l.add(make([]claimed, claimsInMessage))
	}
	require.Len(t, l.waiting, claimsAtMost)
}

// Names of systems are cut to what a message holds, and function literals have one name.
func TestNamesOfSystems(t *testing.T) {
	require.Equal(t, []string{"predict.named", "func literal"}, namesOf([]System{Func(named), Func(func(*Step) {})}))
	require.Len(t, namesOf(make([]System, 200)), systemsAtMost)
	for _, name := range namesOf([]System{aSystemWithAVeryLongNameThatNoMessageOfSixtyFourBytesCanHoldInWhole{}}) {
		require.LessOrEqual(t, len(name), systemText)
		require.True(t, strings.HasPrefix(name, "predict.aSystem"))
	}
}

func named(*Step) {}

type aSystemWithAVeryLongNameThatNoMessageOfSixtyFourBytesCanHoldInWhole struct{}

func (aSystemWithAVeryLongNameThatNoMessageOfSixtyFourBytesCanHoldInWhole) Step(*Step) {}

func FuzzReadClaims(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0x70, 0x11, 9, 0, 8, 1})
	f.Add([]byte{2, 3, 'a', 'b', 'c', 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var s wire.Serializer
		var effects, again claims
		if s.Read(payload, &effects) == nil {
			require.LessOrEqual(t, len(effects.Effects), claimsInMessage)
			room := make([]byte, 2048)
			n, err := s.Write(room, &effects)
			require.NoError(t, err)
			require.NoError(t, s.Read(room[:n], &again))
			require.Equal(t, effects, again)
		}
		var names systemList
		if s.Read(payload, &names) == nil {
			require.LessOrEqual(t, len(names.Names), systemsAtMost)
			for _, name := range names.Names {
				require.LessOrEqual(t, len(name), systemText)
			}
		}
	})
}
