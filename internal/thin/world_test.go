package thin_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/thin"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type health struct {
	Points uint8
}

type position struct {
	X float32 `net:"min=-512,max=512,step=0.5"`
	Y float32 `net:"min=-512,max=512,step=0.5"`
}

// words is the protocol of the example in docs/plain.md.
const words = `component Health
field Points int 8 0 0 0
component Position
field X scaled 12 2048 -512 512
field Y scaled 12 2048 -512 512
`

func example(t testing.TB) (*snapshot.Store, func(id wire.NetworkID, points uint32, x, y float32)) {
	points, err := quantize.Compile(reflect.TypeFor[health](), "Health")
	require.NoError(t, err)
	place, err := quantize.Compile(reflect.TypeFor[position](), "Position")
	require.NoError(t, err)
	store := snapshot.NewStore(format.NewSchema([]*quantize.Plan{points, place}), snapshot.Config{})
	return store, func(id wire.NetworkID, points uint32, x, y float32) {
		store.Set(id, 0, []uint32{points})
		store.Set(id, 1, []uint32{uint32((x + 512) * 2), uint32((y + 512) * 2)})
	}
}

// TestTheExampleOfThePage writes the two snapshots of docs/plain.md, and reads them.
func TestTheExampleOfThePage(t *testing.T) {
	store, set := example(t)
	view := snapshot.NewView(store, snapshot.Config{Plain: true})
	var payloads [2][]byte
	var ids [2]wire.NetworkID
	for i := range payloads {
		store.Begin(tick.Tick(3 + i))
		if i == 0 {
			ids[0], ids[1] = store.Spawn(), store.Spawn()
			set(ids[0], 100, 1, -2)
			set(ids[1], 50, 0, 0)
		} else {
			set(ids[1], 50, 0.5, 0)
		}
		store.Commit()
		view.Observe()
		b := make([]byte, 200)
		payloads[i] = b[:view.Write(b, uint64(i+1))]
		view.Acked(uint64(i + 1))
	}
	page, err := os.ReadFile("../../docs/plain.md")
	require.NoError(t, err)
	world := thin.NewWorld(thin.NewProtocol(words), 1)
	for _, payload := range payloads {
		require.Contains(t, string(page), fmt.Sprintf("\n    % x\n", payload))
		require.NoError(t, world.Snapshot(payload))
	}
	require.Equal(t, thin.Row{"X": 0.5, "Y": 0.0}, world.Entities[1].Rows["Position"])
	require.Equal(t, thin.Row{"Points": int64(50)}, world.Entities[1].Rows["Health"])
	require.Equal(t, thin.Row{"X": 1.0, "Y": -2.0}, world.Entities[0].Rows["Position"])
	require.Equal(t, int64(4), world.Tick)
}

// TestThinClientsAreThin counts the lines of each client that are not empty: at most 300, of at most 120 columns.
func TestThinClientsAreThin(t *testing.T) {
	for _, file := range []string{"python/netcode_plain.py", "csharp/Client.cs", "godot/netcode_plain.gd"} {
		text, err := os.ReadFile("../../clients/" + file)
		require.NoError(t, err)
		lines := 0
		for _, line := range strings.Split(string(text), "\n") {
			if strings.TrimSpace(line) != "" {
				lines++
			}
			require.LessOrEqual(t, len(strings.ReplaceAll(line, "\t", "    ")), 120, "%s: %s", file, line)
		}
		require.LessOrEqual(t, lines, 300, file)
		require.Greater(t, lines, 200, file)
	}
}

// FuzzSnapshot gives the reader any bytes. It takes them or leaves its world as it was; it neither panics nor grows beyond what the bytes have.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte{3, 0, 0x80, 0x2e, 0x99, 1})
	f.Add([]byte{3, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	store, set := example(f)
	view := snapshot.NewView(store, snapshot.Config{Plain: true})
	store.Begin(3)
	set(store.Spawn(), 1, 2, 3)
	store.Commit()
	view.Observe()
	b := make([]byte, 200)
	f.Add(b[:view.Write(b, 1)])
	f.Fuzz(func(t *testing.T, payload []byte) {
		world := thin.NewWorld(thin.NewProtocol(words), 1)
		if err := world.Snapshot(payload); err != nil {
			require.ErrorIs(t, err, thin.ErrMalformed)
			require.Empty(t, world.Entities)
		}
		require.LessOrEqual(t, len(world.Entities), 8*len(payload))
	})
}

// TestPlainRecordsAllocateNothing writes and acknowledges the snapshots of a world in motion.
func TestPlainRecordsAllocateNothing(t *testing.T) {
	store, set := example(t)
	view := snapshot.NewView(store, snapshot.Config{Plain: true})
	var ids []wire.NetworkID
	now, sequence, b := tick.Tick(0), uint64(0), make([]byte, 1100)
	step := func() {
		now++
		store.Begin(now)
		for i, id := range ids {
			set(id, uint32(now)%200, float32((int(now)+i)%100), 0)
		}
		store.Commit()
		view.Observe()
		for view.Pending() {
			sequence++
			if view.Write(b, sequence) == 0 {
				break
			}
			if sequence%8 != 0 {
				view.Acked(sequence)
			} else {
				view.Lost(sequence)
			}
		}
	}
	store.Begin(1)
	for range 300 {
		ids = append(ids, store.Spawn())
	}
	store.Commit()
	view.Observe()
	now = 1
	for range 500 {
		step()
	}
	alloctest.Zero(t, 100, step)
	require.NotZero(t, view.Stats().Updates)
}

// TestAChangeOfALostPacketIsSentAgain loses the packet of the tick after the newest acknowledged one. The next record has its change too.
func TestAChangeOfALostPacketIsSentAgain(t *testing.T) {
	store, set := example(t)
	view := snapshot.NewView(store, snapshot.Config{Plain: true})
	world, b := thin.NewWorld(thin.NewProtocol(words), 1), make([]byte, 200)
	var id wire.NetworkID
	for i, of := range []struct {
		points uint32
		x      float32
		lost   bool
	}{{1, 0, false}, {2, 0, true}, {2, 5, false}} {
		store.Begin(tick.Tick(3 + i))
		if i == 0 {
			id = store.Spawn()
		}
		set(id, of.points, of.x, 0)
		store.Commit()
		view.Observe()
		sequence := uint64(i + 1)
		if n := view.Write(b, sequence); of.lost {
			view.Lost(sequence)
		} else {
			require.NoError(t, world.Snapshot(b[:n]))
			view.Acked(sequence)
		}
	}
	require.Equal(t, thin.Row{"Points": int64(2)}, world.Entities[0].Rows["Health"])
	require.Equal(t, 5.0, world.Entities[0].Rows["Position"]["X"])
	require.True(t, view.Synced())
}
