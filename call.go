package netcode

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// callTime is the deadline of a call that names none.
const callTime = 5 * time.Second

// Answer registers question Q with its answer R, and the function that answers it. Call it on both sides; a side that never
// answers gives nil, and refuses; so does each end that shall have a function of its own by OnCall. The options are those of Handle and count for Q, which is Reliable unless Over says otherwise; the answer goes the
// other way over the channel on which the question came. One type may be the answer to several questions. The function fills
// in the answer before it returns; its error travels to the caller as the text of a *CallError instead. Answer panics as
// Handle does.
func Answer[Q, R any](p *Protocol, f func(ctx *Context, q *Q, r *R) error, options ...Option) {
	q, r := reflect.TypeFor[Q](), reflect.TypeFor[R]()
	p.MustBeOpen("Answer", q)
	registered := register("Answer", q, options)
	if !registered.delivered {
		registered.delivery = wire.Reliable
	}
	if f == nil {
		f = func(*Context, *Q, *R) error { return errNobody }
	}
	addAnswer[R](p, r, registered.answer)
	add(p, "Answer", registered, question, answering(f))
	p.handled[len(p.handled)-1].answer = r
}

// addAnswer registers an answer's type unless another question has it already.
func addAnswer[R any](p *Protocol, r reflect.Type, name string) {
	for _, other := range p.handled {
		if other.role == answer && other.of.Codec.GoType() == r {
			if name != "" && name != other.of.Name {
				panic(fmt.Sprintf("netcode: Answer[%s]: this answer is registered already, as %q", r, other.of.Name))
			}
			return
		}
	}
	var options []Option
	if name != "" {
		options = append(options, Named(name))
	}
	registered := register("Answer", r, options)
	registered.delivery = wire.Reliable
	add(p, "Answer", registered, answer, answered[R])
}

// answering is the handler of a question. The answers are reused: the function may ask and answer within itself.
func answering[Q, R any](f func(ctx *Context, q *Q, r *R) error) func(ctx *Context, m *Q) {
	answers := &sync.Pool{New: func() any { return new(R) }}
	return func(ctx *Context, m *Q) {
		r, _ := answers.Get().(*R)
		var zero R
		*r = zero
		err := f(ctx, m, r)
		if err == nil {
			how := [...]How{Via(ctx.Delivery()), Channel(ctx.Channel.Number())}
			err = unsent(ctx, post(ctx.End, To(ctx.Sender), r, how[:], callOf{number: ctx.Call, role: answer}))
		}
		answers.Put(r)
		if err != nil {
			refuse(ctx, err)
		}
	}
}

// unsent returns the error for the caller of an answer that could not be sent. A caller that cannot be reached gets none: its deadline
// ends the call.
func unsent(ctx *Context, err error) error {
	if err == nil || errors.Is(err, ErrBackPressure) || errors.Is(err, ErrQueueFull) || errors.Is(err, ErrNotConnected) {
		return nil
	}
	if c := coreOf(ctx.End); c != nil {
		c.report.Error(fmt.Errorf("netcode: an answer cannot be sent: %w", err))
	}
	return errUnsent
}

// answered is the handler of an answer: it calls the function of Call. An answer without one may be late.
func answered[R any](ctx *Context, m *R) {
	c := coreOf(ctx.End)
	if c == nil {
		return
	}
	w, ok := c.calls.Waiter(ctx.Call, ctx.Sender).(waiting[R])
	if !ok {
		c.stats.LateAnswers++
		return
	}
	c.calls.Take(ctx.Call, ctx.Sender)
	w(m, nil)
}

// waiting is a function that waits for an answer of type R.
type waiting[R any] func(r *R, err error)

// Fail implements calls.Waiter.
func (w waiting[R]) Fail(err error) { w(nil, err) }

// refuse answers a question with an error.
func refuse(ctx *Context, reason error) {
	c := coreOf(ctx.End)
	if c == nil {
		return
	}
	if ctx.Sender == ctx.Local {
		c.refused(ctx.Call, ctx.Sender, reason.Error())
		return
	}
	l, err := c.linkTo(ctx.Sender)
	if err != nil {
		return
	}
	if l.near != nil {
		l.near.refused(ctx.Call, ctx.Local, reason.Error())
		return
	}
	c.postRefusal(l, peer.Post{Stage: ctx.Stage, Channel: ctx.Channel, Call: ctx.Call}, reason)
}

// postRefusal sends the refusal of a question to an end. p has the stage, the channel and the number of the call.
func (c *endpointCore) postRefusal(l *connection, p peer.Post, reason error) {
	p.Type, p.Flags = wire.MessageRefusal, wire.FlagCall
	to := held.Envelope{Post: p}
	body := peer.AppendRefusal(nil, reason.Error())
	if c.holdsBack(l, &to) {
		_ = l.delay(&to, "", body) // It is behind a message that is held.
	} else if err := l.Outgoing.Push(&to.Post, body); err != nil {
		_ = l.failed(err, "", &to.Post, 0) // Counted; the caller's deadline ends the call.
	}
}

// refused ends a call with the other end's error.
func (c *endpointCore) refused(number uint16, from wire.ClientID, text string) {
	w, ok := c.calls.Take(number, from)
	if !ok {
		c.stats.LateAnswers++
		return
	}
	c.tellCaller(w, from, &CallError{Text: text})
}

// Call asks the end of an id a question, 0 being the server. f is called once with the answer, or with the error that there is
// none: a *CallError with the other end's reason, ErrDeadline (see Within), the error of ctx when that is done, or the
// *CloseError with which the connection ended. r is nil with an error, and good until f returns. f is called in a frame of
// this end, never within Call; if it panics, the connection to the end that was asked ends as for a handler. If Call itself
// returns an error, one of those of Send, ErrTooManyCalls, or ErrNoContext for a ctx or an f that is nil, f is not called.
func Call[Q, R any](ctx context.Context, end Endpoint, to ClientID, q *Q, f func(r *R, err error), how ...How) error {
	c := coreOf(end)
	if c == nil {
		return ErrNoEnd
	}
	if ctx == nil || f == nil {
		return ErrNoContext
	}
	if err := c.protocol.answers(reflect.TypeFor[Q](), reflect.TypeFor[R]()); err != nil {
		return err
	}
	within := callTime
	for i := range how {
		if how[i].what == howWithin {
			within = how[i].within
		}
	}
	number, ok := c.calls.Open(calls.Call{Waiter: waiting[R](f), Of: to, Deadline: c.frame.After(within), Ctx: ctx})
	if !ok {
		c.stats.CallsFull++
		return ErrTooManyCalls
	}
	err := post(end, To(to), q, how, callOf{number: number, role: question})
	if err != nil {
		c.calls.Take(number, to)
	}
	return err
}
