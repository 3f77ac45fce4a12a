package record

import (
	"errors"
	"io"
	"math"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Info summarises the chunk heads of a recording. Damaged chunks are not counted.
type Info struct {
	Header      *Header        // of the recording
	First, Last tick.Tick      // recorded range; tick.None if there is none
	Ticks       int            // number of recorded ticks; there may be gaps between First and Last
	Chunks      int            // number of valid chunks
	Stored, Raw int64          // bytes of chunks, compressed and decompressed
	Cut         bool           // the file ends within a chunk
	Damage      []*DamageError // in file order
}

// Inspect reads a recording and verifies its checksums, without decompressing it.
func Inspect(in io.Reader) (*Info, error) {
	r, err := NewReader(in)
	if err != nil {
		return nil, err
	}
	info := &Info{Header: r.header}
	for {
		h, _, err := r.chunk()
		var damage *DamageError
		switch {
		case errors.As(err, &damage):
			info.Damage = append(info.Damage, damage)
			continue
		case errors.Is(err, ErrCut):
			info.Cut = true
			return info, nil
		case errors.Is(err, io.EOF):
			return info, nil
		case err != nil:
			return nil, err
		}
		if info.Chunks == 0 {
			info.First = h.first
		}
		info.Last = h.last
		info.Chunks++
		info.Ticks += h.ticks
		info.Stored += int64(h.stored) + chunkFixed
		info.Raw += int64(h.raw)
		r.pass(&h)
	}
}

// Trips returns the round trips to train for at a tick rate, in ticks: 30 to 250 ms.
func Trips(rate int) (trips []int) {
	for _, ms := range []int{30, 60, 100, 150, 250} {
		n := min(max((rate*ms+500)/1000, 1), trainWindow-1)
		if len(trips) == 0 || n > trips[len(trips)-1] {
			trips = append(trips, n)
		}
	}
	return trips
}

// fill makes a store's world that of a reader's tick.
func fill(s *snapshot.Store, r *Reader) {
	for id := range slices.Values(slices.Collect(s.All)) {
		if generation, _ := r.Entity(id.Index); generation != id.Generation {
			s.Despawn(id)
		}
	}
	for index := range r.Recent {
		generation, mask := r.Entity(index)
		id := wire.NetworkID{Index: index, Generation: generation}
		s.Mirror(id)
		for row := range len(r.plans) {
			if mask.Has(row) {
				s.Set(id, row, r.Row(index, row))
			} else {
				s.Remove(id, row)
			}
		}
	}
}

// Learn plays the ticks from..to-1 of a recording through clients with several round trips, and counts the encoded
// symbols. The chunk of the first tick is played from its start, without counting before that tick. progress, if not
// nil, is called after each chunk's first tick. Damaged parts are skipped: ticks is the number of readable ones.
func Learn(in io.Reader, from, to tick.Tick, counting *delta.Counting, progress func(tick.Tick)) (ticks int, err error) {
	p := playback{tables: counting, watch: counting.Count, from: from, to: to, progress: progress}
	err = p.run(in)
	return p.ticks, err
}

// Cost is the size of encoded rows.
type Cost struct {
	Bits float64 // of rows and of their lists
	Rows uint64  // number of rows sent as deltas
}

// PerRow returns the bits per row.
func (c Cost) PerRow() float64 {
	if c.Rows == 0 {
		return math.NaN()
	}
	return c.Bits / float64(c.Rows)
}

// Measure plays a recording as Learn does, and returns the cost of rows with these tables. Tables trained on the same
// ticks give a better result here than in a real game.
func Measure(in io.Reader, from, to tick.Tick, tables delta.TableSource, progress func(tick.Tick)) (Cost, error) {
	var c Cost
	p := playback{tables: tables, from: from, to: to, progress: progress, watch: func(list []delta.DeltaSymbol) {
		for i := range list {
			_, n := list[i].Code()
			c.Bits += float64(n + list[i].RawBits)
		}
	}}
	err := p.run(in)
	c.Rows = p.rows
	return c, err
}

// playback plays the ticks from..to-1 of a recording through a Training.
type playback struct {
	tables   delta.TableSource
	watch    func([]delta.DeltaSymbol) // gets the symbols of these ticks
	from, to tick.Tick
	progress func(tick.Tick) // see Learn

	ticks int    // readable ticks
	rows  uint64 // rows sent as deltas in them
}

// run plays a recording of the components that it names itself; known are plans of a program, as NewReader has them.
func (p *playback) run(in io.Reader, known ...*quantize.Plan) error {
	r, err := NewReader(in, known...)
	if err != nil {
		return err
	}
	if known != nil {
		if err := sameComponents(r.plans, known); err != nil {
			return err
		}
	}
	t, err := NewTraining(r.plans, p.tables, Trips(r.header.TickRate)...)
	if err != nil {
		return err
	}
	counts := false // a chunk is played from its start, and its symbols count from p.from on
	t.Store.Watch(func(list []delta.DeltaSymbol) {
		if counts {
			p.watch(list)
		}
	})
	for err = ErrDamaged; errors.Is(err, ErrDamaged); {
		err = r.Seek(p.from)
	}
	if err != nil {
		return ended(err)
	}
	for {
		now, err := r.Next()
		switch {
		case errors.Is(err, ErrDamaged):
			continue // each chunk starts with empty state
		case err != nil || now >= p.to:
			return ended(err)
		}
		before := t.deltas()
		counts = now >= p.from
		t.Store.Begin(now)
		fill(t.Store, r)
		t.Store.Commit()
		if err := t.Send(); err != nil {
			return err
		}
		if counts {
			p.ticks++
			p.rows += t.deltas() - before
		}
		if r.Fresh() && p.progress != nil {
			p.progress(now)
		}
	}
}

// deltas returns the number of rows sent as deltas to all clients.
func (t *Training) deltas() (n uint64) {
	for i := range t.clients {
		n += t.clients[i].view.Stats().Deltas
	}
	return n
}

// ended returns nil for an error that only marks the end of the recording.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, ErrCut) {
		return nil
	}
	return err
}
