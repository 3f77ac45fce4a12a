package netcode

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
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
	c := coreOf(end)
	if c == nil {
		return errNoEnd
	}
	return post(c, to, m, how, callOf{})
}

// Reply sends a message to the sender of the one that is being handled.
func Reply[T any](ctx *Context, m *T, how ...Option) error {
	return Send(ctx.End, To(ctx.Sender), m, how...)
}

// callOf is the call that a message belongs to, and the message's role.
type callOf struct {
	number uint16
	role   registry.Role
}

// post encodes a message and sends it to this end itself, to one other end, or to several.
func post[T any](c *endpointCore, to Recipient, m *T, how []Option, call callOf) error {
	if c == nil {
		return errNoEnd
	}
	of, codec := message.TypeOf[T](&c.protocol.types.Messages)
	if of == nil {
		return fmt.Errorf("%w: %s", errs.ErrNotRegistered, reflect.TypeFor[T]())
	}
	if m == nil {
		return errNoMessage
	}
	var p held.Envelope
	if err := c.fillHeader(&p, of, how, call); err != nil {
		return err
	}
	to, l, err := c.resolve(to)
	switch {
	case err != nil:
		return err
	case to.kind != toSelf && !of.Direction.Allows(c.server != nil):
		return c.wrongWay(of)
	}
	bound, err := roomFor(c, codec, to, m)
	switch {
	case err != nil:
		return err
	case bound > largest:
		c.stats.TooLarge++
		return &errs.TooLargeError{Name: of.Name, Size: bound, Max: c.largestTo(l, &p.Post)}
	}
	buffer := c.borrow(bound) // A Serialize method, and a handler in this process, may send further messages.
	defer c.giveBack(buffer)
	n, err := codec.Encode(c.inbound.Scratch(), buffer[:bound], m)
	if err != nil {
		return c.unencoded(err, of)
	}
	return c.sendEncoded(to, l, of, &p, buffer[:n])
}

// unencoded returns the error of a message that was not encoded, for Send.
func (c *endpointCore) unencoded(err error, of *message.Type) error {
	if long := new(message.BoundError); errors.As(err, &long) && long.Bound == largest {
		c.stats.TooLarge++
		return &errs.TooLargeError{Name: of.Name, Size: largest + 1, Max: largest}
	}
	return err
}

// roomFor returns the size of the buffer for a message. One to several clients gets all room at once: its Serialize method
// then runs a single time, without being measured first.
func roomFor[T any](c *endpointCore, codec *message.CodecOf[T], to Recipient, m *T) (int, error) {
	if codec.Plan() == nil && to.kind != toOne && to.kind != toSelf {
		return largest, nil
	}
	return codec.SizeBound(c.inbound.Scratch(), m)
}

// resolve replaces ToOwner, and To of this end itself, by To and ToSelf. It returns the connection of To.
func (c *endpointCore) resolve(to Recipient) (Recipient, *connection, error) {
	switch {
	case to.kind == toSelf:
		return to, nil, nil
	case to.kind == toNobody || to.kind != toOne && c.server == nil:
		return to, nil, errRecipient
	case (to.kind == toOwner || to.kind == toSeers) && !c.server.Has(to.entity()):
		return to, nil, errs.ErrNotVisible
	case to.kind == toOwner:
		to = To(c.server.store.Owner(to.entity()))
	}
	if to.kind != toOne {
		return to, nil, nil
	}
	if id := to.client(); id == c.inbound.Local().ID() && (id != 0 || c.server != nil) {
		return ToSelf(), nil, nil
	}
	l, err := c.self.linkTo(to.client())
	return to, l, err
}

// sendEncoded sends an encoded message to a resolved recipient, and passes it to the extensions with a extend.Posted hook.
func (c *endpointCore) sendEncoded(to Recipient, l *connection, of *message.Type, p *held.Envelope, body []byte) error {
	switch to.kind {
	case toSelf:
		local := localMessage(&p.Post)
		return c.inbound.PushLocal(c.inbound.Local(), &local, body)
	case toOne:
		err := c.sendToOne(l, of, p, body)
		if err == nil {
			c.tellPosted(to, p, body)
		}
		return err
	}
	c.tellPosted(to, p, body)
	return c.server.sendToMany(to, of, p, body)
}

// route is the way of a message to one other end.
type route uint8

const (
	routeQueue  route = iota // Into the queue of the connection.
	routeHold                // Held back until the other end has what the message needs.
	routeLocal               // To the other end in this process, at once.
	routeLacks               // Nowhere: the other end's older build lacks its type.
	routeHidden              // Nowhere: the message is about an entity that the other end may not see.
)

// routeOf decides how a message goes to another end, and sets what it waits for.
func (c *endpointCore) routeOf(l *connection, p *held.Envelope, body []byte) route {
	switch {
	case p.AboutEntity() && !c.maySee(l, p.Entity):
		return routeHidden
	case l.loopback != nil:
		return routeLocal
	case l.older.Lacks(p.Type):
		return routeLacks
	case c.holdsBack(l, p, body):
		return routeHold
	}
	return routeQueue
}

// sendToOne sends an encoded message to one other end.
func (c *endpointCore) sendToOne(l *connection, of *message.Type, p *held.Envelope, body []byte) error {
	switch c.routeOf(l, p, body) {
	case routeHidden:
		return errs.ErrNotVisible
	case routeLacks:
		l.stats.LeftOut++
		if p.Flags&wire.FlagCall != 0 { // The caller of a question gets an error.
			return fmt.Errorf("%w: %s", errs.ErrLeftOut, of.Name)
		}
		return nil
	case routeHold:
		return l.hold(p, of.Name, body)
	case routeLocal:
		return l.deliverLocal(c.inbound.Local().ID(), &p.Post, c.hideNames(l, p.Type, body))
	}
	return c.enqueue(l, of.Name, &p.Post, c.hideNames(l, p.Type, body))
}

// enqueue puts an encoded message into the queue of a connection, and into the history.
func (c *endpointCore) enqueue(l *connection, name string, p *peer.Post, body []byte) error {
	if err := l.Outgoing.Push(p, body); err != nil {
		return l.failed(err, name, p, len(body))
	}
	c.record(l.Remote, p, body)
	return nil
}

// fillHeader sets the header of a message from its registration and its options.
func (c *endpointCore) fillHeader(p *held.Envelope, of *message.Type, how []Option, call callOf) error {
	id := of.ID()
	if c.protocol.types.Roles[id] != call.role {
		return fmt.Errorf("%w: %s was registered with Answer: ask it with Call", errs.ErrMisuse, of.Name)
	}
	p.Type, p.Stage, p.Channel = id, of.Stage, of.Channel
	if !of.StageGiven {
		p.Stage = c.stage()
	}
	if call.role != registry.Alone {
		p.Flags, p.Call = wire.FlagCall, call.number
	}
	for i := range how {
		if how[i].What == registry.OptionWithin && call.role != registry.Question {
			return errWithin
		}
		if err := c.adjust(p, &how[i]); err != nil {
			return err
		}
	}
	if of.OwnerOnly && c.client != nil && p.Flags&wire.FlagEntity == 0 {
		return errNeedsEntity
	}
	return nil
}

// adjust applies one option of the sender.
func (c *endpointCore) adjust(p *held.Envelope, h *Option) error {
	switch h.What {
	case registry.OptionNone:
		if h.Register != nil {
			return errOption
		}
	case registry.OptionStage:
		if p.Stage = h.Stage; !h.Stage.Valid() {
			return errStage
		}
	case registry.OptionDelivery:
		if p.Channel = wire.NewChannel(h.Delivery, p.Channel.Number()); !h.Delivery.Valid() {
			return errDelivery
		}
	case registry.OptionChannel:
		if p.Channel = wire.NewChannel(p.Channel.Delivery(), h.Number); h.Number < 0 || h.Number >= wire.MaxChannels {
			return errDelivery
		}
	case registry.OptionBefore:
		return c.wait(&p.Post, h.Before)
	case registry.OptionAfter:
		p.After = held.Wait(h.After)
	case registry.OptionEntity:
		p.Flags |= wire.FlagEntity
		if p.Entity = h.Entity; h.Entity.IsZero() {
			return errZeroEntity
		}
	}
	return nil
}

// wrongWay returns the error of a message that this end may not send.
func (c *endpointCore) wrongWay(of *message.Type) error {
	if c.server != nil {
		return fmt.Errorf("%w: %s was registered with FromClient, and this is the server: register it without that option, or send it from a client", errs.ErrMisuse, of.Name)
	}
	return fmt.Errorf("%w: %s was registered with FromServer, and this is a client: register it without that option, or send it from the server", errs.ErrMisuse, of.Name)
}

// errZeroEntity is ErrNotVisible for the zero id.
var errZeroEntity = fmt.Errorf("%w: the NetworkID of About is zero: an entity with a components.Replicated has its id at once, by ID of the server's systems", errs.ErrNotVisible)

// farthest bounds the ticks ahead that a message may wait for: a quarter of the range of its 16 bits, since the two ends
// may disagree on the present tick.
const farthest = 1 << 14

// wait makes a message wait for a tick, unless the tick is long past.
func (c *endpointCore) wait(p *peer.Post, before tick.Tick) error {
	switch now := c.frame.Clock.Tick(); { // before may be too far from now for a difference.
	case before-farthest > now && before > now:
		return errTooFar
	case before > now-farthest:
		p.Flags |= wire.FlagTick
		p.Tick = before
	}
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
func (c *endpointCore) largestTo(l *connection, p *peer.Post) int {
	if l == nil || l.Outgoing == nil {
		return largest
	}
	return l.Outgoing.MaxBody(p)
}

// borrow returns a buffer of at least size bytes for an encoded message. Handlers that are called meanwhile get other
// buffers.
func (c *endpointCore) borrow(size int) (b []byte) {
	if last := len(c.buffers) - 1; last >= 0 {
		b, c.buffers = c.buffers[last], c.buffers[:last]
	}
	if cap(b) < size {
		b = make([]byte, size)
	}
	return b[:cap(b)]
}

// giveBack returns a buffer.
func (c *endpointCore) giveBack(b []byte) { c.buffers = append(c.buffers, b) }

// sendToMany sends an encoded message to several clients: first over the network, then to the player in this process,
// whose handler may run at once.
func (s *Server) sendToMany(to Recipient, of *message.Type, p *held.Envelope, body []byte) (first error) {
	if to.kind == toSeers && !p.AboutEntity() && s.store.Reserved(to.entity()) {
		p.Seers = to.entity() // The clients that see the entity are not known yet.
	}
	if to.kind == toMany {
		return s.sendToList(to.list, of, p, body)
	}
	for _, local := range [...]bool{false, true} {
		for _, c := range s.sessions {
			if c.state != connected || to.kind == toAllBut && c.id == to.client() || to.kind == toSeers && !s.maySee(&c.link, to.entity()) {
				continue
			}
			if err := s.sendToOneOf(c, local, of, p, body); !errors.Is(err, errs.ErrNotVisible) { // ToAll excludes clients that may not see the entity.
				first = cmp.Or(first, err)
			}
		}
	}
	return first
}

// sendToList sends an encoded message to each client of a list once, in the order of sendToMany.
func (s *Server) sendToList(list []wire.ClientID, of *message.Type, p *held.Envelope, body []byte) (first error) {
	s.lists++
	for _, local := range [...]bool{false, true} {
		for i, id := range list {
			c := s.client(id)
			switch {
			case id == 0:
			case c == nil:
				first = cmp.Or(first, noClient(id))
			case local && slices.Contains(list[:i], id): // Its handler may have sent to other lists.
			case !local && c.list == s.lists:
			default:
				if !local {
					c.list = s.lists
				}
				first = cmp.Or(first, s.sendToOneOf(c, local, of, p, body))
			}
		}
	}
	return first
}

// sendToOneOf sends an encoded message to one of several clients, if that is in this process like local. A client whose
// reliable queue is full loses its connection.
func (s *Server) sendToOneOf(c *session, local bool, of *message.Type, p *held.Envelope, body []byte) error {
	if (c.link.loopback != nil) != local {
		return nil
	}
	err := s.sendToOne(&c.link, of, p, body)
	if errors.Is(err, errs.ErrBackPressure) {
		s.stats.QueueOverflows++
		s.self.closeFor(c.id, &errs.CloseError{Reason: errs.ReasonQueueOverflow, Detail: "too many reliable messages wait"})
	}
	return err
}

// failed counts an error of the queue to a peer and returns the error for Send.
func (l *connection) failed(err error, name string, p *peer.Post, size int) error {
	switch {
	case errors.Is(err, peer.ErrTooLarge):
		l.stats.TooLarge++
		return &errs.TooLargeError{Name: name, Size: size, Max: l.Outgoing.MaxBody(p)}
	case errors.Is(err, peer.ErrQueueFull):
		l.stats.OutboxFull++
		return errs.ErrQueueFull
	case errors.Is(err, peer.ErrBackPressure):
		l.stats.BackPressure++
		return errs.ErrBackPressure
	case errors.Is(err, peer.ErrEntity):
		return errs.ErrNotVisible
	}
	return err
}
