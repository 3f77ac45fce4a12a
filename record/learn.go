package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/arche-netcode/netcode/delta"
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

// stage copies the state of a reader into a store, under ids of the store.
type stage struct {
	ids         []wire.NetworkID // by recorded index
	generations []uint32
}

func (p *stage) fill(s *snapshot.Store, r *Reader) {
	for len(p.ids) < len(r.known) {
		p.ids, p.generations = append(p.ids, wire.NetworkID{}), append(p.generations, 0)
	}
	if r.Fresh() {
		for index := range p.ids {
			if generation, _ := r.Entity(uint32(index)); generation != p.generations[index] {
				p.end(s, uint32(index))
			}
		}
	}
	for index := range r.Ended {
		p.end(s, index)
	}
	for index := range r.Recent {
		generation, mask := r.Entity(index)
		if generation != p.generations[index] {
			p.end(s, index)
			p.ids[index], p.generations[index] = s.Spawn(), generation
		}
		id := p.ids[index]
		for row := range len(r.plans) {
			if mask.Has(row) {
				s.Set(id, row, r.Row(index, row))
			} else {
				s.Remove(id, row)
			}
		}
	}
}

func (p *stage) end(s *snapshot.Store, index uint32) {
	if p.generations[index] != 0 {
		s.Despawn(p.ids[index])
		p.generations[index] = 0
	}
}

// Learn plays the ticks from..to-1 of a recording through clients with several round trips, and counts the encoded
// symbols. The chunk of the first tick is played from its start, without counting before that tick. progress, if not
// nil, is called after each chunk's first tick. Damaged parts are skipped: ticks is the number of readable ones.
func Learn(in io.Reader, from, to tick.Tick, counting *delta.Counting, progress func(tick.Tick)) (ticks int, err error) {
	return play(in, from, to, counting, counting.Count, nil, progress)
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
	_, err := play(in, from, to, tables, func(list []delta.DeltaSymbol) {
		for i := range list {
			_, n := list[i].Code()
			c.Bits += float64(n + list[i].RawBits)
		}
	}, func(t *Training) {
		if t.counts {
			c.Rows = t.deltas() - t.before
		}
	}, progress)
	return c, err
}

func play(in io.Reader, from, to tick.Tick, tables delta.TableSource, watch func([]delta.DeltaSymbol), done func(*Training), progress func(tick.Tick)) (int, error) {
	r, err := NewReader(in)
	if err != nil {
		return 0, err
	}
	t, err := NewTrainingWith(r.plans, tables, Trips(r.header.TickRate)...)
	if err != nil {
		return 0, err
	}
	t.Store.Watch(func(list []delta.DeltaSymbol) {
		if t.counts {
			watch(list)
		}
	})
	if done != nil {
		defer done(t)
	}
	return t.play(r, from, to, progress)
}

// Play counts the symbols of a whole recording with the same components, and returns the number of ticks. It skips
// damaged parts. It does not touch Store, and may be called for any number of recordings.
func (t *Training) Play(in io.Reader) (ticks int, err error) {
	r, err := NewReader(in)
	if err != nil {
		return 0, err
	}
	if len(r.plans) != len(t.plans) {
		return 0, fmt.Errorf("%w: it has %d components, and the training %d", ErrProtocol, len(r.plans), len(t.plans))
	}
	for row, p := range r.plans {
		if have, want := p.Describe(nil), t.plans[row].Describe(nil); !bytes.Equal(have, want) {
			return 0, fmt.Errorf("%w: it has %s, and the training %s", ErrProtocol, have, want)
		}
	}
	one, err := NewTrainingWith(t.plans, t.counting, t.trips...)
	if err != nil {
		return 0, err
	}
	one.Store.Watch(t.counting.Count)
	return one.play(r, 1, math.MaxInt64, nil)
}

func (t *Training) play(r *Reader, from, to tick.Tick, progress func(tick.Tick)) (ticks int, err error) {
	for err = ErrDamaged; errors.Is(err, ErrDamaged); {
		err = r.Seek(from)
	}
	if err != nil {
		return 0, ended(err)
	}
	var p stage
	for {
		now, err := r.Next()
		switch {
		case errors.Is(err, ErrDamaged):
			continue // each chunk starts with empty state
		case err != nil || now >= to:
			return ticks, ended(err)
		}
		if now >= from && !t.counts { // a chunk is played from its start
			t.counts, t.before = true, t.deltas()
		}
		t.Store.Begin(now)
		p.fill(t.Store, r)
		t.Store.Commit()
		if err := t.Send(); err != nil {
			return ticks, err
		}
		if t.counts {
			ticks++
		}
		if r.Fresh() && progress != nil {
			progress(now)
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
