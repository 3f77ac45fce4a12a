package quantize

import "errors"

// eventKind is how the values of an event field of one frame and the next become one, as its tag chooses.
type eventKind uint8

const (
	eventNone  eventKind = iota // The field is state.
	eventBits                   // A bit that was set once is set.
	eventCount                  // Values are added.
)

// eventWords are the words behind a tilde in the canonical text.
func eventWords() [3]string { return [3]string{"", "event", "count"} }

// eventLane is one lane of an event field.
type eventLane struct {
	lane  int
	count bool
	zero  uint32 // The lane of the value 0.
	top   uint32 // The largest lane.
}

// event makes a field an event, as its tag says.
func (c *compiler) event(o *op, lanes []lane) error {
	k := c.tag.event
	first, e := len(c.plan.lanes), eventLane{count: k == eventCount}
	switch {
	case k == eventNone:
		return nil
	case c.tag.extrapolate != extrapolateUsual:
		return errors.New("an event is not extrapolated")
	case k == eventBits && (o.kind == opBool || o.kind <= opInt64 && !o.signed):
		for i := range lanes {
			e.lane = first + i
			c.plan.events = append(c.plan.events, e)
		}
	case k == eventBits:
		return errors.New("event is for booleans and for the bits of unsigned integers without bounds; event=count adds integers")
	case o.kind == opBool || o.kind > opRange:
		return errors.New("event=count is for integers")
	case len(lanes) > 1:
		return errors.New("event=count is for integers of at most 32 bits")
	case o.flip < o.low || o.flip-o.low > o.count:
		return errors.New("event=count needs bounds with 0 between them")
	default:
		e.lane, e.zero, e.top = first, uint32(o.flip-o.low), uint32(o.count)
		c.plan.events = append(c.plan.events, e)
	}
	o.text += "~" + eventWords()[k]
	return nil
}

// ErrEvents says that a type that is no input has event fields.
var ErrEvents = errors.New("the tag event is for inputs: register the type with input.Register")

// Events reports whether the plan has event fields: those tagged `net:"event"` or `net:"event=count"`.
func (p *Plan) Events() bool { return len(p.events) > 0 }

// MergeEvents makes the event fields of a row those of it and of another one: bits that are set in either, and the sum of
// counts, as far as the field's bounds let it. Other fields stay. Both rows are ones that Quantise or ReadRun made.
func (p *Plan) MergeEvents(row, other []uint32) {
	for _, e := range p.events {
		if !e.count {
			row[e.lane] |= other[e.lane]
			continue
		}
		sum := int64(row[e.lane]) + int64(other[e.lane]) - int64(e.zero)
		row[e.lane] = uint32(min(max(sum, 0), int64(e.top)))
	}
}

// ClearEvents makes the event fields of a row 0. Other fields stay.
func (p *Plan) ClearEvents(row []uint32) {
	for _, e := range p.events {
		row[e.lane] = e.zero
	}
}
