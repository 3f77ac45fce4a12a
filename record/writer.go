package record

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// packLevel is the DEFLATE level. Payloads hardly shrink: it is for notes.
const packLevel = 2

// Writer records a store tick by tick. It is a view that sees everything: the payloads of a tick are written as they would be sent,
// and count as acknowledged at once. About once per second a chunk is written in a single call. The next one starts with everything
// in full, so that it can be read alone. Once warm it allocates nothing.
type Writer struct {
	store   *snapshot.Store
	view    *snapshot.View
	seq     uint64 // of the newest payload
	payload []byte
	width   int // most bytes that a decoded record takes
	held    int // upper bound of the decoded records of the chunk, in bytes

	out    io.Writer
	rate   int
	packer *flate.Writer
	packed bytes.Buffer
	tick   []byte // of one tick, uncompressed
	notes  []byte // of the next tick
	raw    int    // bytes of the chunk so far, uncompressed
	first  tick.Tick
	last   tick.Tick
	ticks  int
	failed error
}

// usualPayload is the room of a payload; a record that is larger has as much more as the schema's rows may take.
const usualPayload = 1 << 16

// NewWriter writes the header. Its component entries must be those of the schema of the store, in the same order.
func NewWriter(out io.Writer, h Header, store *snapshot.Store) (*Writer, error) {
	if err := h.useTables(store.Schema()); err != nil {
		return nil, err
	}
	return newWriter(out, h, store)
}

// newWriter does what NewWriter does, for a header with tables.
func newWriter(out io.Writer, h Header, store *snapshot.Store) (*Writer, error) {
	h.Window = store.Window()
	text := h.appendText(nil)
	if err := h.check(); err != nil || len(text) > maxHeader {
		return nil, cmp.Or(err, fmt.Errorf("%w: a header of %d bytes", ErrFormat, len(text)))
	}
	w := &Writer{out: out, rate: h.TickRate, store: store, width: 64}
	w.view = snapshot.NewView(store, snapshot.Config{SentPackets: 1 << 15, Recorder: true}) // so that a tick of any size fits
	room := usualPayload
	for row, lanes := range store.Schema().Widths {
		room, w.width = room+(store.Schema().Plan(row).Bits()+63)/64*8, w.width+4*int(lanes)
	}
	w.payload = make([]byte, room)
	w.packed.WriteString(magic)
	w.packed.Write(make([]byte, headerFixed-len(magic)))
	w.packer, _ = flate.NewWriter(&w.packed, packLevel) // the level is legal, and a buffer takes everything
	_, _ = w.packer.Write(text)
	_ = w.packer.Close()
	b := w.packed.Bytes()
	binary.LittleEndian.PutUint32(b[len(magic):], uint32(len(b)-headerFixed))
	binary.LittleEndian.PutUint32(b[len(magic)+4:], uint32(len(text)))
	binary.LittleEndian.PutUint32(b[len(magic)+8:], checksum(b[headerFixed:]))
	_, err := out.Write(b)
	return w, err
}

// Tick records the newest capture; call it after each. It ignores ticks that are not later than the previous one. After
// an error the writer does nothing and returns that error again.
func (w *Writer) Tick() error {
	now := w.store.Tick()
	if w.failed != nil || now <= w.last {
		return w.failed
	}
	if w.chunkIsFull() {
		if w.flush(); w.failed != nil {
			return w.failed
		}
	}
	w.view.Observe()
	w.tick = w.tick[:0]
	if w.ticks == 0 {
		w.begin(now)
	} else {
		w.tick = wire.AppendVarint(w.tick, uint64(now-w.last))
	}
	w.last = now
	w.ticks++
	w.payloads()
	w.tick = wire.AppendVarint(w.tick, 0)
	w.tick = wire.AppendVarint(append(w.tick, w.notes...), 0)
	w.notes = w.notes[:0]
	if w.raw += len(w.tick); w.raw > maxRaw && w.failed == nil {
		w.failed = fmt.Errorf("record: a chunk of more than %d bytes", maxRaw)
	}
	if w.failed == nil {
		_, w.failed = w.packer.Write(w.tick)
	}
	return w.failed
}

// payloads appends the payloads of a tick, each behind its length.
func (w *Writer) payloads() {
	first, before := w.seq+1, w.view.Stats()
	w.view.Plan(-1)
	for w.view.Pending() {
		n := w.view.Write(w.payload, w.seq+1)
		if n == 0 {
			break
		}
		w.seq++
		w.tick = append(wire.AppendVarint(w.tick, uint64(n)), w.payload[:n]...)
	}
	after := w.view.Stats()
	w.held += int(after.Spawns+after.Updates-before.Spawns-before.Updates) * w.width
	if w.view.Pending() || after.Oversize > before.Oversize {
		w.failed = fmt.Errorf("record: tick %d does not fit payloads of %d bytes", w.store.Tick(), len(w.payload))
	}
	for seq := first; seq <= w.seq; seq++ {
		w.view.Acked(seq)
	}
}

// Begins reports whether the next Tick starts a chunk, which can be read without earlier ones.
func (w *Writer) Begins() bool { return w.ticks == 0 || w.chunkIsFull() }

func (w *Writer) chunkIsFull() bool {
	return w.ticks == w.rate || w.raw > maxRaw/4 || w.held > maxHistory/2
}

// Note adds data of a kind to the next Tick, for Reader.Notes. Readers skip unknown kinds. kind is not 0.
func (w *Writer) Note(kind uint64, body []byte) {
	w.notes = wire.AppendVarint(w.notes, kind)
	w.notes = wire.AppendVarint(w.notes, uint64(len(body)))
	w.notes = append(w.notes, body...)
}

// begin starts a chunk.
func (w *Writer) begin(now tick.Tick) {
	w.first, w.raw, w.held = now, 0, 0
	w.packed.Reset()
	w.packed.Write(make([]byte, chunkFixed))
	w.packer.Reset(&w.packed)
	w.view.Restart(w.seq + 1)
}

// flush writes the chunk.
func (w *Writer) flush() {
	if w.failed != nil || w.ticks == 0 {
		return
	}
	if w.failed = w.packer.Close(); w.failed != nil {
		return
	}
	b := w.packed.Bytes()
	copy(b, chunkMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-chunkFixed))
	binary.LittleEndian.PutUint32(b[8:], uint32(w.raw))
	binary.LittleEndian.PutUint64(b[12:], uint64(w.first))
	binary.LittleEndian.PutUint32(b[20:], uint32(w.last-w.first))
	binary.LittleEndian.PutUint32(b[24:], uint32(w.ticks))
	binary.LittleEndian.PutUint32(b[28:], checksum(b[:28], b[chunkFixed:]))
	w.ticks = 0
	_, w.failed = w.out.Write(b)
}

// Close writes the remaining data. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.flush()
	return w.failed
}
