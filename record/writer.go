package record

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// packLevel is the DEFLATE level. Level 6 would save a tenth of the bytes and take eight times as long.
const packLevel = 2

// Writer records the captured world tick by tick. Each tick is compressed when it is recorded. About once per second a
// chunk is written in a single call, and the next chunk starts with the whole world. Once warm it allocates nothing.
type Writer struct {
	out      io.Writer
	rate     int
	plans    []*quantize.Plan
	older    snapshot.Mask // plans of older builds: not recorded
	packer   *flate.Writer
	packed   bytes.Buffer
	tick     []byte // of one tick, uncompressed
	notes    []byte // of the next tick
	raw      int    // bytes of the chunk so far, uncompressed
	first    tick.Tick
	last     tick.Tick
	ticks    int
	known    []memory // by index: state recorded in the chunk
	epoch    uint32
	failed   error
	previous uint32 // index of the previous record, plus 1
}

// memory is the newest state of an entity in the chunk.
type memory struct {
	epoch      uint32 // number of its chunk; of another chunk: empty
	generation uint32
	mask       snapshot.Mask
	lanes      []uint32      // rows in the order of mask
	before     []uint32      // likewise, before the last change of each row
	moving     snapshot.Mask // rows that changed in that tick and existed before
	number     int           // of the newest tick with a record of it, in the chunk from 1
}

// empty returns an empty memory that reuses the slices.
func (m *memory) empty() memory { return memory{lanes: m.lanes[:0], before: m.before[:0]} }

// change applies a tick's rows. It returns the changed rows that are extrapolated: those that also changed in the
// previous tick.
func (m *memory) change(plans []*quantize.Plan, mask, changed snapshot.Mask, number int) (moving snapshot.Mask) {
	if m.number == number-1 {
		moving = m.moving.Intersect(changed)
	}
	m.moving, m.number = changed.Intersect(m.mask), number
	if mask != m.mask {
		m.lanes = reshaped(plans, m.lanes, m.mask, mask)
		m.before = reshaped(plans, m.before, m.mask, mask)
		m.mask = mask
	}
	return moving
}

// expected returns the value that a lane is encoded against.
func (m *memory) expected(at int, moving bool) uint32 {
	if moving {
		return 2*m.lanes[at] - m.before[at]
	}
	return m.lanes[at]
}

// set replaces the value of a lane.
func (m *memory) set(at int, lane uint32) { m.before[at], m.lanes[at] = m.lanes[at], lane }

// NewWriter writes the header. Its component entries must be those of the schema of the recorded stores, in the same
// order.
func NewWriter(out io.Writer, h Header, schema *snapshot.Schema) (*Writer, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	head := h.appendTo(nil)
	if len(head) > headerFixed+maxHeader {
		return nil, fmt.Errorf("%w: a header of %d bytes", ErrFormat, len(head))
	}
	w := &Writer{out: out, rate: h.TickRate, older: schema.Older}
	for row := range schema.Rows() {
		w.plans = append(w.plans, schema.Plan(row))
	}
	var err error
	if w.packer, err = flate.NewWriter(&w.packed, packLevel); err != nil {
		return nil, err
	}
	_, err = out.Write(head)
	return w, err
}

// Tick records the newest capture; call it after each. It ignores ticks that are not later than the previous one. After
// an error the writer does nothing and returns that error again.
func (w *Writer) Tick(s *snapshot.Store) error {
	now := s.Tick()
	if w.failed != nil || now <= w.last {
		return w.failed
	}
	if w.chunkIsFull() {
		if w.flush(); w.failed != nil {
			return w.failed
		}
	}
	fresh := w.ticks == 0
	w.tick = w.tick[:0]
	if fresh {
		w.begin(now)
	} else {
		w.tick = wire.AppendVarint(w.tick, uint64(now-w.last))
	}
	w.last = now
	w.ticks++
	w.previous = 0
	if fresh {
		for id := range s.All {
			w.entity(s, id)
		}
	} else {
		w.gone(s.Deaths())
		for id := range s.Changes {
			w.entity(s, id)
		}
	}
	w.tick = wire.AppendVarint(w.tick, 0)
	w.tick = wire.AppendVarint(append(w.tick, w.notes...), 0)
	w.notes = w.notes[:0]
	if w.raw += len(w.tick); w.raw > maxRaw {
		w.failed = fmt.Errorf("record: a chunk of more than %d bytes", maxRaw)
		return w.failed
	}
	_, w.failed = w.packer.Write(w.tick)
	return w.failed
}

// Begins reports whether the next Tick starts a chunk, which can be read without earlier ones.
func (w *Writer) Begins() bool { return w.ticks == 0 || w.chunkIsFull() }

func (w *Writer) chunkIsFull() bool { return w.ticks == w.rate || w.raw > maxRaw/4 }

// Note adds data of a kind to the next Tick, for Reader.Notes. Readers skip unknown kinds. kind is not 0.
func (w *Writer) Note(kind uint64, body []byte) {
	w.notes = wire.AppendVarint(w.notes, kind)
	w.notes = wire.AppendVarint(w.notes, uint64(len(body)))
	w.notes = append(w.notes, body...)
}

// begin starts a chunk.
func (w *Writer) begin(now tick.Tick) {
	w.epoch++
	w.first, w.raw = now, 0
	w.packed.Reset()
	w.packed.Write(make([]byte, chunkFixed))
	w.packer.Reset(&w.packed)
}

// gone appends the indexes of ended entities.
func (w *Writer) gone(deaths []wire.NetworkID) {
	for _, id := range deaths {
		if uint(id.Index) >= uint(len(w.known)) {
			continue
		}
		if m := &w.known[id.Index]; m.epoch == w.epoch && m.generation == id.Generation {
			w.tick = wire.AppendVarint(w.tick, uint64(id.Index)+1)
			*m = m.empty()
		}
	}
	w.tick = wire.AppendVarint(w.tick, 0)
}

// entity appends an entity's record, unless it has not changed.
func (w *Writer) entity(s *snapshot.Store, id wire.NetworkID) {
	for int(id.Index) >= len(w.known) {
		w.known = append(w.known, memory{})
	}
	m := &w.known[id.Index]
	told := m.epoch == w.epoch && m.generation != 0
	mask := s.Mask(id)
	if told && m.generation == id.Generation {
		w.differences(s, id, m, mask)
		return
	}
	*m = m.empty()
	m.epoch, m.generation = w.epoch, id.Generation
	w.gap(id.Index)
	w.tick = append(w.tick, recordNew)
	w.tick = wire.AppendVarint(w.tick, uint64(id.Generation))
	w.rows(s, id, m, mask, mask)
}

// differences appends the differing rows of an entity that the chunk already has.
func (w *Writer) differences(s *snapshot.Store, id wire.NetworkID, m *memory, mask snapshot.Mask) {
	changed := mask.Minus(m.mask)
	at := 0
	for rows := m.mask; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		n := w.plans[row].Lanes()
		if mask.Has(row) && !slices.Equal(m.lanes[at:at+n], s.Row(id, row)) {
			changed = changed.With(row)
		}
		at += n
	}
	if changed.IsZero() && mask == m.mask {
		return
	}
	w.gap(id.Index)
	w.tick = append(w.tick, recordSame)
	w.rows(s, id, m, mask, changed)
}

// gap appends the distance to the next index; it is never 0, which ends a tick.
func (w *Writer) gap(index uint32) {
	w.tick = wire.AppendVarint(w.tick, uint64(index+1-w.previous))
	w.previous = index + 1
}

// rows appends the masks and the lanes of changed rows, each as its difference from the expected value.
func (w *Writer) rows(s *snapshot.Store, id wire.NetworkID, m *memory, mask, changed snapshot.Mask) {
	w.tick = w.appendRows(w.appendRows(w.tick, mask), changed)
	moving := m.change(w.plans, mask, changed, w.ticks)
	at := 0
	for rows := mask; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		n := w.plans[row].Lanes()
		if changed.Has(row) {
			for i, lane := range s.Row(id, row) {
				w.tick = wire.AppendVarint(w.tick, uint64(zigzag(lane-m.expected(at+i, moving.Has(row)))))
				m.set(at+i, lane)
			}
		}
		at += n
	}
}

// appendRows appends a mask of rows by their numbers in the recording, which has no rows of older builds.
func (w *Writer) appendRows(b []byte, rows snapshot.Mask) []byte {
	return appendMask(b, rows.Squeeze(w.older), len(w.plans)-w.older.Count())
}

// appendMask appends a mask of a protocol with this number of rows, 64 rows per number.
func appendMask(b []byte, mask snapshot.Mask, rows int) []byte {
	for word := 0; word == 0 || 64*word < rows; word++ {
		b = wire.AppendVarint(b, mask.Word(word))
	}
	return b
}

// reshaped converts lanes from one mask to another; new rows are zero.
func reshaped(plans []*quantize.Plan, old []uint32, from, mask snapshot.Mask) []uint32 {
	size := 0
	for rows := mask; !rows.IsZero(); rows = rows.Rest() {
		size += plans[rows.Lowest()].Lanes()
	}
	if len(old) == 0 && cap(old) >= size {
		old = old[:size]
		clear(old)
		return old
	}
	lanes := make([]uint32, size)
	to, at := 0, 0
	for row, p := range plans {
		n := p.Lanes()
		if from.Has(row) && mask.Has(row) {
			copy(lanes[to:to+n], old[at:at+n])
		}
		if from.Has(row) {
			at += n
		}
		if mask.Has(row) {
			to += n
		}
	}
	return lanes
}

// zigzag maps small positive and negative differences to small numbers.
func zigzag(d uint32) uint32 { return d<<1 ^ uint32(int32(d)>>31) }

func unzigzag(v uint32) uint32 { return v>>1 ^ -(v & 1) }

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
