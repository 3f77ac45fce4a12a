package delta

import (
	"errors"
	"github.com/arche-netcode/netcode/quantize"
	"sync"
)

// ErrExtrapolation says that a plan that was parsed is extrapolated by a function that this program does not have.
var ErrExtrapolation = errors.New("wire: the component's extrapolation function is not here")

// own is the row that the plan's function extrapolates. The rows are the Delta's, to be used again: give them back.
type own struct {
	lanes []uint32
	v     quantize.Versions
}

// owns keeps rows for extrapolations. Any number of goroutines may ask.
type owns struct{ pool sync.Pool }

// extrapolated asks the plan's function, nil where it has none.
func (d *Delta) extrapolated(v *quantize.Versions) *own {
	if !d.plan.Extrapolates() {
		return nil
	}
	o, _ := d.owns.pool.Get().(*own)
	if o == nil {
		o = &own{lanes: make([]uint32, len(d.lanes))}
	}
	copy(o.lanes, v.Base)
	o.v = *v
	d.plan.Extrapolate(o.lanes, &o.v)
	for i := range o.lanes {
		o.lanes[i] = min(o.lanes[i], uint32(d.top(i)))
	}
	return o
}

// release gives the row back.
func (d *Delta) release(o *own) {
	if o != nil {
		o.v = quantize.Versions{}
		d.owns.pool.Put(o)
	}
}
