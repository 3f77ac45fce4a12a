package message

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/wire"
)

// Size returns how long the payload of a message with these fields is, in bytes.
func Size(plan *wire.Plan) int { return (plan.Bits() + 7) / 8 }

// Handler turns a function of a Go type into one of a payload, for Type.Handle. A payload that is not legal does not reach
// the function; netcode has judged all of a packet before that and closed the connection. The value is good during the call
// and reused afterwards; it starts from zero, also in fields that do not travel. Once warm, messages that come out of
// Queues allocate nothing. Handler panics when the plan is that of another type.
func Handler[T any](plan *wire.Plan, handle func(ctx *Context, m *T)) func(ctx *Context, payload []byte) {
	mustMatch[T](plan)
	return func(ctx *Context, payload []byte) {
		b := borrow[T](ctx, plan)
		if b.read(plan, payload) {
			handle(ctx, &b.value)
		}
		giveBack(ctx, b)
	}
}

func mustMatch[T any](plan *wire.Plan) {
	if t := reflect.TypeFor[T](); t != plan.Type() {
		panic(fmt.Sprintf("message: the fields of %s cannot be those of %s", plan.Type(), t))
	}
}

// box is the value that a handler is given, with room for its row.
type box[T any] struct {
	value T
	lanes []uint32
}

// borrow takes the reused value out of its place: a handler that is called while it runs gets another one, and one whose
// handler panicked is not used again.
func borrow[T any](ctx *Context, plan *wire.Plan) *box[T] {
	if ctx.scratch != nil {
		if b, ok := ctx.scratch.values[ctx.Type].(*box[T]); ok {
			ctx.scratch.values[ctx.Type] = nil
			return b
		}
	}
	return &box[T]{lanes: make([]uint32, plan.Lanes())}
}

func giveBack[T any](ctx *Context, b *box[T]) {
	if ctx.scratch != nil {
		ctx.scratch.values[ctx.Type] = b
	}
}

// Encoder holds the memory in which messages are encoded, one after the other. The zero value is ready.
type Encoder struct {
	lanes   []uint32
	payload []byte
}

// Encode returns the payload of a message, which is good until the next call, and what was wrong with a field: a value out
// of range is clamped, one that is no finite number travels as the least value of its field. The caller decides whether to
// send it. Encode panics when the plan is that of another type.
func Encode[T any](e *Encoder, plan *wire.Plan, m *T) (payload []byte, fault wire.Fault) {
	mustMatch[T](plan)
	if n := plan.Lanes(); cap(e.lanes) < n {
		e.lanes = make([]uint32, n)
	}
	if n := Size(plan); cap(e.payload) < n {
		e.payload = make([]byte, n)
	}
	lanes := e.lanes[:plan.Lanes()]
	clear(lanes)
	fault = quantise(plan, m, lanes)
	w := wire.NewBitWriter(e.payload[:Size(plan)])
	plan.WriteRow(&w, lanes)
	return e.payload[:w.Finish()], fault
}
