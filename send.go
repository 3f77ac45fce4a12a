package netcode

import (
	"context"

	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/registry"
)

// Send sends a message from a server, a client, or the end that a handler was given. (The methods Server.Send and Client.Send
// are steps of the frame, which the systems call.) It leaves at the end of the frame, if the budget allows. Its registration
// sets its delivery; the last arguments change that for this message. m is not kept. The
// receiver takes 1024 unreliable messages and 256 KiB of them in one of its frames (its Config.QueuePerSender)
// and drops the rest, without an error here; a server closes a client that continues so, a client no server. A
// message to several is encoded once. Send allocates nothing once warm.
//
// A message about an entity that is dead, or that a client may not see, is not sent to that client. With ToAll and
// ToAllBut that is no error: they mean only clients that may see the entity. To, ToMany and ToOwner return ErrNotVisible.
// ToSeers and ToOwner return it too where their own entity is dead; ToSeers of one that nobody sees returns nil. The errors are ErrNotConnected,
// ErrNotRegistered, ErrMisuse, ErrNotVisible, ErrQueueFull, ErrBackPressure, *TooLargeError, *FieldError, *message.BoundError and
// *message.SerializeError; after each nothing was sent. Of
// a message to several the error is that of the first that did not get it; the others still get it. A client whose
// reliable queue is full loses its connection, since the others cannot wait for it.
func Send[T any](end Endpoint, to Recipient, m *T, how ...Option) error {
	d, err := endpoint.NewDraft(end, m, registry.Alone)
	if err == nil {
		err = adjust(&d, how)
	}
	if err != nil {
		return err
	}
	return endpoint.Post(&d, endpoint.Recipient(to), m)
}

// adjust applies the options of a sender.
func adjust(d *endpoint.Draft, how []Option) error {
	for i := range how {
		if err := d.Adjust((*registry.Option)(&how[i])); err != nil {
			return err
		}
	}
	return nil
}

// Reply sends a message to the sender of the one that is being handled.
func Reply[T any](ctx *Context, m *T, how ...Option) error {
	return Send(ctx.End, To(ctx.Sender), m, how...)
}

// Call asks the end of an id a question, 0 being the server. f is called once with the answer, or with the error that there is
// none: a *CallError with the other end's reason, ErrDeadline (see Within), the error of ctx when that is done, or the
// *CloseError with which the connection ended. r is nil with an error, and good until f returns. f is called in a frame of
// this end, never within Call; if it panics, the connection to the end that was asked ends as for a handler. If Call itself
// returns an error, one of those of Send, or ErrTooManyCalls, f is not called.
func Call[Q, R any](ctx context.Context, end Endpoint, to ClientID, q *Q, f func(r *R, err error), how ...Option) error {
	d, err := endpoint.NewQuestion(ctx, end, q, f)
	if err == nil {
		err = adjust(&d, how)
	}
	if err != nil {
		return err
	}
	return endpoint.Ask(&d, to, q)
}
