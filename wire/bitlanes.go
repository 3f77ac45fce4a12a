package wire

import "encoding/binary"

// Lanes appends numbers of 32 bits each, as Write would one after the other: fields of float32 that travel exactly, say.
func (w *BitWriter) Lanes(lanes []uint32) {
	acc, n, next, buf := w.acc, w.n, w.next, w.buf // here and not in w, to stay in registers
	for ; len(lanes) >= 2; lanes = lanes[2:] {
		v := uint64(lanes[0]) | uint64(lanes[1])<<32
		if uint(next) <= uint(len(buf)) && len(buf)-next >= 8 { // else what was written is more than the buffer holds: see spill
			binary.LittleEndian.PutUint64(buf[next:], acc|v<<(n&63))
		}
		next += 8
		acc = v >> 1 >> (63 - n&63) // of no bits when n is 0
	}
	w.acc, w.n, w.next = acc, n, next
	if len(lanes) > 0 {
		w.Write(uint64(lanes[0]), 32)
	}
}
