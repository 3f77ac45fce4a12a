package predict

import (
	"encoding/hex"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/wire"
)

// The example of PROTOCOL.md: entities 5, 6 and 300 rest in tick 70000.
func TestTheBytesOfRestingEntities(t *testing.T) {
	const golden, settled = "7011030500f135", "7011830500f135"
	room := make([]byte, 64)
	w := restWriter{room: room, size: restHead}
	for _, index := range []uint32{5, 6, 300} {
		w.add(index)
	}
	require.Equal(t, golden, hex.EncodeToString(room[:w.finish(70000, false)]))
	require.Equal(t, settled, hex.EncodeToString(room[:w.finish(70000, true)]))
	none := restWriter{room: room, size: restHead}
	require.Equal(t, "701180", hex.EncodeToString(room[:none.finish(70000, true)]))
	require.NoError(t, readRest([]byte{0x70, 0x11, 0x80}, func(uint32) { t.Error("there is none") }))
	require.Error(t, readRest([]byte{0x70, 0x11, 0}, func(uint32) {}))
	require.Error(t, readRest([]byte{0x70, 0x11, 0x81}, func(uint32) {}))
	require.Error(t, readRest([]byte{0x70, 0x11, 1, 250, 0, 0, 9}, func(uint32) {}), "9 in more bytes than it needs")
	payload, err := hex.DecodeString(golden)
	require.NoError(t, err)
	var read []uint32
	require.NoError(t, readRest(payload, func(index uint32) {
		read = append(read, index)
	}))
	require.Equal(t, []uint32{5, 6, 300}, read)
}

// The examples of PROTOCOL.md: a question about entity 7 of generation 2, and the answer in tick 300.
func TestTheBytesOfLocalState(t *testing.T) {
	type cooldown struct{ Ticks int32 }
	var s wire.Serializer
	write := func(m wire.Serializable) string {
		room := make([]byte, 64)
		n, err := s.Write(room, m)
		require.NoError(t, err)
		return hex.EncodeToString(room[:n])
	}
	q := askLocals{Entities: []netcode.NetworkID{{Index: 7, Generation: 2}}}
	require.Equal(t, "010700000002000000", write(&q))
	row, v := newLocalRow[cooldown](), cooldown{9}
	w := wire.NewWriter(make([]byte, 8))
	row.write(&w, bytesAt((*byte)(unsafe.Pointer(&v)), 4))
	a := localsAnswer{Tick: 300, Data: append([]byte{1, 1}, w.Written()...)}
	require.Equal(t, "2c0106010109000000", write(&a))
	require.Equal(t, "{Ticks:i32}", row.text)
	var read askLocals
	require.NoError(t, s.Read([]byte{1, 7, 0, 0, 0, 2, 0, 0, 0}, &read))
	require.Equal(t, q, read)
	require.Error(t, s.Read([]byte{17}, &read), "more than 16 entities")
}

func FuzzReadRest(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0})
	f.Add([]byte{1, 0, 2, 5, 7})
	f.Add([]byte{1, 0, restSpawnsAcked | 1, 5})
	f.Add([]byte{1, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})
	f.Fuzz(func(t *testing.T, payload []byte) {
		last, count := int64(-1), 0
		err := readRest(payload, func(index uint32) {
			if int64(index) <= last {
				t.Fatalf("index %d after %d", index, last)
			}
			last = int64(index)
			count++
		})
		if err == nil && (count == 0 && payload[2] != restSpawnsAcked || count > restAtMost) {
			t.Fatalf("%d entities", count)
		}
	})
}

// An illegal answer about local components changes only the entities of the question.
func FuzzHearLocals(f *testing.F) {
	type one struct{ A uint8 }
	type two struct {
		B bool
		C uint32
	}
	f.Add([]byte{1, 1, 7, 1, 1, 2, 0, 0, 0})
	f.Add([]byte{1, 0, 1, 1, 2, 0, 0, 0, 0, 1})
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		all := &predictions{local: []localRow{newLocalRow[one](), newLocalRow[two]()}}
		c := &client{sim: &Simulation{all: all}}
		asked := []netcode.NetworkID{{Index: 1, Generation: 1}, {Index: 2, Generation: 1}}
		c.hearLocals(asked, &localsAnswer{Tick: 5, Data: data})
		h := &c.history
		h.components = []component{{size: 1}, {size: 8}}
		h.grow(1)
		if len(c.locals.known) > len(asked) {
			t.Fatalf("%d entities", len(c.locals.known))
		}
		for i := range c.locals.known {
			c.takeLocal(0, &c.locals.known[i])
			if b := h.bytes(5, 0, 1)[0]; b > 1 {
				t.Fatalf("a boolean is %d", b)
			}
		}
	})
}

// The example of PROTOCOL.md, and a report that is cut to its limit.
func TestTheBytesOfAReport(t *testing.T) {
	var s wire.Serializer
	room := make([]byte, 300)
	n, err := s.Write(room, &Reported{Stats: Stats{Steps: 300, Replayed: 9, Rollbacks: 3, Mispredictions: 2, Corrected: 1}, Newest: "x"})
	require.NoError(t, err)
	require.Equal(t, "f13c090302010178", hex.EncodeToString(room[:n]))
	var read Reported
	require.NoError(t, s.Read(room[:n], &read))
	require.EqualValues(t, 300, read.Steps)
	require.Error(t, s.Read(append([]byte{0, 0, 0, 0, 0, 201, 1}, make([]byte, 201)...), &read), "a text of 201 bytes")
}
