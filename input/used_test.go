package input

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

func usedTypes() *types {
	p := netcode.NewProtocol()
	Register[sticks](p)
	Register[look](p)
	TellUsed(p)
	p.Hash()
	in, _ := extend.ExtensionOf[*types](p)
	return in
}

// A section has the ticks that the client has not acknowledged, the newest first.
func TestUsedInputsAreToldUntilTheyAreAcknowledged(t *testing.T) {
	in := usedTypes()
	u := newUsedInputs(in, reach)
	for at := tick.Tick(100); at < 130; at++ {
		u.ticks[at%reach], u.types[at%reach], u.news = at, 1, u.news|1<<(at%reach)
		u.row(at)[0] = 0
	}
	write := func(room []byte, packet uint64) int {
		u.told = false
		n := u.write(room, packet)
		require.Zero(t, u.write(room, packet+100), "one packet of a tick has it")
		return n
	}
	read := func(room []byte) (ticks []uint16) {
		require.NoError(t, readUsed(in, room, make([]uint32, in.lanes), func(low uint16, types uint8, _ []uint32) {
			require.EqualValues(t, 1, types)
			ticks = append(ticks, low)
		}))
		return ticks
	}
	room := make([]byte, 1000)
	first := read(room[:write(room, 7)])
	require.Len(t, first, usedAtMost)
	require.EqualValues(t, 129, first[0])
	u.acked(8)
	require.Equal(t, first, read(room[:write(room, 9)]), "another packet was acknowledged")
	u.acked(9)
	second := read(room[:write(room, 10)])
	require.EqualValues(t, 129-usedAtMost, second[0])
	require.Len(t, second, 30-usedAtMost)
	small := read(room[:write(room[:20], 11)])
	require.Less(t, len(small), len(second))
	require.Zero(t, write(room[:3], 12))
	u.acked(10)
	require.Zero(t, write(room, 13))
}

// Used inputs leave half of a packet to state that waits, unless a single tick needs more.
func TestUsedInputsLeaveRoomForState(t *testing.T) {
	in := usedTypes()
	u := newUsedInputs(in, reach)
	for at := tick.Tick(100); at < 130; at++ {
		u.ticks[at%reach], u.types[at%reach], u.news = at, 3, u.news|1<<(at%reach)
	}
	beside := func(size int, waits bool) int {
		u.told = false
		return u.writeBeside(make([]byte, size), 7, waits)
	}
	all := beside(80, false)
	require.Greater(t, all, 40)
	half := beside(80, true)
	require.Positive(t, half)
	require.LessOrEqual(t, half, 40)
	one := beside(0, true)
	require.Zero(t, one)
	for size := 3; one == 0; size++ {
		one = beside(size, false)
	}
	require.Equal(t, one, beside(one, true), "a tick that needs more than half is told")
}

func FuzzReadUsed(f *testing.F) {
	in := usedTypes()
	u := newUsedInputs(in, reach)
	u.ticks[5], u.types[5], u.news = 5, 3, 1<<5
	room := make([]byte, 100)
	f.Add(room[:u.write(room, 1)])
	f.Add([]byte{1, 0, 0, 0})
	scratch := make([]uint32, in.lanes)
	f.Fuzz(func(t *testing.T, payload []byte) {
		count := 0
		if err := readUsed(in, payload, scratch, func(uint16, uint8, []uint32) { count++ }); err == nil && (count == 0 || count > usedAtMost) {
			t.Fatalf("%d ticks", count)
		}
	})
}

// The example of PROTOCOL.md: in tick 70001 the server used a yaw of 3 (look, the first type), and none in tick 70000.
func TestTheBytesOfUsedInputs(t *testing.T) {
	in := usedTypes()
	u := newUsedInputs(in, reach)
	for at, types := range map[tick.Tick]uint8{70000: 0, 70001: 1} {
		u.ticks[at%reach], u.types[at%reach], u.news = at, types, u.news|1<<(at%reach)
	}
	in.of(u.row(70001), 0)[0] = 3
	room := make([]byte, 100)
	payload := room[:u.write(room, 1)]
	require.Equal(t, "027111010300701100", hex.EncodeToString(payload))
}
