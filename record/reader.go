package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Reader reads a recording: after each Next it has the world as of a tick. The input may be damaged or hostile: the
// reader returns errors. Its memory is bounded by a chunk, unpacked, and by 1 GiB of decoded rows.
type Reader struct {
	in      input
	packed  []byte // the header
	header  *Header
	plans   []*quantize.Plan
	schema  *format.Schema   // nil before the first tick
	replica *replica.Replica // of the chunk
	most    int              // most bytes of its versions
	chunks  int              // number of valid chunks and damaged parts passed
	began   int64            // offset of the chunk in the file
	raw     []byte           // rest of the chunk
	now     tick.Tick
	end     tick.Tick // of the chunk
	passed  tick.Tick // end of the previous chunk
	left    int       // remaining ticks of the chunk
	whole   bool      // the tick is the first of its chunk
	fresh   bool      // Next has started a chunk
	indexes int       // all entities of the chunk are below this index
	ended   []uint32
	recent  []uint32
	notes   []Note
}

// Note is additional data of a tick.
type Note struct {
	Kind uint64 // not 0
	Body []byte // valid until the reader's next call
}

// NewReader reads the header. Give it the plans of the program for a recording with components that have an extrapolation of
// their own (netcode.ExtrapolatedBy): Next cannot read these by their description.
func NewReader(in io.Reader, known ...*quantize.Plan) (*Reader, error) {
	r := &Reader{in: input{in: in}, most: maxHistory}
	fixed, err := r.in.peek(headerFixed)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	case len(fixed) == 0:
		return nil, fmt.Errorf("%w: the file is empty", ErrFormat)
	case len(fixed) < headerFixed || string(fixed[:len(magic)]) != magic:
		return nil, fmt.Errorf("%w: it begins % x", ErrFormat, fixed)
	}
	size := binary.LittleEndian.Uint32(fixed[len(magic):])
	raw, sum := binary.LittleEndian.Uint32(fixed[len(magic)+4:]), binary.LittleEndian.Uint32(fixed[len(magic)+8:])
	if raw > maxHeader || size > maxHeader+maxHeader/8 || uint64(raw) > uint64(size)*maxShrink {
		return nil, fmt.Errorf("%w: a header of %d bytes in %d", ErrFormat, raw, size)
	}
	all, err := r.in.peek(headerFixed + int(size))
	if err != nil {
		return nil, err
	}
	if len(all) < headerFixed+int(size) {
		return nil, faulty(ErrCut, "%d of %d bytes of the header", len(all)-headerFixed, size)
	}
	text, ok := unpack(all[headerFixed:], raw)
	if !ok || checksum(all[headerFixed:]) != sum {
		return nil, faulty(ErrDamaged, "the sum of the header is wrong")
	}
	if r.header, err = parseHeader(string(text)); err != nil {
		return nil, err
	}
	r.packed = bytes.Clone(all)
	r.in.skip(len(all))
	r.plans, err = r.header.Plans(known...)
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
func (r *Reader) open(h *chunkHead, packed []byte) (err error) {
	if r.schema == nil {
		if r.schema, err = r.header.schema(r.plans); err != nil {
			return err
		}
	}
	raw, ok := unpack(packed, h.raw)
	r.pass(h)
	if !ok {
		return r.within(r.passed, "it does not unpack")
	}
	r.raw, r.left, r.now = raw, h.ticks, h.first
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
	r.whole, r.fresh = r.fresh, false
	r.ended, r.recent, r.notes = r.ended[:0], r.recent[:0], r.notes[:0]
	if r.whole {
		r.replica, r.indexes = replica.New(r.schema, format.Config{Window: r.header.Window}, r.now-1), 0
	} else {
		step, ok := r.varint(uint64(r.end - r.now))
		if !ok || step == 0 {
			return false
		}
		r.now += tick.Tick(step)
	}
	r.replica.ClearChanged()
	for {
		size, ok := r.varint(min(maxPayload, uint64(len(r.raw))))
		if !ok || size > uint64(len(r.raw)) {
			return false
		}
		if size == 0 {
			break
		}
		if r.replica.Read(r.raw[:size]) != nil || r.replica.LastRead() != r.now || r.replica.HistoryBytes() > r.most {
			return false
		}
		r.raw = r.raw[size:]
	}
	for _, index := range r.replica.Changed() {
		if r.replica.Entity(index).Alive {
			r.recent, r.indexes = append(r.recent, index), max(r.indexes, int(index)+1)
		} else if !r.whole {
			r.ended = append(r.ended, index)
		}
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

// Recent yields the indexes of the entities that are new or have changed in the tick, ascending.
func (r *Reader) Recent(yield func(index uint32) bool) { slices.Values(r.recent)(yield) }

// Notes returns the notes that Writer.Note added to the tick, in order. They are valid until the reader's next call.
func (r *Reader) Notes() []Note { return r.notes }

// Fresh reports whether the tick starts a chunk: all that exist are then Recent, and all others have ended.
func (r *Reader) Fresh() bool { return r.whole }

// Ended yields the indexes of entities that ended in this tick; it is empty for a Fresh tick.
func (r *Reader) Ended(yield func(index uint32) bool) { slices.Values(r.ended)(yield) }

// Entity returns the generation and the rows of the entity at an index; generation 0 if there is none.
func (r *Reader) Entity(index uint32) (generation uint32, mask snapshot.Mask) {
	if int64(index) >= int64(r.indexes) {
		return 0, snapshot.Mask{}
	}
	e := r.replica.Entity(index)
	if !e.Alive {
		return 0, snapshot.Mask{}
	}
	return e.ID.Generation, e.Mask
}

// Row returns the lanes of a row, nil if the entity lacks it. Do not change the slice.
func (r *Reader) Row(index uint32, row int) []uint32 {
	if _, mask := r.Entity(index); !mask.Has(row) {
		return nil
	}
	return r.replica.Row(index, row)
}
