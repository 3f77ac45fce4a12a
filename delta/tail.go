package delta

import (
	"sync"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// The texts and lists of a row follow its other lanes, in the encoding of quantize.Plan.WriteTail: without tables, and
// against T only.

// tailPool is a pool of memory for tails, for any number of goroutines.
type tailPool struct{ pool sync.Pool }

// tailBits is an encoded tail.
type tailBits struct {
	buf  []byte
	bits int
}

// hasTail reports whether rows have texts or lists.
func (d *Delta) hasTail() bool { return d.fixed < len(d.lanes) }

// tail encodes the texts and lists of a row. The caller returns the result to the pool.
func (d *Delta) tail(now []uint32, v *quantize.Baselines) *tailBits {
	t, _ := d.tails.pool.Get().(*tailBits)
	if t == nil {
		t = &tailBits{buf: make([]byte, (d.plan.MaxTailBits()+7)/8+8)}
	}
	w := wire.NewBitWriter(t.buf)
	d.plan.WriteTail(&w, v.Base, now)
	t.bits = w.Bits()
	w.Finish()
	return t
}

// codeTail appends the texts and lists of a row.
func (d *Delta) codeTail(w *BitBuffer, now []uint32, v *quantize.Baselines) {
	t := d.tail(now, v)
	r := wire.NewBitReader(t.buf)
	for left := t.bits; left > 0; left -= 32 {
		n := uint(min(left, 32))
		w.put(r.Read(n), n)
	}
	d.tails.pool.Put(t)
}

// appendTail appends the texts and lists of a row as symbols without a table.
func (d *Delta) appendTail(dst []DeltaSymbol, now []uint32, v *quantize.Baselines) []DeltaSymbol {
	if !d.hasTail() {
		return dst
	}
	t := d.tail(now, v)
	r := wire.NewBitReader(t.buf)
	for left := t.bits; left > 0; left -= 32 {
		n := uint(min(left, 32))
		dst = append(dst, DeltaSymbol{Raw: r.Read(n), RawBits: n})
	}
	d.tails.pool.Put(t)
	return dst
}
