package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
)

// Cut copies the chunks of a recording that have ticks in from..to, and returns the first and the last tick of the
// copy. A chunk is a second, so the copy may start and end up to a second outside the range. It leaves out damaged
// chunks. The errors are ErrNothingRecorded, if there is no such chunk, and those of NewReader, the reader and the
// writer.
func Cut(out io.Writer, in io.Reader, from, to tick.Tick) (first, last tick.Tick, err error) {
	r, err := NewReader(in)
	if err != nil {
		return tick.None, tick.None, err
	}
	for {
		h, _, err := r.chunk()
		switch {
		case errors.Is(err, ErrDamaged):
			continue
		case err != nil && err != io.EOF && !errors.Is(err, ErrCut):
			return first, last, err
		case (err != nil || h.first > to) && first == tick.None:
			return first, last, fmt.Errorf("%w from tick %d to %d", ErrNothingRecorded, from, to)
		case err != nil || h.first > to:
			return first, last, nil
		}
		if h.last >= from {
			if first == tick.None {
				first = h.first
				if _, err := out.Write(r.packed); err != nil {
					return first, last, err
				}
			}
			last = h.last
			whole, err := r.in.peek(chunkFixed + int(h.stored))
			if err == nil {
				_, err = out.Write(whole)
			}
			if err != nil {
				return first, last, err
			}
		}
		r.pass(&h)
	}
}

// Difference is the first difference between two recordings.
type Difference struct {
	Tick      tick.Tick         // the first tick that differs
	Entity    netcode.NetworkID // zero: one recording lacks the tick
	Component string            // empty: one lacks the entity
	Field     string            // empty: one lacks the component
	A, B      string            // values of all fields of the component, or "absent"
}

// Values of a Difference without data.
const (
	absent = "absent"
	there  = "there"
)

// String returns the position and both sides as text.
func (d *Difference) String() string { return d.Between("the one", "the other") }

// Between is String with names for the sides, those of two files.
func (d *Difference) Between(a, b string) string {
	text := fmt.Sprintf("tick %d", d.Tick)
	if !d.Entity.IsZero() {
		text += fmt.Sprintf(", entity %s", d.Entity)
	}
	if d.Component != "" {
		text += ", " + d.Component
	}
	if d.Field != "" {
		text += "." + d.Field
	}
	return fmt.Sprintf("%s: %s in %s, %s in %s", text, d.A, a, d.B, b)
}

// Diff returns the first difference of two recordings with the same components, nil if there is none. It compares from
// the first tick that both have to the last tick that either has, and matches entities by id. The errors are
// ErrProtocol, ErrNothingRecorded and those of the readers; damage is an error too. known is that of NewReader.
func Diff(a, b io.Reader, known ...*quantize.Plan) (*Difference, error) {
	var sides [2]*Reader
	for i, in := range []io.Reader{a, b} {
		r, err := NewReader(in, known...)
		if err != nil {
			return nil, err
		}
		sides[i] = r
	}
	if err := sameComponents(sides[0].plans, sides[1].plans); err != nil {
		return nil, err
	}
	for begun := false; ; begun = true {
		ended := 0
		for _, r := range sides {
			if _, err := r.Next(); err == io.EOF || errors.Is(err, ErrCut) {
				ended++
				r.now = tick.None
			} else if err != nil {
				return nil, err
			}
		}
		for !begun && ended == 0 && sides[0].now != sides[1].now {
			late := sides[0]
			if late.now > sides[1].now {
				late = sides[1]
			}
			if _, err := late.Next(); err == io.EOF || errors.Is(err, ErrCut) {
				return nil, fmt.Errorf("%w in both: they have no tick in common", ErrNothingRecorded)
			} else if err != nil {
				return nil, err
			}
		}
		if ended == len(sides) {
			return nil, nil
		}
		if d := apart(sides[0].now, sides[1].now); d != nil {
			return d, nil
		}
		if d := differ(sides[0], sides[1], sides[1].indexes); d != nil {
			return d, nil
		}
	}
}

// sameComponents returns an error unless the components of a recording are those of the other side: of another recording,
// or of the program.
func sameComponents(recorded, others []*quantize.Plan) error {
	describe := func(plans []*quantize.Plan, row int) string {
		if row >= len(plans) {
			return absent
		}
		return string(plans[row].Describe(nil))
	}
	for row := range max(len(recorded), len(others)) {
		if one, other := describe(recorded, row), describe(others, row); one != other {
			return fmt.Errorf("%w: %s in the one, %s in the other", ErrProtocol, one, other)
		}
	}
	return nil
}

// apart returns the difference of recordings that are at different ticks: one lacks the tick of the other. tick.None is
// the end.
func apart(a, b tick.Tick) *Difference {
	switch {
	case a == b:
		return nil
	case b == tick.None || a != tick.None && a < b:
		return &Difference{Tick: a, A: there, B: absent}
	}
	return &Difference{Tick: b, A: absent, B: there}
}

// differ returns the first difference between a reader's world and another world of the same tick. indexes is the
// number of indexes of b.
func differ(a *Reader, b world, indexes int) *Difference {
	for index := range uint32(max(a.indexes, indexes)) {
		of, mask := a.Entity(index)
		generation, other := b.Entity(index)
		d := &Difference{Tick: a.now, Entity: netcode.NetworkID{Index: index, Generation: max(of, generation)}, A: there, B: absent}
		if of != generation {
			if of < generation {
				d.A, d.B = d.B, d.A
			}
			return d
		}
		for rows := mask.Union(other); !rows.IsZero(); rows = rows.Rest() {
			row := rows.Lowest()
			if one, two := a.Row(index, row), b.Row(index, row); !mask.Has(row) || !other.Has(row) || !slices.Equal(one, two) {
				d.Component = a.plans[row].Name()
				d.A, d.B = values(a.plans[row], mask.Has(row), one), values(a.plans[row], other.Has(row), two)
				if mask.Has(row) && other.Has(row) {
					deviation, _ := a.plans[row].Deviates(one, two, 0)
					d.Field = deviation.Field
				}
				return d
			}
		}
	}
	return nil
}

// values returns the fields of a row as text.
func values(plan *quantize.Plan, has bool, lanes []uint32) string {
	if !has {
		return absent
	}
	return cmp.Or(string(plan.AppendValues(nil, lanes)), there)
}
