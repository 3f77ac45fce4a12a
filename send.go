package netcode

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
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
// ErrNotRegistered, ErrNoMessage, ErrWithin, ErrRecipient, ErrDirection, ErrQuestion, ErrNotVisible, ErrNeedsEntity, ErrStage, ErrDelivery, ErrTooFar,
// ErrQueueFull, ErrBackPressure, *TooLargeError, *FieldError, *message.BoundError and *message.SerializeError; after each nothing was sent. Of
// a message to several the error is that of the first that did not get it; the others still get it. A client whose
// reliable queue is full loses its connection, since the others cannot wait for it.
func Send[T any](end Endpoint, to Recipient, m *T, how ...How) error {
	c := coreOf(end)
	if c == nil {
		return ErrNoEnd
	}
	if len(how) == 0 && to.kind == toOne && sendSimple(c, wire.ClientID(to.who), m) {
		return nil
	}
	return post(c, to, m, how, callOf{})
}

// sendSimple equals post for a message without options to one end in another process. It encodes into the queue of the
// connection. It returns false, without effect, if post must send the message or return its error.
func sendSimple[T any](c *endpointCore, to wire.ClientID, m *T) (sent bool) {
	of, codec := message.TypeOf[T](&c.protocol.types.Messages)
	if of == nil || m == nil || !c.simple[of.ID()] || c.tapped() {
		return false
	}
	queue := c.queueTo(to)
	if queue == nil {
		return false
	}
	room := queue.ReserveSimple(codec.Size())
	if room == nil {
		return false
	}
	n, err := codec.Encode(c.inbound.Scratch(), room, m)
	if err != nil {
		return false
	}
	stage := of.Stage
	if !of.StageGiven {
		stage = c.stage()
	}
	queue.CommitSimple(of.ID(), stage, n)
	return true
}

// simpleQueues has queues of a server on which sendSimple may send, by the low bits of the client's id. A lookup needs no map and
// no session. Server.move removes them.
type simpleQueues [256]struct {
	id    wire.ClientID
	queue *peer.Outgoing // Nil: none.
}

// queueTo returns the queue of messages to an end of the same build in another process, or nil.
func (c *endpointCore) queueTo(id wire.ClientID) *peer.Outgoing {
	s := c.server
	if s != nil {
		if e := &s.queues[id%wire.ClientID(len(s.queues))]; e.queue != nil && e.id == id {
			return e.queue
		}
	}
	l, err := c.self.linkTo(id)
	if err != nil || l.loopback != nil || l.older != nil {
		return nil
	}
	if s != nil {
		e := &s.queues[id%wire.ClientID(len(s.queues))]
		e.id, e.queue = id, l.Outgoing
	}
	return l.Outgoing
}

// Reply sends a message to the sender of the one that is being handled.
func Reply[T any](ctx *Context, m *T, how ...How) error {
	return Send(ctx.End, To(ctx.Sender), m, how...)
}

// callOf is the call that a message belongs to, and the message's role.
type callOf struct {
	number uint16
	role   registry.Role
}

// post encodes a message and sends it to this end itself, to one other end, or to several.
func post[T any](c *endpointCore, to Recipient, m *T, how []How, call callOf) error {
	if c == nil {
		return ErrNoEnd
	}
	of, codec := message.TypeOf[T](&c.protocol.types.Messages)
	if of == nil {
		return fmt.Errorf("%w: %s", ErrNotRegistered, reflect.TypeFor[T]())
	}
	if m == nil {
		return ErrNoMessage
	}
	var p held.Envelope
	if err := c.fillHeader(&p, of, how, call); err != nil {
		return err
	}
	l, way, err := c.route(to, &p.Post)
	switch {
	case err != nil:
		return err
	case way != toSelf && !of.Direction.Allows(c.server != nil):
		return c.wrongWay(of)
	}
	bound, err := codec.SizeBound(c.inbound.Scratch(), m)
	switch {
	case err != nil:
		return err
	case bound > largest:
		c.stats.TooLarge++
		return &TooLargeError{Name: of.Name, Size: bound, Max: c.largestTo(l, &p.Post)}
	}
	buffer := c.borrow(bound) // A Serialize method, and a handler in this process, may send further messages.
	defer c.giveBack(buffer)
	n, err := codec.Encode(c.inbound.Scratch(), buffer[:bound], m)
	if err != nil {
		return err
	}
	return c.sendEncoded(l, way, to, of, &p, buffer[:n])
}

// sendEncoded sends an encoded message on its route, and passes it to the extensions with a Posted hook.
func (c *endpointCore) sendEncoded(l *connection, way recipientKind, to Recipient, of *message.Type, p *held.Envelope, body []byte) error {
	switch way {
	case toSelf:
		local := localMessage(&p.Post)
		return c.inbound.PushLocal(c.inbound.Local(), &local, body)
	case toOne:
		err := c.sendToOne(l, of, p, body)
		if err == nil {
			c.tellPosted(To(l.Remote), p, body)
		}
		return err
	}
	c.tellPosted(to, p, body)
	return c.server.sendToMany(to, of, p, body)
}

// sendToOne sends an encoded message to one other end: in this process at once, else into the queue of its connection,
// or held back until the other end has what the message needs.
func (c *endpointCore) sendToOne(l *connection, of *message.Type, p *held.Envelope, body []byte) error {
	s := c.server
	switch {
	case l.loopback != nil:
		if s != nil {
			body = s.hideNames(l.Remote, p.Type, body)
		}
		return l.deliverLocal(c.inbound.Local().ID(), &p.Post, body)
	case l.older.Lacks(p.Type):
		return l.leaveOut(&p.Post, of.Name)
	case s == nil:
		c.client.awaitAction(p)
	}
	waits := c.holdsBack(l, p)
	if s != nil && s.namesEarly(p.Type, body) {
		s.holdUntilCapture(p)
		waits = true
	}
	if waits {
		return l.delay(p, of.Name, body)
	}
	if s != nil {
		body = s.hideNames(l.Remote, p.Type, body)
	}
	return c.push(l, of.Name, &p.Post, body)
}

// push queues an encoded message to one peer and stores it in the history.
func (c *endpointCore) push(l *connection, name string, p *peer.Post, body []byte) error {
	if err := l.Outgoing.Push(p, body); err != nil {
		return l.failed(err, name, p, len(body))
	}
	c.record(l.Remote, p, body)
	return nil
}

// fillHeader sets the header of a message from its registration and its options.
func (c *endpointCore) fillHeader(p *held.Envelope, of *message.Type, how []How, call callOf) error {
	id := of.ID()
	if c.protocol.types.Roles[id] != call.role {
		return fmt.Errorf("%w: %s was registered with Answer: ask it with Call", ErrQuestion, of.Name)
	}
	p.Type, p.Stage, p.Channel = id, of.Stage, of.Channel
	if !of.StageGiven {
		p.Stage = c.stage()
	}
	if call.role != registry.Alone {
		p.Flags, p.Call = wire.FlagCall, call.number
	}
	for i := range how {
		if how[i].what == howWithin && call.role != registry.Question {
			return ErrWithin
		}
		if err := c.adjust(p, &how[i]); err != nil {
			return err
		}
	}
	if of.OwnerOnly && c.client != nil && p.Flags&wire.FlagEntity == 0 {
		return ErrNeedsEntity
	}
	return nil
}

// adjust applies one option of the sender.
func (c *endpointCore) adjust(p *held.Envelope, h *How) error {
	switch h.what {
	case howStage:
		if p.Stage = h.stage; !h.stage.Valid() {
			return ErrStage
		}
	case howDelivery:
		if p.Channel = wire.NewChannel(h.delivery, p.Channel.Number()); !h.delivery.Valid() {
			return ErrDelivery
		}
	case howNumber:
		if p.Channel = wire.NewChannel(p.Channel.Delivery(), h.number); h.number < 0 || h.number >= wire.MaxChannels {
			return ErrDelivery
		}
	case howBefore:
		return c.wait(&p.Post, h.before)
	case howAfter:
		p.After = h.after
	case howEntity:
		p.Flags |= wire.FlagEntity
		if p.Entity = h.entity; h.entity.IsZero() {
			return errZeroEntity
		}
	}
	return nil
}

// wrongWay returns the error of a message that this end may not send.
func (c *endpointCore) wrongWay(of *message.Type) error {
	if c.server != nil {
		return fmt.Errorf("%w: %s was registered with FromClient, and this is the server: register it without that option, or send it from a client", ErrDirection, of.Name)
	}
	return fmt.Errorf("%w: %s was registered with FromServer, and this is a client: register it without that option, or send it from the server", ErrDirection, of.Name)
}

// errZeroEntity is ErrNotVisible for the zero id.
var errZeroEntity = fmt.Errorf("%w: the NetworkID of About is zero: an entity with a components.Replicated has its id at once, by ID of the server's systems", ErrNotVisible)

// farthest bounds the ticks ahead that a message may wait for: a quarter of the range of its 16 bits, since the two ends
// may disagree on the present tick.
const farthest = 1 << 14

// wait makes a message wait for a tick, unless the tick is long past.
func (c *endpointCore) wait(p *peer.Post, before tick.Tick) error {
	switch now := c.frame.Clock.Tick(); { // before may be too far from now for a difference.
	case before-farthest > now && before > now:
		return ErrTooFar
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
func (s *Server) sendToMany(to Recipient, of *message.Type, p *held.Envelope, body []byte) error {
	if to.kind == toSeers && !p.AboutEntity() && s.store.Reserved(to.entity()) {
		p.Seers = to.entity() // The clients that see the entity are not known yet.
	}
	first := s.sendToEach(to, of, p, body, false)
	return either(first, s.sendToEach(to, of, p, body, true))
}

// sendToEach sends to the clients of a Recipient in this process, if local, otherwise to the remote ones.
func (s *Server) sendToEach(to Recipient, of *message.Type, p *held.Envelope, body []byte, local bool) (first error) {
	if to.kind == toMany {
		for _, id := range to.list {
			switch l := s.client(id); {
			case id == 0:
			case l == nil:
				first = either(first, noClient(id))
			case (l.link.loopback != nil) == local:
				first = either(first, s.sendToSeer(l, of, p, body))
			}
		}
		return first
	}
	for _, l := range s.sessions {
		if l.state != connected || (l.link.loopback != nil) != local || (to.kind == toAllBut && l.id == to.client()) || (to.kind == toSeers && !s.maySee(l, to.entity())) {
			continue
		}
		if err := s.sendToSeer(l, of, p, body); !errors.Is(err, ErrNotVisible) { // ToAll excludes clients that may not see the entity.
			first = either(first, err)
		}
	}
	return first
}

// sendToSeer sends an encoded message to one of several clients, if the client may see the message's entity. A client whose
// reliable queue is full loses its connection.
func (s *Server) sendToSeer(c *Session, of *message.Type, p *held.Envelope, body []byte) error {
	if p.AboutEntity() && !s.maySee(c, p.Entity) {
		return ErrNotVisible
	}
	err := s.sendToOne(&c.link, of, p, body)
	if errors.Is(err, ErrBackPressure) {
		s.stats.QueueOverflows++
		s.self.closeFor(c.id, &peer.Error{Reason: peer.ReasonQueueOverflow, Detail: "too many reliable messages wait"})
	}
	return err
}

// either returns a, or b if a is nil.
func either(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// failed counts an error of the queue to a peer and returns the error for Send.
func (l *connection) failed(err error, name string, p *peer.Post, size int) error {
	switch {
	case errors.Is(err, peer.ErrTooLarge):
		l.stats.TooLarge++
		return &TooLargeError{Name: name, Size: size, Max: l.Outgoing.MaxBody(p)}
	case errors.Is(err, peer.ErrQueueFull):
		l.stats.OutboxFull++
		return ErrQueueFull
	case errors.Is(err, peer.ErrBackPressure):
		l.stats.BackPressure++
		return ErrBackPressure
	case errors.Is(err, peer.ErrEntity):
		return ErrNotVisible
	}
	return err
}

// leaveOut drops a message that the other end lacks. The caller of a question gets an error.
func (l *connection) leaveOut(p *peer.Post, name string) error {
	l.stats.LeftOut++
	if p.Flags&wire.FlagCall != 0 {
		return fmt.Errorf("%w: %s", ErrLeftOut, name)
	}
	return nil
}

// route returns the destination of a message: this end itself (toSelf), one connection (toOne), or several (toMany).
func (c *endpointCore) route(to Recipient, p *peer.Post) (*connection, recipientKind, error) {
	local := c.inbound.Local().ID()
	switch to.kind {
	case toSelf:
		return nil, toSelf, nil
	case toOne:
		return c.routeTo(to.client(), local, p)
	}
	if c.server == nil {
		return nil, toNobody, ErrRecipient
	}
	switch to.kind {
	case toOwner:
		if !c.server.Has(to.entity()) {
			return nil, toNobody, ErrNotVisible
		}
		return c.routeTo(c.server.store.Owner(to.entity()), local, p)
	case toSeers:
		if !c.server.Has(to.entity()) {
			return nil, toNobody, ErrNotVisible
		}
		return nil, toMany, nil
	case toMany, toAll, toAllBut:
		return nil, toMany, nil
	}
	return nil, toNobody, ErrRecipient
}

// routeTo is route for one end by its id.
func (c *endpointCore) routeTo(id, local wire.ClientID, p *peer.Post) (*connection, recipientKind, error) {
	if id == local && (id != 0 || c.server != nil) {
		return nil, toSelf, nil
	}
	if c.server == nil {
		l, err := c.self.linkTo(id)
		if err == nil && p.Flags&wire.FlagEntity != 0 && !c.client.holds(p.Entity) {
			err = ErrNotVisible
		}
		return l, toOne, err
	}
	s := c.server.client(id)
	switch {
	case s == nil:
		return nil, toOne, noClient(id)
	case p.Flags&wire.FlagEntity != 0 && !c.server.maySee(s, p.Entity):
		return nil, toOne, ErrNotVisible
	}
	return &s.link, toOne, nil
}
