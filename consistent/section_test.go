package consistent

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples of PROTOCOL.md.
func TestTheBytesOfSections(t *testing.T) {
	claim := section{packet: 0x1234, claimed: true, tick: 0x0170}
	for _, back := range []uint64{1, 3, 10} {
		claim.need(back)
	}
	repair := section{packet: 0x1230, state: []byte{1, 2, 3}}
	both := section{packet: 0x1231, claimed: true, tick: 0x016F, state: []byte{4}}
	for golden, s := range map[string]section{"34120270010502": claim, "3012ff010203": repair, "3112006f0104": both} {
		require.Equal(t, golden, hex.EncodeToString(s.put(nil)))
		require.Equal(t, len(golden)/2, s.size())
		payload, err := hex.DecodeString(golden)
		require.NoError(t, err)
		var read section
		require.NoError(t, read.parse(payload))
		if len(read.state) == 0 {
			read.state = nil
		}
		require.Equal(t, s, read)
	}
	var far section
	far.claimed = true
	far.need(1)
	far.need(maxBack)
	require.Equal(t, sectionHead+claimHead+128, far.size())
	require.NoError(t, check(far.put(nil)))
}

func TestIllegalSections(t *testing.T) {
	for _, bad := range []string{"", "3412", "3412ff", "341202700105", "34120170", "3412017001", "341201700100", "3412817001" + "01"} {
		payload, err := hex.DecodeString(bad)
		require.NoError(t, err)
		require.Error(t, check(payload), bad)
	}
}

func FuzzSection(f *testing.F) {
	f.Add([]byte{0x34, 0x12, 2, 0x70, 1, 5, 2})
	f.Add([]byte{0x30, 0x12, 255, 1, 2, 3})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var s section
		if s.parse(payload) != nil {
			return
		}
		require.Equal(t, payload, s.put(nil))
		require.Equal(t, len(payload), s.size())
	})
}
