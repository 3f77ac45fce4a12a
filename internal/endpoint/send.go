package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Draft is a message that is not encoded yet: its type, and its header, which the options of the sender adjust.
type Draft struct {
	held.Envelope
	end  *End
	of   *message.Type
	role registry.Role

	// Of a question.
	waiter calls.Waiter
	ctx    context.Context
	within time.Duration
}

// NewDraft begins a message from an end: its header is that of the registration.
func NewDraft[T any](end message.Endpoint, m *T, role registry.Role) (d Draft, err error) {
	e := Of(end)
	if e == nil {
		return d, errNoEnd
	}
	of, _ := message.TypeOf[T](&e.Types.Messages)
	switch {
	case of == nil:
		return d, fmt.Errorf("%w: %s", errs.ErrNotRegistered, reflect.TypeFor[T]())
	case m == nil:
		return d, errNoMessage
	case e.Types.Roles[of.ID()] != role:
		return d, fmt.Errorf("%w: %s was registered with Answer: ask it with Call", errs.ErrMisuse, of.Name)
	}
	d.end, d.of, d.role = e, of, role
	d.Type, d.Stage, d.Channel = of.ID(), of.Stage, of.Channel
	if !of.StageGiven {
		d.Stage = e.stage()
	}
	if role != registry.Alone {
		d.Flags = wire.FlagCall
	}
	return d, nil
}

// Adjust applies one option of the sender.
func (d *Draft) Adjust(h *registry.Option) error {
	switch h.What {
	case registry.OptionNone:
		if h.Register != nil {
			return errOption
		}
	case registry.OptionStage:
		if d.Stage = h.Stage; !h.Stage.Valid() {
			return errStage
		}
	case registry.OptionDelivery:
		if d.Channel = wire.NewChannel(h.Delivery, d.Channel.Number()); !h.Delivery.Valid() {
			return errDelivery
		}
	case registry.OptionChannel:
		if d.Channel = wire.NewChannel(d.Channel.Delivery(), h.Number); h.Number < 0 || h.Number >= wire.MaxChannels {
			return errDelivery
		}
	case registry.OptionBefore:
		return d.end.wait(&d.Post, h.Before)
	case registry.OptionAfter:
		d.After = held.Wait(h.After)
	case registry.OptionEntity:
		d.Flags |= wire.FlagEntity
		if d.Entity = h.Entity; h.Entity.IsZero() {
			return errZeroEntity
		}
	case registry.OptionWithin:
		if d.within = h.Within; d.role != registry.Question {
			return errWithin
		}
	}
	return nil
}

// farthest bounds the ticks ahead that a message may wait for: a quarter of the range of its 16 bits, since the two ends
// may disagree on the present tick.
const farthest = 1 << 14

// wait makes a message wait for a tick, unless the tick is long past.
func (e *End) wait(p *peer.Post, before tick.Tick) error {
	switch now := e.Frame.Clock.Tick(); { // before may be too far from now for a difference.
	case before-farthest > now && before > now:
		return errTooFar
	case before > now-farthest:
		p.Flags |= wire.FlagTick
		p.Tick = before
	}
	return nil
}

// Post encodes a message and sends it to this end itself, to one other end, or to several.
func Post[T any](d *Draft, to Recipient, m *T) error {
	e, of := d.end, d.of
	if of.OwnerOnly && !e.atServer() && !d.AboutEntity() {
		return errNeedsEntity
	}
	to, l, err := e.resolve(to)
	switch {
	case err != nil:
		return err
	case to.kind != toSelf && !of.Direction.Allows(e.atServer()):
		return e.wrongWay(of)
	}
	codec, _ := of.Codec.(*message.CodecOf[T])
	bound := largest // A message to several gets all room at once: its Serialize method runs a single time, without being measured first.
	if codec.Plan() != nil || to.kind == toOne || to.kind == toSelf {
		if bound, err = codec.SizeBound(e.Inbound.Scratch(), m); err != nil {
			return err
		}
	}
	if bound > largest {
		e.Counters.TooLarge++
		return &errs.TooLargeError{Name: of.Name, Size: bound, Max: largestTo(l, &d.Post)}
	}
	buffer := e.borrow(bound) // A Serialize method, and a handler in this process, may send further messages.
	defer e.giveBack(buffer)
	n, err := codec.Encode(e.Inbound.Scratch(), buffer[:bound], m)
	if err != nil {
		return e.unencoded(err, of)
	}
	return e.sendEncoded(to, l, of, &d.Envelope, buffer[:n])
}

// unencoded returns the error of a message that was not encoded, for Send.
func (e *End) unencoded(err error, of *message.Type) error {
	if long := new(message.BoundError); errors.As(err, &long) && long.Bound == largest {
		e.Counters.TooLarge++
		return &errs.TooLargeError{Name: of.Name, Size: largest + 1, Max: largest}
	}
	return err
}

// resolve replaces ToOwner, and To of this end itself, by To and ToSelf. It returns the link of To.
func (e *End) resolve(to Recipient) (Recipient, *Link, error) {
	switch {
	case to.kind == toSelf:
		return to, nil, nil
	case to.kind == toNobody || to.kind != toOne && !e.atServer():
		return to, nil, ErrRecipient
	case (to.kind == toOwner || to.kind == toSeers) && e.owner.Exists(to.entity()) != message.Exists:
		return to, nil, errs.ErrNotVisible
	case to.kind == toOwner:
		to = To(e.Store.Owner(to.entity()))
	}
	if to.kind != toOne {
		return to, nil, nil
	}
	if id := to.client(); id == e.Inbound.Local().ID() && (id != 0 || e.atServer()) {
		return ToSelf(), nil, nil
	}
	l, err := e.owner.LinkTo(to.client())
	return to, l, err
}

// wrongWay returns the error of a message that this end may not send.
func (e *End) wrongWay(of *message.Type) error {
	if e.atServer() {
		return fmt.Errorf("%w: %s was registered with FromClient, and this is the server: register it without that option, or send it from a client", errs.ErrMisuse, of.Name)
	}
	return fmt.Errorf("%w: %s was registered with FromServer, and this is a client: register it without that option, or send it from the server", errs.ErrMisuse, of.Name)
}

// sendEncoded sends an encoded message to a resolved recipient, and tells the Posted hooks.
func (e *End) sendEncoded(to Recipient, l *Link, of *message.Type, p *held.Envelope, body []byte) error {
	switch to.kind {
	case toSelf:
		local := localMessage(&p.Post)
		return e.Inbound.PushLocal(e.Inbound.Local(), &local, body)
	case toOne:
		err := e.sendToOne(l, of, p, body)
		if err == nil {
			e.tellPosted(to, p, body)
		}
		return err
	}
	e.tellPosted(to, p, body)
	return e.sendToMany(to, of, p, body)
}

// sendToOne sends an encoded message to one other end: into the queue of its link, held back until the other end has what the message
// needs, or to an end in this process, at once.
func (e *End) sendToOne(l *Link, of *message.Type, p *held.Envelope, body []byte) error {
	switch {
	case p.AboutEntity() && !e.mayName(l, p.Entity):
		return errs.ErrNotVisible
	case l.Loopback != nil:
		return l.deliverLocal(e.Inbound.Local().ID(), &p.Post, e.hideNames(l, p.Type, body))
	case l.Older.Lacks(p.Type):
		e.Counters.LeftOut++
		if p.Flags&wire.FlagCall != 0 { // The caller of a question gets an error.
			return fmt.Errorf("%w: %s", errs.ErrLeftOut, of.Name)
		}
		return nil
	case e.holdsBack(l, p, body):
		return l.hold(p, of.Name, body)
	}
	return e.enqueue(l, of.Name, &p.Post, e.hideNames(l, p.Type, body))
}

// enqueue puts an encoded message into the queue of a link, and into the history.
func (e *End) enqueue(l *Link, name string, p *peer.Post, body []byte) error {
	if err := l.Outgoing.Push(p, body); err != nil {
		return l.failed(err, name, p, len(body))
	}
	e.record(l.Remote, p, body)
	return nil
}

// localMessage returns a message to this end itself, in the form for its handler.
func localMessage(p *peer.Post) message.Message {
	return message.Message{
		Type: p.Type, Stage: p.Stage, Channel: p.Channel, NotBefore: p.Tick, Entity: p.Entity,
		Call: p.Call, HasCall: p.Flags&wire.FlagCall != 0,
	}
}

// largest bounds the size of a body: more than any channel accepts.
const largest = peer.InitialCredit

// largestTo returns the maximum size of a body to one end; l is nil for several.
func largestTo(l *Link, p *peer.Post) int {
	if l == nil || l.Outgoing == nil {
		return largest
	}
	return l.Outgoing.MaxBody(p)
}

// borrow returns a buffer of at least size bytes for an encoded message. Handlers that are called meanwhile get other
// buffers.
func (e *End) borrow(size int) (b []byte) {
	if last := len(e.buffers) - 1; last >= 0 {
		b, e.buffers = e.buffers[last], e.buffers[:last]
	}
	if cap(b) < size {
		b = make([]byte, size)
	}
	return b[:cap(b)]
}

// giveBack returns a buffer.
func (e *End) giveBack(b []byte) { e.buffers = append(e.buffers, b) }

// sendToMany sends an encoded message to several clients: first over the network, then to the player in this process,
// whose handler may run at once.
func (e *End) sendToMany(to Recipient, of *message.Type, p *held.Envelope, body []byte) (first error) {
	if to.kind == toSeers && !p.AboutEntity() && e.Store.Reserved(to.entity()) {
		p.Seers = to.entity() // The clients that see the entity are not known yet.
	}
	if to.kind == toMany {
		return e.sendToList(to.list, of, p, body)
	}
	for _, local := range [...]bool{false, true} {
		for i := 0; ; i++ {
			l, ok := e.owner.LinkAt(i)
			if !ok {
				break
			}
			if l == nil || to.kind == toAllBut && l.Remote == to.client() || to.kind == toSeers && !e.mayName(l, to.entity()) {
				continue
			}
			if err := e.sendToOneOf(l, local, of, p, body); !errors.Is(err, errs.ErrNotVisible) { // ToAll excludes clients that may not see the entity.
				first = cmp.Or(first, err)
			}
		}
	}
	return first
}

// sendToList sends an encoded message to each client of a list once, in the order of sendToMany.
func (e *End) sendToList(list []wire.ClientID, of *message.Type, p *held.Envelope, body []byte) (first error) {
	e.lists++
	for _, local := range [...]bool{false, true} {
		for i, id := range list {
			if id == 0 {
				continue
			}
			l, err := e.owner.LinkTo(id)
			switch {
			case err != nil:
				first = cmp.Or(first, err)
			case local && slices.Contains(list[:i], id): // Its handler may have sent to other lists.
			case !local && l.list == e.lists:
			default:
				if !local {
					l.list = e.lists
				}
				first = cmp.Or(first, e.sendToOneOf(l, local, of, p, body))
			}
		}
	}
	return first
}

// sendToOneOf sends an encoded message to one of several clients, if that is in this process like local. A client whose
// reliable queue is full loses its connection.
func (e *End) sendToOneOf(l *Link, local bool, of *message.Type, p *held.Envelope, body []byte) error {
	if (l.Loopback != nil) != local {
		return nil
	}
	err := e.sendToOne(l, of, p, body)
	if errors.Is(err, errs.ErrBackPressure) {
		e.Counters.QueueOverflows++
		e.owner.CloseFor(l.Remote, &errs.CloseError{Reason: errs.ReasonQueueOverflow, Detail: "too many reliable messages wait"})
	}
	return err
}
