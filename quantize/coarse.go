package quantize

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
)

// MaxScale is the largest scale of [CompileCoarse].
const MaxScale = 1 << 16

// CompileCoarse is Compile with larger steps: a field with a step gets scale times that step; an angle or a quaternion
// gets one bit less per doubling. Other fields are unchanged. scale is a power of two, up to [MaxScale]; with 1 only
// the name differs from the plan of Compile. The errors name the type and the field. With a scale above 1 some field
// must have steps, and no field may have fewer bits than its kind allows. A component with texts, lists or entities of
// a world has no coarser plan.
func CompileCoarse(t reflect.Type, name string, scale int) (*Plan, error) {
	if scale < 1 || scale > MaxScale || scale&(scale-1) != 0 {
		return nil, fmt.Errorf("a scale is a power of two from 1 to %d, not %d", MaxScale, scale)
	}
	c := compiler{root: rootName(t), plan: &Plan{name: name, typ: t}, scale: scale}
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("wire: %s: %w", c.root, err)
	}
	if err := c.compile(t); err != nil {
		return nil, err
	}
	switch p := c.plan; {
	case len(p.refs) > 0:
		return nil, errors.New("it names entities, which are sent whole: move that field into a component of its own")
	case p.fixed < len(p.lanes):
		return nil, errors.New("it has a wire.Text or a wire.List: move that field into a component of its own")
	case scale > 1 && c.coarse == 0:
		return nil, errors.New(`no field of it has steps: give its floats a tag as net:"min=-512,max=512,step=0.01", net:"angle,bits=10" or net:"quat,bits=9"`)
	}
	return c.plan, nil
}

// steps reports whether the fields of a tag have steps that can be made coarser.
func (t *tag) steps() bool { return t.step != "" || t.mode == tagAngle || t.mode == tagQuat }

// coarsen multiplies the steps of a tag by scale.
func (t *tag) coarsen(scale int) {
	t.bits -= bits.TrailingZeros(uint(scale)) // ignored by fields without bits
	if step, err := strconv.ParseFloat(t.step, 64); err == nil {
		t.step = strconv.FormatFloat(step*float64(scale), 'g', -1, 64)
	}
}
