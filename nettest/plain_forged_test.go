package nettest_test

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/internal/thin"
	"github.com/arche-netcode/netcode/wire"
)

// forgedPackets returns packets of a hostile server for the golden file. A client that takes one of the first list is broken: its world and its
// acknowledgements stay. Those of the second list are packets with a message that has no effect.
func forgedPackets(c *thin.Client) (illegal, useless [][]byte) {
	for _, batches := range [][]byte{
		{}, {2}, {0, 0}, {1, 0}, {3, 0}, {6, 0, 2, 0, 1, 0}, {5, 0, 2, 0, 0}, {2, 0, 2, 0}, {2, 0, 3, 0}, {2, 0, 9, 0, 128}, {2, 0, 0, 0, 0},
		{6, 0, 255, 255, 255, 255}, {2, 0, 255, 255, 64, 2, 0, 0, 0},
	} {
		illegal = append(illegal, c.Forge(1, batches))
	}
	for _, payload := range forgedSnapshots(uint16(c.World.Tick)) {
		illegal = append(illegal, c.Forge(1, firstBatch(1, payload)))
	}
	empty := []byte{2, 0}
	illegal = append(illegal, c.Forge(0, empty), c.Forge(-32, empty), c.Forge(-33, empty), c.Forge(-20000, empty))
	for i, batches := range [][]byte{
		firstBatch(2, nil), firstBatch(2, []byte{1}), firstBatch(3, nil), firstBatch(8, []byte{1, 2, 3}), firstBatch(16, nil), firstBatch(17, []byte{255}),
		firstBatch(15, []byte{1}), firstBatch(255, []byte{1}), {2, 0, 8, 0, 131, 17, 0, 1, 0, 9}, {2, 0, 12, 0, 131, 17, 0, 5, 0, 0, 128, 2, 0, 0},
		{2, 0, 9, 0, 131, 17, 16, 2, 0, 9, 0}, {2, 0, 10, 0, 144, 6, 0, 3, 0, 0, 0, 17}, {2, 0, 13, 0, 145, 6, 0, 6, 0, 0, 0, 17, 0, 7, 9},
	} {
		useless = append(useless, c.Forge(int64(1+i), batches))
	}
	return illegal, useless
}

// firstBatch returns the batch of channel 0 with one message.
func firstBatch(kind byte, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(6+len(payload)))
	b = binary.LittleEndian.AppendUint16(append(b, kind, 0), uint16(len(payload)))
	return append(b, payload...)
}

// forgedSnapshots returns payloads of which a client must take nothing. The golden game has seven components: Group, busyPlace, plainKinds, plainLeash,
// plainName and plainTag are rows 0 to 5.
func forgedSnapshots(tick uint16) (all [][]byte) {
	add := func(tick uint16, f func(w *wire.BitWriter)) {
		b := make([]byte, 64)
		w := wire.NewBitWriter(b)
		w.Write(uint64(tick), 16)
		f(&w)
		all = append(all, b[:w.Finish()])
	}
	despawn := func(gap, generation uint64) {
		add(tick+1, func(w *wire.BitWriter) {
			w.Bool(true)
			w.Var(gap)
			w.Var(generation)
			end(w)
		})
	}
	despawn(1<<20, 1)
	despawn(1<<40, 1)
	despawn(0, 0)
	despawn(0, 1<<32)
	// record begins with the head of an entity that is new and has one row.
	record := func(generation uint64, row int, rest func(w *wire.BitWriter)) {
		add(tick+1, func(w *wire.BitWriter) {
			w.Bool(false)
			w.Bool(false)
			w.Var(1)
			w.Bool(false)
			w.Bool(true)
			for i := range 6 {
				if w.Bool(i == row); i == row {
					w.Bool(true)
				}
			}
			w.Var(generation)
			rest(w)
			w.Bool(false)
			w.Var(0)
		})
	}
	nothing := func(*wire.BitWriter) {}
	record(0, 5, nothing)
	record(1<<32, 5, nothing)
	record(1<<62, 5, nothing)
	record(9, 4, func(w *wire.BitWriter) { w.Var(33) })                        // a text that is too long
	record(9, 4, func(w *wire.BitWriter) { w.Var(1 << 40) })                   // and one that is very long
	record(9, 4, func(w *wire.BitWriter) { w.Var(0); w.Var(9) })               // a list that is too long
	record(9, 1, func(w *wire.BitWriter) { w.Write(512001, 19); zeros(w, 5) }) // a number beyond its bounds
	for _, of := range [][3]uint64{{4999999996, 0, 0}, {0, 63488, 0}, {0, 0, 255}} {
		record(9, 2, func(w *wire.BitWriter) { // F, D and N, U, On, Half, Axis, Turn, S, Q
			zeros(w, 20)
			w.Write(of[0], 33)
			w.Bool(true)
			w.Write(of[1], 16)
			w.Write(of[2], 8)
			w.Write(0, 10)
			w.Var(0)
			w.Write(0, 29)
		})
	}
	record(9, 2, func(w *wire.BitWriter) {
		zeros(w, 20)
		w.Write(0, 33+1+16+8+10-8)
		w.Write(0, 8)
		w.Var(1 << 32)
		w.Write(0, 29)
	})
	add(tick+1, func(w *wire.BitWriter) { w.Bool(false); w.Bool(false); w.Var(1); w.Bool(true); end(w) })         // no head
	add(tick+1, func(w *wire.BitWriter) { w.Bool(false); w.Bool(true); end(w) })                                  // no head
	add(tick+1, func(w *wire.BitWriter) { zeros(w, 20) })                                                         // no end of a gap
	add(tick+1, func(w *wire.BitWriter) { w.Bool(false); w.Bool(false); zeros(w, 8) })                            // no end at all
	add(uint16(60000), end)                                                                                       // before the first tick
	add(0, end)                                                                                                   // the tick 0
	add(tick+1, func(w *wire.BitWriter) { w.Bool(false) })                                                        // it ends early
	add(tick+1, func(*wire.BitWriter) {})                                                                         // it ends at once
	add(tick+1, func(w *wire.BitWriter) { w.Bool(false); w.Bool(false); w.Var(1 << 20); w.Bool(false); last(w) }) // an index behind the last one
	return append(all, []byte{}, []byte{1})
}

// end writes no despawns and no records.
func end(w *wire.BitWriter) { w.Bool(false); w.Bool(false); w.Var(0) }

func zeros(w *wire.BitWriter, bytes int) {
	for range bytes {
		w.Write(0, 8)
	}
}

// last writes a record of the last index, and one behind it.
func last(w *wire.BitWriter) {
	w.Bool(true)
	w.Write(0, 6)
	w.Var(1)
	w.Bool(true)
	w.Var(1)
	w.Bool(false)
	w.Var(0)
}
