package message

import (
	"encoding/binary"
	"reflect"
)

// exact lists the checks of a type whose payload is a copy of its memory. Floats have to be finite. Signed integers are sent
// with their sign bit inverted, so that the order of the bytes is the order of the values.
type exact struct {
	floats []floats
	flip   []byte // what payload and memory differ by, bit by bit; nil where there are no signed integers
}

// floats is a run of neighbouring floats of one size.
type floats struct {
	at, end int  // bytes of the payload
	wide    bool // of 8 bytes and not 4
}

// finite reports whether every float of a payload, or of the memory of a value, is finite. b has the size of the type.
func (e *exact) finite(b []byte) bool {
	for i := range e.floats {
		f := &e.floats[i]
		for at := f.at; at < f.end; {
			if f.wide {
				if binary.LittleEndian.Uint64(b[at:])&0x7FF0_0000_0000_0000 == 0x7FF0_0000_0000_0000 {
					return false
				}
				at += 8
				continue
			}
			if binary.LittleEndian.Uint32(b[at:])&0x7F80_0000 == 0x7F80_0000 {
				return false
			}
			at += 4
		}
	}
	return true
}

// turn exchanges the sign bits of memory for those of the payload, or back.
func (e *exact) turn(b []byte) {
	flip := e.flip[:len(b)]
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^binary.LittleEndian.Uint64(flip))
		b, flip = b[8:], flip[8:]
	}
	for i := range b {
		b[i] ^= flip[i]
	}
}

// compileCopy chooses the copy of memory where that is what the plan writes.
func (c *CodecOf[T]) compileCopy() {
	if c.plan.Fixed() < c.plan.Lanes() {
		return // a text or a list is as long as it is
	}
	t := reflect.TypeFor[T]()
	var e exact
	end, ok := e.add(t, 0, "")
	if !ok || uintptr(end) != t.Size() || end == 0 || end != c.size || !littleEndian() {
		return
	}
	// The zero value's floats and unsigned integers are zeros on the wire too: what is not zero are the sign bits.
	var zero T
	flip := make([]byte, c.size)
	if _, err := c.encodePlan(&Scratch{}, flip, &zero); err != nil {
		return
	}
	for _, b := range flip {
		if b != 0 {
			e.flip = flip
		}
	}
	c.way, c.exact = byCopy, e
}

// littleEndian reports whether this machine keeps numbers in the byte order of the wire.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// add goes through the fields of what lies at offset at, in the order of travel, and returns where it ends. It returns
// false for what is no copy of memory: a boolean, which is one bit, a field with a tag, and padding.
func (e *exact) add(t reflect.Type, at int, tag reflect.StructTag) (end int, ok bool) {
	if tag.Get("net") != "" {
		return at, false
	}
	switch t.Kind() {
	case reflect.Int8, reflect.Uint8, reflect.Int16, reflect.Uint16, reflect.Int32, reflect.Uint32, reflect.Int64, reflect.Uint64:
		return at + int(t.Size()), true
	case reflect.Float32, reflect.Float64:
		e.addFloat(at, int(t.Size()))
		return at + int(t.Size()), true
	case reflect.Array:
		end = at
		for range t.Len() {
			if end, ok = e.add(t.Elem(), end, ""); !ok {
				return end, false
			}
		}
		return end, end == at+int(t.Size())
	case reflect.Struct:
		end = at
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" || end != at+int(f.Offset) {
				return end, false
			}
			if end, ok = e.add(f.Type, end, f.Tag); !ok {
				return end, false
			}
		}
		return end, end == at+int(t.Size())
	}
	return at, false
}

// addFloat notes a float, with those before it where it is their neighbour.
func (e *exact) addFloat(at, size int) {
	if n := len(e.floats); n > 0 && e.floats[n-1].end == at && e.floats[n-1].wide == (size == 8) {
		e.floats[n-1].end += size
		return
	}
	e.floats = append(e.floats, floats{at: at, end: at + size, wide: size == 8})
}

// store copies a value to the payload, which has its size, and reports whether all of its floats are finite.
func (c *CodecOf[T]) store(dst []byte, m *T) bool {
	copyOut(dst, m)
	if c.exact.flip != nil {
		c.exact.turn(dst)
	}
	return c.exact.finite(dst)
}

// Copy is Encode for a type whose AlwaysLegal is not NoSize: it cannot fail. dst is as long as that.
func (c *CodecOf[T]) Copy(dst []byte, m *T) {
	copyOut(dst, m)
	if c.exact.flip != nil {
		c.exact.turn(dst)
	}
}

// load copies a payload, which has its size, to the value.
func (c *CodecOf[T]) load(m *T, payload []byte) {
	copyIn(m, payload)
	if c.exact.flip != nil {
		turnIn(m, &c.exact)
	}
}
