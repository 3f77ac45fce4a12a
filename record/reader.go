package record

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Reader reads a recording: after each Next it has the world as of a tick. The input may be damaged or hostile: the
// reader returns errors, and its memory is bounded by the size of the file times the maximum compression ratio.
type Reader struct {
	in     input
	header *Header
	plans  []*quantize.Plan
	chunks int    // number of valid chunks and damaged parts passed
	began  int64  // offset of the chunk in the file
	raw    []byte // rest of the chunk
	now    tick.Tick
	end    tick.Tick // of the chunk
	passed tick.Tick // end of the previous chunk
	left   int       // remaining ticks of the chunk
	known  []memory
	whole  bool // the tick is the first of its chunk
	fresh  bool // Next has started a chunk
	number int  // of the tick in its chunk, from 1
	ended  []uint32
	recent []uint32
	notes  []Note
}

// Note is additional data of a tick.
type Note struct {
	Kind uint64 // not 0
	Body []byte // valid until the reader's next call
}

// NewReader reads the header.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: input{in: in}}
	fixed, err := r.in.peek(headerFixed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(fixed) == 0 {
		return nil, fmt.Errorf("%w: the file is empty", ErrFormat)
	}
	if len(fixed) < headerFixed || string(fixed[:len(magic)]) != magic || binary.LittleEndian.Uint32(fixed[len(magic):]) > maxHeader {
		return nil, fmt.Errorf("%w: it begins % x", ErrFormat, fixed)
	}
	size, sum := int(binary.LittleEndian.Uint32(fixed[len(magic):])), binary.LittleEndian.Uint32(fixed[len(magic)+4:])
	r.in.skip(headerFixed)
	text, err := r.in.peek(size)
	switch {
	case err != nil:
		return nil, err
	case len(text) < size:
		return nil, faulty(ErrCut, "%d of %d bytes of the header", len(text), size)
	case checksum(text) != sum:
		return nil, faulty(ErrDamaged, "the sum of the header is wrong")
	}
	if r.header, err = parseHeader(string(text)); err != nil {
		return nil, err
	}
	r.in.skip(size)
	r.plans, err = r.header.Plans()
	return r, err
}

// Header returns the header of the recording.
func (r *Reader) Header() *Header { return r.header }

// Plans returns the plans of the recorded components, by row.
func (r *Reader) Plans() []*quantize.Plan { return r.plans }

// chunkHead is the head of a chunk.
type chunkHead struct {
	stored, raw, sum uint32
	first, last      tick.Tick
	ticks            int
}

// head parses a chunk's head.
func (r *Reader) head(fixed []byte) (h chunkHead, err error) {
	h.stored, h.raw = binary.LittleEndian.Uint32(fixed[4:]), binary.LittleEndian.Uint32(fixed[8:])
	first, span := binary.LittleEndian.Uint64(fixed[12:]), binary.LittleEndian.Uint32(fixed[20:])
	ticks := binary.LittleEndian.Uint32(fixed[24:])
	h.sum = binary.LittleEndian.Uint32(fixed[28:])
	switch {
	case string(fixed[:4]) != chunkMagic:
		return h, faulty(ErrDamaged, "it begins % x", fixed[:4])
	case h.raw > maxRaw || h.stored > maxRaw+maxRaw/8 || uint64(h.raw) > uint64(h.stored)*maxShrink:
		return h, faulty(ErrDamaged, "it claims to be %d bytes in %d", h.raw, h.stored)
	case first == 0 || first > 1<<62 || first <= uint64(r.end) || ticks == 0 || ticks > maxTicks || uint64(span) < uint64(ticks)-1:
		return h, faulty(ErrDamaged, "it claims to be %d ticks from %d over %d", ticks, first, span)
	}
	h.first, h.last, h.ticks = tick.Tick(first), tick.Tick(first)+tick.Tick(span), int(ticks)
	return h, nil
}

// Seek skips the chunks that end before a tick, without decompressing them. Next then returns the first tick of the
// chunk that contains t, or of the next chunk. For a tick that was read or skipped already it returns ErrBackwards and
// changes nothing. At the end of the recording it returns io.EOF. After a DamageError it may be called again and
// continues.
func (r *Reader) Seek(t tick.Tick) error {
	switch {
	case t > r.end:
	case r.end == tick.None, r.fresh && t > r.passed, !r.fresh && r.left > 0 && t > r.now:
		return nil // still ahead
	default:
		return fmt.Errorf("%w: to tick %d, after tick %d", ErrBackwards, t, max(r.passed, r.now))
	}
	for {
		h, packed, err := r.chunk()
		if err != nil {
			return err
		}
		if h.last >= t {
			return r.open(&h, packed)
		}
		r.pass(&h)
	}
}

// pass moves past a chunk.
func (r *Reader) pass(h *chunkHead) {
	r.began = r.in.offset
	r.in.skip(chunkFixed + int(h.stored))
	r.chunks++
	r.passed, r.end, r.left, r.fresh = r.end, h.last, 0, false
}

// open decompresses a chunk and moves past it.
func (r *Reader) open(h *chunkHead, packed []byte) error {
	raw := bytes.NewBuffer(make([]byte, 0, h.raw))
	in := bytes.NewReader(packed)
	n, err := io.Copy(raw, io.LimitReader(flate.NewReader(in), int64(h.raw)+1))
	left := in.Len()
	r.pass(h)
	if err != nil || n != int64(h.raw) || left != 0 {
		return r.within(r.passed, "it does not unpack")
	}
	r.raw, r.left, r.now = raw.Bytes(), h.ticks, h.first
	r.fresh = true
	return nil
}

// Next reads the next tick. It returns io.EOF at the end, ErrCut if the file ends within a chunk, and a *DamageError
// for a damaged part; the next call then continues after the damage. With ErrCut the world is still that of the
// previous tick; with a DamageError it is undefined.
func (r *Reader) Next() (tick.Tick, error) {
	if r.left == 0 {
		h, packed, err := r.chunk()
		if err == nil {
			err = r.open(&h, packed)
		}
		if err != nil {
			return tick.None, err
		}
	}
	given := r.now
	if r.fresh {
		given = r.passed
	}
	if !r.nextTick() {
		r.left = 0
		return tick.None, r.within(given, "its ticks are none")
	}
	return r.now, nil
}

// varint reads a number of at most limit.
func (r *Reader) varint(limit uint64) (uint64, bool) {
	v, n, err := wire.ReadVarint(r.raw)
	if err != nil || v > limit {
		return 0, false
	}
	r.raw = r.raw[n:]
	return v, true
}

// nextTick reads one tick.
func (r *Reader) nextTick() bool {
	whole := r.fresh
	r.whole = whole
	r.fresh, r.ended, r.recent, r.notes = false, r.ended[:0], r.recent[:0], r.notes[:0]
	r.number++
	if whole {
		r.number = 1
		for i := range r.known {
			r.known[i] = r.known[i].empty()
		}
	} else {
		step, ok := r.varint(uint64(r.end - r.now))
		if !ok || step == 0 {
			return false
		}
		r.now += tick.Tick(step)
		if !r.gone() {
			return false
		}
	}
	next := uint64(0)
	for {
		gap, ok := r.varint(snapshot.MaxEntities)
		if !ok {
			return false
		}
		if gap == 0 {
			break
		}
		if next += gap; next > snapshot.MaxEntities || !r.record(uint32(next-1), whole) {
			return false
		}
		r.recent = append(r.recent, uint32(next-1))
	}
	if !r.readNotes() {
		return false
	}
	r.left--
	return r.left > 0 || len(r.raw) == 0 && r.now == r.end
}

// readNotes reads the notes of a tick.
func (r *Reader) readNotes() bool {
	for {
		kind, ok := r.varint(math.MaxUint64)
		if !ok || kind == 0 {
			return ok
		}
		size, ok := r.varint(uint64(len(r.raw)))
		if !ok || size > uint64(len(r.raw)) || len(r.notes) == maxNotes {
			return false
		}
		r.notes = append(r.notes, Note{kind, r.raw[:size:size]})
		r.raw = r.raw[size:]
	}
}

// gone reads the indexes of ended entities.
func (r *Reader) gone() bool {
	for {
		n, ok := r.varint(uint64(len(r.known)))
		if !ok {
			return false
		}
		if n == 0 {
			return true
		}
		m := &r.known[n-1]
		if m.generation == 0 {
			return false
		}
		*m = m.empty()
		r.ended = append(r.ended, uint32(n-1))
	}
}

// record reads the record of an entity.
func (r *Reader) record(index uint32, whole bool) bool {
	if len(r.raw) == 0 {
		return false
	}
	kind := r.raw[0]
	r.raw = r.raw[1:]
	if int(index) >= len(r.known) {
		if kind != recordNew {
			return false
		}
		r.known = append(r.known, make([]memory, int(index)+1-len(r.known))...)
	}
	m := &r.known[index]
	switch kind {
	case recordSame:
		return m.generation != 0 && !whole && r.rows(m, false)
	case recordNew:
		generation, ok := r.varint(1<<32 - 1)
		if !ok || generation == 0 || uint32(generation) == m.generation {
			return false
		}
		*m = m.empty()
		m.generation = uint32(generation)
		return r.rows(m, true)
	}
	return false
}

// readMask reads a mask written by appendMask for a protocol with this number of rows.
func readMask(varint func(limit uint64) (uint64, bool), rows int) (snapshot.Mask, bool) {
	var words [format.MaskWords]uint64
	for word := 0; word == 0 || 64*word < rows; word++ {
		v, ok := varint(1<<min(rows-64*word, 64) - 1) // all bits of 64 rows
		if !ok {
			return snapshot.Mask{}, false
		}
		words[word] = v
	}
	return format.FromWords(words[:]...), true
}

// rows reads masks and lanes.
func (r *Reader) rows(m *memory, all bool) bool {
	mask, ok1 := readMask(r.varint, len(r.plans))
	changed, ok2 := readMask(r.varint, len(r.plans))
	added := mask.Minus(m.mask)
	if !ok1 || !ok2 || !changed.Within(mask) || !added.Within(changed) || all && changed != mask || !all && changed.IsZero() && mask == m.mask {
		return false
	}
	moving := m.change(r.plans, mask, changed, r.number)
	from := 0
	for rows := mask; !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		p := r.plans[row]
		to := from + p.Lanes()
		if changed.Has(row) {
			moved := added.Has(row)
			for at := from; at < to; at++ {
				d, ok := r.varint(1<<32 - 1)
				if !ok {
					return false
				}
				m.set(at, m.expected(at, moving.Has(row))+unzigzag(uint32(d)))
				moved = moved || m.lanes[at] != m.before[at]
			}
			if !moved || !p.Legal(m.lanes[from:to]) {
				return false
			}
		}
		from = to
	}
	return true
}

// Recent yields the indexes of the tick's entity records, ascending.
func (r *Reader) Recent(yield func(index uint32) bool) {
	for _, index := range r.recent {
		if !yield(index) {
			return
		}
	}
}

// Notes returns the notes that Writer.Note added to the tick, in order. They are valid until the reader's next call.
func (r *Reader) Notes() []Note { return r.notes }

// Fresh reports whether the tick starts a chunk: it then has a record of every existing entity, and all others have
// ended.
func (r *Reader) Fresh() bool { return r.whole }

// Ended yields the indexes of entities that ended in this tick; it is empty for a Fresh tick.
func (r *Reader) Ended(yield func(index uint32) bool) {
	for _, index := range r.ended {
		if !yield(index) {
			return
		}
	}
}

// Entity returns the generation and the rows of the entity at an index; generation 0 if there is none.
func (r *Reader) Entity(index uint32) (generation uint32, mask snapshot.Mask) {
	if int(index) >= len(r.known) {
		return 0, snapshot.Mask{}
	}
	return r.known[index].generation, r.known[index].mask
}

// Row returns the lanes of a row, nil if the entity lacks it. Do not change the slice.
func (r *Reader) Row(index uint32, row int) []uint32 {
	_, mask := r.Entity(index)
	if !mask.Has(row) {
		return nil
	}
	at := 0
	for before := range row {
		if mask.Has(before) {
			at += r.plans[before].Lanes()
		}
	}
	return r.known[index].lanes[at : at+r.plans[row].Lanes()]
}
