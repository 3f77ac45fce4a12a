package netcode

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/registry"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/quantize"
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
	if codec, short := message.FastCodecOf[T](&c.types); short.Known && len(how) == 0 && m != nil {
		if queue := c.recipients.to(to); queue != nil {
			header := short.Header
			if !short.Given {
				header |= uint32(c.stage()) << 8
			}
			room := queue.Put(header)
			if room == nil {
				room = queue.PutFirst(header)
			}
			if room != nil {
				codec.Copy(room, m)
				return nil
			}
		}
	}
	return post(c, to, m, how, callOf{})
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

// post sends a message to this end itself, to one other end, or to several.
func post[T any](c *endpointCore, to Recipient, m *T, how []How, call callOf) error {
	if c == nil {
		return ErrNoEnd
	}
	of, codec := message.TypeOf[T](&c.protocol.types.Messages, &c.types)
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
	case way == toSelf:
		local := localMessage(&p.Post)
		return message.PostSelf(c.inbound, of, codec, &local, m)
	case !of.Direction.Allows(c.server != nil):
		return c.wrongWay(of)
	case way == toOne:
		return write(c, l, of, codec, &p, m)
	}
	buffer := c.borrow(codec.Size())
	n, err := codec.Encode(c.inbound.Scratch(), buffer, m)
	if err == nil {
		c.tellPosted(to, &p, buffer[:n])
		err = c.sendToMany(to, of, &p, buffer[:n])
	}
	c.giveBack(buffer)
	return err
}

// write encodes a message directly into the queue of one peer.
func write[T any](c *endpointCore, l *connection, of *message.Type, codec *message.CodecOf[T], to *held.Envelope, m *T) error {
	p := &to.Post
	tapped := c.tapped()
	if l.loopback != nil && !tapped {
		return hand(l, c.inbound.Local().ID(), of, codec, p, m)
	}
	if l.older.Lacks(p.Type) {
		return l.leaveOut(p, of.Name)
	}
	if !tapped {
		c.recipients.open(l)
	}
	if c.client != nil {
		c.client.awaitAction(to)
	}
	waits := c.holdsBack(l, to)
	if waits || tapped || c.server != nil && c.server.store.Reserves() && c.protocol.types.Naming[p.Type] != nil {
		return writeHeld(c, l, of, codec, to, m, waits)
	}
	scratch := c.inbound.Scratch()
	bound, err := codec.SizeBound(scratch, m)
	if err != nil {
		return err
	}
	if codec.Size() < 0 {
		return writeAside(c, l, of, codec, p, m, bound)
	}
	room, err := l.Outgoing.Reserve(p, bound)
	if err != nil {
		return l.failed(err, of.Name, p, bound)
	}
	n, err := codec.Encode(scratch, room[:bound], m)
	if err != nil {
		l.Outgoing.Cancel()
		return err
	}
	if c.server != nil && c.protocol.types.Naming[p.Type] != nil {
		n = copy(room, c.server.unseen(c.server.client(l.Remote), p.Type, room[:n]))
	}
	l.Outgoing.Commit(n)
	c.record(l.Remote, p, room[:n])
	return nil
}

// writeHeld is write for a message that is or may be held back, for example because it names an entity that is not
// captured yet. It also sends messages that extensions are told of.
func writeHeld[T any](c *endpointCore, l *connection, of *message.Type, codec *message.CodecOf[T], to *held.Envelope, m *T, waits bool) error {
	buffer := c.borrow(codec.Size())
	n, err := codec.Encode(c.inbound.Scratch(), buffer, m)
	if err == nil && l.loopback == nil && c.server != nil && c.server.namesEarly(to.Type, buffer[:n]) {
		c.server.holdUntilCapture(to)
		waits = true
	}
	switch {
	case err != nil:
	case l.loopback != nil:
		err = l.handBytes(c.inbound.Local().ID(), &to.Post, buffer[:n])
	case waits:
		err = l.delay(to, of.Name, buffer[:n])
	default:
		err = c.push(l, of.Name, &to.Post, c.server.unseen(c.server.client(l.Remote), to.Type, buffer[:n]))
	}
	if err == nil {
		c.tellPosted(To(l.Remote), to, buffer[:n])
	}
	c.giveBack(buffer)
	return err
}

// writeAside is write for a type with a Serialize method. The method may itself send messages, which would use the room
// reserved for this message. Therefore it writes into a buffer of its own.
func writeAside[T any](c *endpointCore, l *connection, of *message.Type, codec *message.CodecOf[T], p *peer.Post, m *T, bound int) error {
	if bound > largest {
		return l.failed(peer.ErrTooLarge, of.Name, p, bound)
	}
	buffer := c.borrow(bound)
	n, err := codec.Encode(c.inbound.Scratch(), buffer[:bound], m)
	if err == nil {
		err = c.push(l, of.Name, p, buffer[:n])
	}
	c.giveBack(buffer)
	return err
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

// borrow returns a buffer for an encoded message; a negative size means unknown. Handlers that are called meanwhile get
// other buffers.
func (c *endpointCore) borrow(size int) (b []byte) {
	if last := len(c.buffers) - 1; last >= 0 {
		b, c.buffers = c.buffers[last], c.buffers[:last]
	}
	if size < 0 {
		size = largest
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
func (c *endpointCore) sendToMany(to Recipient, of *message.Type, p *held.Envelope, body []byte) error {
	if to.kind == toSeers && !p.AboutEntity() && c.server.store.Reserved(to.entity()) {
		p.Seers = to.entity() // The clients that see the entity are not known yet.
	}
	first, near := c.server.sendToMany(to, of, p, body, false)
	if near {
		err, _ := c.server.sendToMany(to, of, p, body, true)
		first = either(first, err)
	}
	return first
}

// sendToMany sends to the clients of a Recipient in this process, if here, otherwise to the remote ones. near reports
// whether there is one in this process.
func (s *Server) sendToMany(to Recipient, of *message.Type, p *held.Envelope, body []byte, here bool) (first error, near bool) {
	if to.kind == toMany {
		for _, id := range to.list {
			switch l := s.client(id); {
			case id == 0:
			case l == nil && !here:
				first = either(first, ErrNotConnected)
			case l != nil && (l.link.loopback != nil) == here:
				first = either(first, s.sendToOne(l, of, p, body))
			case l != nil && l.link.loopback != nil:
				near = true
			}
		}
		return first, near
	}
	for _, l := range s.sessions {
		if l.state != connected || (to.kind == toAllBut && l.id == to.client()) || (to.kind == toSeers && !s.maySee(l, to.entity())) {
			continue
		}
		if (l.link.loopback != nil) != here {
			near = near || l.link.loopback != nil
			continue
		}
		err := s.sendToOne(l, of, p, body)
		if errors.Is(err, ErrNotVisible) {
			continue // ToAll excludes clients that may not see the entity.
		}
		first = either(first, err)
	}
	return first, near
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
		return nil, toOne, ErrNotConnected
	case p.Flags&wire.FlagEntity != 0 && !c.server.maySee(s, p.Entity):
		return nil, toOne, ErrNotVisible
	}
	return &s.link, toOne, nil
}

// sendToOne sends an encoded message to one of several clients.
func (s *Server) sendToOne(c *Session, of *message.Type, to *held.Envelope, body []byte) error {
	p := &to.Post
	if p.Flags&wire.FlagEntity != 0 && !s.maySee(c, p.Entity) {
		return ErrNotVisible
	}
	early := s.namesEarly(p.Type, body)
	if !early || c.link.loopback != nil {
		body = s.unseen(c, p.Type, body)
	}
	if c.link.loopback != nil {
		return c.link.handBytes(0, p, body)
	}
	if c.link.older.Lacks(p.Type) {
		return c.link.leaveOut(p, of.Name)
	}
	var err error
	waits := s.holdsBack(&c.link, to)
	if early {
		s.holdUntilCapture(to)
	}
	if waits || early {
		err = c.link.delay(to, of.Name, body)
	} else {
		err = s.push(&c.link, of.Name, p, body)
	}
	if errors.Is(err, ErrBackPressure) {
		s.stats.QueueOverflows++
		s.self.closeFor(c.id, &peer.Error{Reason: peer.ReasonQueueOverflow, Detail: "too many reliable messages wait"})
	}
	return err
}

// sees reports whether an entity is alive and a client may see it.
func (s *Server) sees(c *Session, entity wire.NetworkID) bool {
	if !s.store.Alive(entity) {
		return false
	}
	s.steps.observe(c)
	return c.view.Visible(entity)
}

// maySee is sees for messages of the server. It is true for an entity with a reserved id: the message is held back until
// the next capture.
func (s *Server) maySee(c *Session, entity wire.NetworkID) bool {
	return s.store.Reserved(entity) || s.sees(c, entity)
}

// namesEarly reports whether an encoded message refers to an entity with a reserved id, whose visibility is not known
// yet.
func (s *Server) namesEarly(kind wire.MessageType, body []byte) bool {
	if !s.store.Reserves() {
		return false
	}
	plan, row := s.namesOf(kind, body)
	if plan == nil {
		return false
	}
	for _, lane := range plan.Refs() {
		if s.store.Reserved(wire.NetworkID{Index: row[lane], Generation: row[lane+1]}) {
			return true
		}
	}
	return false
}

// holdUntilCapture holds a message back until the next capture, since it refers to an entity that is not captured yet.
func (s *Server) holdUntilCapture(p *held.Envelope) {
	p.AsOf = max(p.AsOf, s.nextCapture(s.store.Tick()))
}

// MayConcern reports whether a message of a client may name an entity: it is alive and the client may see it. A message about
// any other entity never waits for it. Stats.NotVisible counts refusals.
func (s *Server) MayConcern(client ClientID, entity NetworkID) bool {
	c := s.client(client)
	may := c != nil && s.sees(c, entity)
	if !may {
		s.stats.NotVisible++
	}
	return may
}

// exists returns whether a message about an entity may be handled. The server makes all entities: an entity that is not
// alive never arrives.
func (s *Server) exists(entity wire.NetworkID) message.Existence {
	if s.Has(entity) {
		return message.Exists
	}
	return message.Never
}

// ready reports whether the client's state of an entity, as of one of its ticks, has arrived and was applied. It is true
// for an entity that is dead or that the client no longer sends.
func (s *Server) ready(from wire.ClientID, entity wire.NetworkID, state tick.Tick) bool {
	c := s.present(from)
	if c == nil || c.upstream == nil || !s.store.Alive(entity) {
		return true
	}
	e := c.upstream.Entity(entity.Index)
	return e.ID.Generation > entity.Generation || e.ID == entity && e.Tick >= state && !c.upstream.HasChanged(entity.Index)
}

// SetOwner sets the client that an entity belongs to; 0 is the server, to which all belong at first. It returns false if there
// is no such entity. ToOwner and OwnerOnly use it.
func (s *Server) SetOwner(entity NetworkID, owner ClientID) bool {
	return s.store.SetOwner(entity, owner)
}

// Owner returns the client that an entity belongs to; 0 is the server, also for an entity that is not alive.
func (s *Server) Owner(entity NetworkID) ClientID { return s.store.Owner(entity) }

// unseen clears the entity references of an encoded message that the client may not see now. It returns body if it clears
// none, otherwise bytes that are valid until the next call. It reads only types with entity fields.
func (s *Server) unseen(c *Session, kind wire.MessageType, body []byte) []byte {
	if c == nil {
		return body
	}
	plan, row := s.namesOf(kind, body)
	if plan == nil {
		return body
	}
	hidden := false
	for _, lane := range plan.Refs() {
		id := wire.NetworkID{Index: row[lane], Generation: row[lane+1]}
		if id.Generation != 0 && !s.sees(c, id) && (c.link.loopback == nil || !s.store.Reserved(id)) {
			row[lane], row[lane+1] = 0, 0
			hidden = true
		}
	}
	if !hidden {
		return body
	}
	size := (plan.Bits() + 7) / 8
	if cap(s.body) < size {
		s.body = make([]byte, size)
	}
	w := wire.NewBitWriter(s.body[:size])
	plan.WriteRow(&w, row)
	return s.body[:w.Finish()]
}

// namesOf decodes an encoded message of a type with entity fields. The plan is nil for other types. The row is valid
// until the next call.
func (s *Server) namesOf(kind wire.MessageType, body []byte) (*quantize.Plan, []uint32) {
	plan := s.protocol.types.Naming[kind]
	if plan == nil {
		return nil, nil
	}
	if cap(s.row) < plan.Lanes() {
		s.row = make([]uint32, plan.Lanes())
	}
	r, row := wire.NewBitReader(body), s.row[:plan.Lanes()]
	if !plan.ReadRow(&r, row) {
		return nil, nil // Encode has written the body, so that this never happens.
	}
	return plan, row
}
