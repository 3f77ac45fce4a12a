package main

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// codecTarget is T6: at most this many times the hand-written code, each way.
const codecTarget = 1.2

// way is one way to encode or to decode all rows once.
type way struct {
	name    string
	anchor  string // the way that it is held against
	bytes   int    // per row on the wire
	target  bool   // it answers T6
	pass    func() error
	right   func() bool // whether the last pass did what it should; called after each
	samples []float64   // ns per row
	wrong   int
	allocs  float64 // per row
}

// codecRun is the rows, the bytes that they must become, and what each way makes of them.
type codecRun struct {
	motion *codecMotion
	rows   []codecRow
	want   []byte // the rows, by hand
	ways   []*way
}

// runCodec measures all ways in turns, a pass of 1000 rows each. The rows move between rounds; after each pass, outside
// of the time measured, what it wrote is decoded by hand, or what it read is compared with the rows.
func runCodec(o options) error {
	c := &codecRun{motion: newCodecMotion(), rows: make([]codecRow, codecRows), want: make([]byte, codecRows*codecBytes)}
	c.nextValue()
	if err := c.addWays(); err != nil {
		return err
	}
	for _, w := range c.ways {
		allocs, err := allocations(w.pass)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		w.allocs = allocs / codecRows
		w.samples = make([]float64, 0, 1<<16)
	}
	for start, round := time.Now(), 0; time.Since(start) < o.budget || round < 5; round++ {
		if err := c.round(round); err != nil {
			return err
		}
	}
	wrong := 0
	for _, w := range c.ways {
		o.report(c.result(w))
		wrong += w.wrong
	}
	if wrong > 0 {
		return fmt.Errorf("%d passes gave something else than the rows", wrong)
	}
	return nil
}

// nextValue moves the rows on.
func (c *codecRun) nextValue() {
	c.motion.moveRows(c.rows)
	for i := range c.rows {
		handPut(c.want[i*codecBytes:], &c.rows[i])
	}
}

// round runs every way once, starting with another one each time.
func (c *codecRun) round(number int) error {
	c.nextValue()
	for k := range c.ways {
		w := c.ways[(number+k)%len(c.ways)]
		began := time.Now()
		err := w.pass()
		took := time.Since(began)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if !w.right() {
			w.wrong++
		}
		if len(w.samples) < cap(w.samples) {
			w.samples = append(w.samples, float64(took)/codecRows)
		}
	}
	return nil
}

// allocations counts what one pass allocates, after one that may warm up. Other goroutines allocate now and then, so it
// is the least of some passes.
func allocations(pass func() error) (least float64, err error) {
	if err := pass(); err != nil {
		return 0, err
	}
	least = math.Inf(1)
	for range 7 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := pass()
		runtime.ReadMemStats(&after)
		if err != nil {
			return 0, err
		}
		least = min(least, float64(after.Mallocs-before.Mallocs))
	}
	return least, nil
}

func (c *codecRun) result(w *way) result {
	r := result{
		Scenario: "codec." + w.name, Value: median(w.samples), Unit: "ns/row",
		Params: map[string]any{
			"rows": codecRows, "rounds": len(w.samples), "bytes_per_row": w.bytes, "allocs_per_row": w.allocs, "verified": w.wrong == 0,
		},
	}
	at := slices.IndexFunc(c.ways, func(other *way) bool { return other.name == w.anchor })
	if at < 0 {
		return r
	}
	anchor := c.ways[at]
	r = r.against(median(anchor.samples))
	r.Params["against"] = w.anchor
	r.Params["ratio_of_fastest"] = w.samples[0] / anchor.samples[0] // both are sorted by now
	if w.target {
		r.Main = true
		r = r.ratioTarget(codecTarget, w.wrong == 0 && anchor.wrong == 0 && w.allocs == 0)
	}
	return r
}

// encoder adds a way that writes the rows to a buffer of its own, which must then hold what hand-written code gives.
func (c *codecRun) encoder(w way, pass func(dst []byte) error) {
	dst := make([]byte, len(c.want))
	var back codecRow
	w.bytes = codecBytes
	w.pass = func() error { return pass(dst) }
	w.right = func() bool {
		for i := range c.rows {
			handGet(dst[i*codecBytes:], &back)
			if back != c.rows[i] {
				return false
			}
		}
		clear(dst)
		return true
	}
	c.ways = append(c.ways, &w)
}

// decoder adds a way that reads the hand-written bytes into rows of its own.
func (c *codecRun) decoder(w way, pass func(src []byte, rows []codecRow) error) {
	rows := make([]codecRow, codecRows)
	w.bytes = codecBytes
	w.pass = func() error { return pass(c.want, rows) }
	w.right = func() bool {
		right := slices.Equal(rows, c.rows)
		clear(rows)
		return right
	}
	c.ways = append(c.ways, &w)
}

func (c *codecRun) addWays() error {
	if err := c.addValue(); err != nil {
		return err
	}
	c.addHand()
	c.addMethods()
	c.addMemory()
	return c.addPlan()
}

// addHand adds what the target is held against.
func (c *codecRun) addHand() {
	c.encoder(way{name: "encode.hand"}, func(dst []byte) error {
		for i := range c.rows {
			handPut(dst[i*codecBytes:(i+1)*codecBytes], &c.rows[i])
		}
		return nil
	})
	c.decoder(way{name: "decode.hand"}, func(src []byte, rows []codecRow) error {
		for i := range rows {
			handGet(src[i*codecBytes:(i+1)*codecBytes], &rows[i])
		}
		return nil
	})
}

// addValue adds netcode's codec of whole structs.
func (c *codecRun) addValue() error {
	codec, err := wire.NewValue[codecRow]()
	if err != nil {
		return err
	}
	c.encoder(way{name: "encode", anchor: "encode.hand", target: true}, func(dst []byte) error {
		for i := range c.rows {
			if err := codec.Put(dst[i*codecBytes:(i+1)*codecBytes], &c.rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	c.decoder(way{name: "decode", anchor: "decode.hand", target: true}, func(src []byte, rows []codecRow) error {
		for i := range rows {
			if err := codec.Get(src[i*codecBytes:(i+1)*codecBytes], &rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// addMethods adds the way by one call for each number.
func (c *codecRun) addMethods() {
	c.encoder(way{name: "encode.writer", anchor: "encode.hand"}, func(dst []byte) error {
		w := wire.NewWriter(dst)
		for i := range c.rows {
			writerPut(&w, &c.rows[i])
		}
		return w.Err()
	})
	c.decoder(way{name: "decode.reader", anchor: "decode.hand"}, func(src []byte, rows []codecRow) error {
		r := wire.NewReader(src)
		for i := range rows {
			readerGet(&r, &rows[i])
		}
		return r.Err()
	})
}

// addPlan adds the way of a replicated component without tags: through lanes to bits. Its bytes are the same, because
// all its fields are whole bytes, little-endian.
func (c *codecRun) addPlan() error {
	plan, err := quantize.Compile(reflect.TypeFor[codecRow](), "row")
	if err != nil {
		return err
	}
	lanes := make([]uint32, plan.Lanes())
	c.encoder(way{name: "encode.plan", anchor: "encode.hand"}, func(dst []byte) error {
		w := wire.NewBitWriter(dst)
		for i := range c.rows {
			quantiseRow(plan, &c.rows[i], lanes)
			plan.WriteRow(&w, lanes)
		}
		w.Finish()
		return nil
	})
	c.decoder(way{name: "decode.plan", anchor: "decode.hand"}, func(src []byte, rows []codecRow) error {
		r := wire.NewBitReader(src)
		for i := range rows {
			if !plan.ReadRow(&r, lanes) {
				return fmt.Errorf("row %d is not legal", i)
			}
			dequantiseRow(plan, lanes, &rows[i])
		}
		return nil
	})
	return nil
}

// addMemory adds memcpy: of the whole structs with their padding, and of one column against the bulk path for columns.
func (c *codecRun) addMemory() {
	const column = 3 // floats a row
	structs, positions, copied := make([]codecRow, codecRows), make([]float32, column*codecRows), make([]float32, column*codecRows)
	dst := make([]byte, codecRows*4*column)
	c.ways = append(c.ways, &way{
		name: "memcpy", bytes: codecBytes + 3,
		pass:  func() error { copy(structs, c.rows); return nil },
		right: func() bool { return slices.Equal(structs, c.rows) },
	}, &way{
		name: "column.memcpy", bytes: 4 * column,
		pass:  func() error { copy(copied, positions); return nil },
		right: func() bool { return slices.Equal(copied, positions) },
	}, &way{
		name: "column.encode", anchor: "column.memcpy", bytes: 4 * column,
		pass: func() error {
			w := wire.NewWriter(dst)
			wire.WriteArray(&w, positions)
			return w.Err()
		},
		right: func() bool {
			r := wire.NewReader(dst)
			wire.ReadArray(&r, copied)
			right := r.Done() && slices.Equal(copied, positions)
			for i := range c.rows { // for the next round
				copy(positions[column*i:], c.rows[i].Pos[:])
			}
			return right
		},
	})
}
