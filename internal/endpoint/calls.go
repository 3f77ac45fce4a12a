package endpoint

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/wire"
)

// AddAnswer implements netcode.Answer: it registers question Q with its answer R.
func AddAnswer[Q, R any](t *Types, o registry.Options, f func(ctx *message.Context, q *Q, r *R) error) {
	if !o.Delivered {
		o.Delivery = wire.Reliable
	}
	if f == nil {
		f = func(*message.Context, *Q, *R) error { return errNobody }
	}
	r := reflect.TypeFor[R]()
	if name, known := t.answerName(r); !known {
		answer := registry.Options{Name: o.Answer, Delivery: wire.Reliable}
		if o.Answer == "" {
			answer.Name = r.Name()
		}
		answer.MustFit("Answer", r)
		Add(t, "Answer", answer, registry.Answer, nil, answered[R])
	} else if o.Answer != "" && o.Answer != name {
		panic(fmt.Sprintf("netcode: Answer[%s]: this answer is registered already, as %q", r, name))
	}
	Add(t, "Answer", o, registry.Question, r, answering(f))
}

// answerName returns the wire name of an answer's type, if a question has it already.
func (t *Types) answerName(r reflect.Type) (name string, known bool) {
	for _, other := range t.Handled {
		if other.Role == registry.Answer && other.Type.Codec.GoType() == r {
			return other.Type.Name, true
		}
	}
	return "", false
}

// answers returns nil for a question that was registered with that answer type, otherwise an error.
func (t *Types) answers(q, r reflect.Type) error {
	of := t.Messages.ByGoType(q)
	for _, h := range t.Handled {
		switch {
		case of == nil || h.Type != of:
		case h.Role == registry.Alone:
			return fmt.Errorf("%w: %s is no question: it was registered with Handle", errs.ErrMisuse, q)
		case h.Role == registry.Answer:
			return fmt.Errorf("%w: %s is no question: it is the answer to one", errs.ErrMisuse, q)
		case h.Answer != r:
			return fmt.Errorf("%w: %s is answered by %s, not by %s", errs.ErrMisuse, q, h.Answer, r)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %s: give it to Answer on both sides", errs.ErrNotRegistered, q)
}

// answering returns the handler of a question. It reuses answers; f may itself ask and answer.
func answering[Q, R any](f func(ctx *message.Context, q *Q, r *R) error) func(ctx *message.Context, m *Q) {
	answers := &sync.Pool{New: func() any { return new(R) }}
	return func(ctx *message.Context, m *Q) {
		r, _ := answers.Get().(*R)
		var zero R
		*r = zero
		err := f(ctx, m, r)
		if err == nil {
			err = unsent(ctx, sendAnswer(ctx, r))
		}
		answers.Put(r)
		if e := Of(ctx.End); err != nil && e != nil {
			e.refuse(ctx, err)
		}
	}
}

// sendAnswer sends an answer over the channel on which the question came.
func sendAnswer[R any](ctx *message.Context, r *R) error {
	d, err := NewDraft(ctx.End, r, registry.Answer)
	if err != nil {
		return err
	}
	d.Channel, d.Call = ctx.Channel, ctx.Call
	return Post(&d, To(ctx.Sender), r)
}

// unsent returns the error for the caller of an answer that could not be sent. An unreachable caller gets none: its
// deadline ends the call.
func unsent(ctx *message.Context, err error) error {
	if err == nil || errors.Is(err, errs.ErrBackPressure) || errors.Is(err, errs.ErrQueueFull) || errors.Is(err, errs.ErrNotConnected) {
		return nil
	}
	if e := Of(ctx.End); e != nil {
		e.Report.Error(fmt.Errorf("netcode: an answer cannot be sent: %w", err))
	}
	return errUnsent
}

// answered is the handler of an answer. It calls the function of Call. A late answer has no function.
func answered[R any](ctx *message.Context, m *R) {
	e := Of(ctx.End)
	if e == nil {
		return
	}
	w, ok := e.calls.Waiter(ctx.Call, ctx.Sender).(waiting[R])
	if !ok {
		e.Counters.LateAnswers++
		return
	}
	e.calls.Take(ctx.Call, ctx.Sender)
	w(m, nil)
}

// waiting is the function of Call for an answer of type R.
type waiting[R any] func(r *R, err error)

// Fail implements calls.Waiter.
func (w waiting[R]) Fail(err error) { w(nil, err) }

// NewQuestion begins a question of netcode.Call. f takes its answer.
func NewQuestion[Q, R any](ctx context.Context, end message.Endpoint, q *Q, f func(r *R, err error)) (d Draft, err error) {
	e := Of(end)
	switch {
	case e == nil:
		return d, errNoEnd
	case ctx == nil || f == nil:
		return d, errNoContext
	}
	if err := e.Types.answers(reflect.TypeFor[Q](), reflect.TypeFor[R]()); err != nil {
		return d, err
	}
	d, err = NewDraft(end, q, registry.Question)
	d.waiter, d.ctx, d.within = waiting[R](f), ctx, callTime
	return d, err
}

// callTime is the default deadline of a call.
const callTime = 5 * time.Second

// Ask sends a question.
func Ask[Q any](d *Draft, to wire.ClientID, q *Q) error {
	e, ok := d.end, false
	if d.Call, ok = e.calls.Open(calls.Call{Waiter: d.waiter, Of: to, Deadline: e.Frame.After(d.within), Ctx: d.ctx}); !ok {
		e.Counters.CallsFull++
		return errs.ErrTooManyCalls
	}
	err := Post(d, To(to), q)
	if err != nil {
		e.calls.Take(d.Call, to)
	}
	return err
}

// DropCalls ends the calls to an end that has disconnected.
func (e *End) DropCalls(of wire.ClientID, reason *errs.CloseError) { e.calls.Drop(of, reason) }

// refuse answers a question with an error.
func (e *End) refuse(ctx *message.Context, reason error) {
	if ctx.Sender == ctx.Local {
		e.refused(ctx.Call, ctx.Sender, reason.Error())
		return
	}
	l, err := e.owner.LinkTo(ctx.Sender)
	switch {
	case err != nil:
	case l.Loopback != nil:
		l.Loopback.refused(ctx.Call, ctx.Local, reason.Error())
	default:
		e.postRefusal(l, peer.Post{Stage: ctx.Stage, Channel: ctx.Channel, Call: ctx.Call}, reason)
	}
}

// postRefusal sends the refusal of a question to an end. p has the stage, the channel and the number of the call.
func (e *End) postRefusal(l *Link, p peer.Post, reason error) {
	p.Type, p.Flags = wire.MessageRefusal, wire.FlagCall
	to := held.Envelope{Post: p}
	body := peer.AppendRefusal(nil, reason.Error())
	if e.holdsBack(l, &to, body) {
		_ = l.hold(&to, "", body) // The refusal follows a message that is held.
	} else if err := l.Outgoing.Push(&to.Post, body); err != nil {
		_ = l.failed(err, "", &to.Post, 0) // The error is counted; the caller's deadline ends the call.
	}
}

// refused ends a call with the other end's error.
func (e *End) refused(number uint16, from wire.ClientID, text string) {
	w, ok := e.calls.Take(number, from)
	if !ok {
		e.Counters.LateAnswers++
		return
	}
	e.tellCaller(w, from, &errs.CallError{Text: text})
}

// tellCaller ends a call with an error.
func (e *End) tellCaller(w calls.Waiter, of wire.ClientID, err error) {
	e.CallGame(nameAnswer, of, func() { w.Fail(err) })
}
