package quantize

// Plain reports whether a row's lanes are the component's memory, word by word and in the machine's own order: fields
// of float32 and uint32 that travel exactly, next to each other, and nothing else. Who writes many rows may then copy
// the lanes instead of calling Dequantise.
func (p *Plan) Plain() bool {
	for i := range p.ops {
		o := &p.ops[i]
		word := o.kind == opFloat32 || o.kind == opInt32 && o.flip == 0
		if !word || o.lane != i || o.offset != 4*uintptr(i) {
			return false
		}
	}
	return len(p.ops) > 0 && p.Size() == 4*uintptr(len(p.ops))
}
