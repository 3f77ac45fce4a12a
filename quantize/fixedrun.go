package quantize

import (
	"github.com/arche-netcode/netcode/internal/kernel"
	"github.com/arche-netcode/netcode/wire"
)

// findRuns finds the runs of fields that rows are quantised by, where the processor is wide.
func (p *Plan) findRuns() {
	for i := 0; p.wide && i < len(p.ops); {
		n := p.runOf(i)
		if p.ops[i].kind == opQuat {
			p.ops[i].quat = p.ops[i].quatNumbers()
		}
		if n >= 2 {
			p.ops[i].run = len(p.runs) + 1
			p.runs = append(p.runs, newFixedRun(p.ops[i:i+n]))
		}
		i += max(n, 1)
	}
}

// runOf is how many fields from the i-th on go together. Five are three and two: a field alone gains nothing.
func (p *Plan) runOf(i int) (n int) {
	for ; n < 6 && i+n < len(p.ops); n++ {
		// What is converted has to be within an int32. A float32 has not as many bits.
		if o := &p.ops[i+n]; o.kind != opFixed32 || o.count >= 1<<31-1 || o.offset != p.ops[i].offset+uintptr(4*n) {
			break
		}
	}
	if n == 5 {
		return 3
	}
	return min(n, 4)
}

func newFixedRun(ops []op) kernel.FixedRun {
	r := kernel.FixedRun{Half: [4]float64{0.5, 0.5, 0.5, 0.5}, Fields: uint64(len(ops))}
	for i := range ops {
		r.Least[i], r.Most[i], r.Scale[i], r.Mask[i] = ops[i].min, ops[i].max, ops[i].scale, 1<<31
	}
	return r
}

// quantiseRun is QuantiseRows for the fields of a run.
func quantiseRun(r *kernel.FixedRun, ops []op, base *byte, size int, rows []int32, lanes []uint32, n int, bad []int32) []int32 {
	column, ops := bytesFrom(base, ops[0].offset), ops[:r.Fields]
	first := ops[0].lane
	for k := 0; k < len(rows); k++ {
		// All lanes of a row are there, so that the fields' are.
		if k += kernel.FixedRows(r, column, size, &rows[k], len(rows)-k, &lanes[k*n+first], n); k == len(rows) {
			break
		}
		for i := range ops {
			if ops[i].quantiseFixed(float64(float32At(column, uintptr(int(rows[k])*size+4*i))), lanes[k*n:]) != wire.NoFault {
				bad = append(bad, int32(k))
			}
		}
	}
	return bad
}

// quatNumbers is those of a rotation's field.
func (o *op) quatNumbers() *kernel.QuatNumbers {
	q := &kernel.QuatNumbers{Last: [4]uint32{3, 3, 3, 3}}
	for i := range q.One {
		q.One[i], q.Slack[i], q.Less[i], q.Near[i], q.Scale[i], q.Mid[i] = 1, o.slack, -o.slack, 4*o.step, o.scale, float64(o.count)*0.5+0.5
	}
	return q
}

// quantiseQuatRows is QuantiseRows for a rotation. Where the processor is wide and four rows are not as most are, plain code goes over these four.
func (o *op) quantiseQuatRows(base *byte, size int, rows []int32, lanes []uint32, n int, bad []int32) []int32 {
	column := bytesFrom(base, o.offset)
	for k, end := 0, 0; k < len(rows); {
		if end = len(rows); o.quat != nil {
			if k += kernel.QuatRows(o.quat, column, size, &rows[k], len(rows)-k, &lanes[k*n+o.lane], n); k == len(rows) {
				break
			}
			end = min(k+4, len(rows))
		}
		for ; k < end; k++ {
			if k += o.quatRows(column, size, rows[k:end], lanes[k*n+o.lane:], n); k == end {
				break
			}
			if o.quantiseQuat(quatAt(column, uintptr(int(rows[k])*size)), (*[4]uint32)(lanes[k*n+o.lane:])) != wire.NoFault {
				bad = append(bad, int32(k))
			}
		}
	}
	return bad
}
