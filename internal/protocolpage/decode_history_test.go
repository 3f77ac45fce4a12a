package protocolpage_test

// A part of the reader written from PROTOCOL.md: the history of a client. (7, rule 4) It forgets as early as the page allows.

import (
	"maps"
	"slices"
	"testing"
)

// kept is the newest record of an entity that is 2W or more ticks behind.
type kept struct {
	tick int64
	rows map[int]keptRow
}

// keptRow is a row, and the tick since which it has had its value.
type keptRow struct {
	numbers []uint32
	since   int64
}

// forget removes the records that are 2W or more ticks behind the newest tick. The newest of each entity is kept.
func (o *observed) forget() {
	horizon := o.newest - 2*o.window - o.longer
	maps.DeleteFunc(o.lists, func(tick int64, _ []uint64) bool { return tick <= horizon })
	for index, records := range o.past {
		for _, tick := range slices.Sorted(maps.Keys(records)) {
			if tick > horizon {
				break
			}
			o.keep(index, tick, records[tick])
			delete(records, tick)
		}
	}
}

// keep makes a record the newest old one of its entity.
func (o *observed) keep(index uint64, tick int64, record state) {
	if o.kept[index] == nil {
		o.kept[index] = map[uint64]kept{}
	}
	before, rows := o.kept[index][record.generation], map[int]keptRow{}
	for row, numbers := range record.rows {
		rows[row] = keptRow{numbers, tick}
		if was, had := before.rows[row]; had && slices.Equal(was.numbers, numbers) {
			rows[row] = was
		}
	}
	o.kept[index][record.generation] = kept{tick, rows}
}

// newestUpTo returns the tick of the newest record of an index that is not after a tick, 0 if there is none.
func (o *observed) newestUpTo(index uint64, upTo int64) (t int64) {
	for tick := range o.past[index] {
		if tick <= upTo {
			t = max(t, tick)
		}
	}
	for _, k := range o.kept[index] {
		if k.tick <= upTo {
			t = max(t, k.tick)
		}
	}
	return t
}

// gone returns an entity as of T, if the record of T is gone: the lowest generation that reaches T, with the rows of S.
func (o *observed) gone(index uint64, t int64, rows []int) state {
	for _, generation := range slices.Sorted(maps.Keys(o.kept[index])) {
		if k := o.kept[index][generation]; k.tick >= t {
			values, has := o.recall(k, t, rows)
			held(has)
			o.seen["record of T gone"]++
			if k.tick > t {
				o.seen["kept record later than T"]++
			}
			for _, row := range k.rows {
				if row.since > t {
					o.seen["row that came since T"]++
				}
			}
			e := state{generation: generation, rows: values, lacks: map[int]bool{}}
			for _, row := range rows {
				if _, has := values[row]; !has {
					e.lacks[row] = len(o.components[row].fields) > 0
					e.rows[row] = nil
				}
			}
			return e
		}
	}
	panic(lacking{})
}

// recallFunc returns rows as at T from a kept record, those that it has. It returns false if the reader lacks the whole record.
type recallFunc func(k kept, t int64, rows []int) (map[int][]uint32, bool)

// recallRows is rule 4.
func recallRows(k kept, t int64, rows []int) (map[int][]uint32, bool) {
	values := map[int][]uint32{}
	for _, row := range rows {
		if of, has := k.rows[row]; has && of.since <= t {
			values[row] = of.numbers
		}
	}
	return values, true
}

// TestReaderThatGetsHistoryWrongFails reads the golden session with readers that have rule 4 wrong.
func TestReaderThatGetsHistoryWrongFails(t *testing.T) {
	all := func(k kept, t int64) bool {
		for _, row := range k.rows {
			if row.since > t {
				return false
			}
		}
		return true
	}
	for name, recall := range map[string]recallFunc{
		"nothing is kept": func(kept, int64, []int) (map[int][]uint32, bool) { return nil, false },
		"the record of T itself is wanted": func(k kept, t int64, rows []int) (map[int][]uint32, bool) {
			if k.tick != t {
				return nil, false
			}
			return recallRows(k, t, rows)
		},
		"a row that came since T makes all useless": func(k kept, t int64, rows []int) (map[int][]uint32, bool) {
			if !all(k, t) {
				return nil, false
			}
			return recallRows(k, t, rows)
		},
		"a row that is lacking is wanted though it comes whole": func(k kept, t int64, rows []int) (map[int][]uint32, bool) {
			values, _ := recallRows(k, t, rows)
			return values, len(values) == len(rows)
		},
		"zeros are as good": func(k kept, t int64, rows []int) (map[int][]uint32, bool) {
			values, has := recallRows(k, t, rows)
			for row := range values {
				values[row] = make([]uint32, len(values[row]))
			}
			return values, has
		},
	} {
		if faults, _ := decodeSession(t, recall, (*reader).read); len(faults) == 0 {
			t.Errorf("%s: the golden session is read all the same", name)
		}
	}
}
