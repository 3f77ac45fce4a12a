package netcode

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Send sends a message from a server, a client, or the end that a handler was given. (The methods Server.Send and Client.Send are another
// thing: steps of the frame, which the systems call.) It leaves at the end of the frame, if
// the budget allows. How it travels is what its registration says, but for what the last arguments say. m is not kept. The
// receiver takes 1024 unreliable messages and 256 KiB of them in one of its frames (its Config.QueuePerSender and
// QueueSenderBytes) and drops the rest, whatever Send said; a server closes a client that goes on so, a client no server. A
// message to several is encoded once. Send allocates nothing once warm.
//
// A message about an entity that is dead, or that a client may not see, is not sent to that client. By ToAll and ToAllBut
// that is no error, since only those who may see the entity are meant; To, ToMany and ToOwner say ErrNotVisible. ToSeers and
// ToOwner say it too where their own entity is dead; ToSeers of one that nobody sees is nil. The errors are ErrNotConnected,
// ErrNotRegistered, ErrNoMessage, ErrWithin, ErrRecipient, ErrDirection, ErrQuestion, ErrNotVisible, ErrNeedsEntity, ErrStage, ErrDelivery, ErrTooFar,
// ErrQueueFull, ErrBackPressure, *TooLargeError, *FieldError, *BoundError and *SerializeError; after each nothing was sent. Of
// a message to several the error is that of the first who did not get it; the others get it all the same, and a client whose
// reliable queue is full loses its connection, since the others cannot wait for it.
func Send[T any](end Endpoint, to Recipient, m *T, how ...How) error {
	c := courierOf(end)
	if c == nil {
		return ErrNoEnd
	}
	if codec, short := message.FastCodecOf[T](&c.types); short.Known && len(how) == 0 && m != nil {
		if queue := c.doors.to(to); queue != nil {
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
	return postFrom(c, to, m, how, callOf{})
}

// Reply sends a message to whoever sent the one that is being handled.
func Reply[T any](ctx *Context, m *T, how ...How) error {
	return Send(ctx.End, To(ctx.Sender), m, how...)
}

// callOf says to which call a message belongs, and as what.
type callOf struct {
	number uint16
	role   role
}

// post sends a message to one, or to several, as part of a call.
func post[T any](end Endpoint, to Recipient, m *T, how []How, call callOf) error {
	c := courierOf(end)
	if c == nil {
		return ErrNoEnd
	}
	return postFrom(c, to, m, how, call)
}

// postFrom sends a message to itself, to one, or to several.
func postFrom[T any](c *courier, to Recipient, m *T, how []How, call callOf) error {
	of, codec := message.TypeOf[T](&c.protocol.messages, &c.types)
	if of == nil {
		return fmt.Errorf("%w: %s", ErrNotRegistered, reflect.TypeFor[T]())
	}
	if m == nil {
		return ErrNoMessage
	}
	var p envelope
	if err := c.label(&p, of, how, call); err != nil {
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
		err = c.spread(to, of, &p, buffer[:n])
	}
	c.giveBack(buffer)
	return err
}

// write encodes a message straight into what waits for one peer.
func write[T any](c *courier, l *link, of *message.Type, codec *message.CodecOf[T], to *envelope, m *T) error {
	p := &to.Post
	if l.near != nil {
		return hand(l, c.inbound.Local().ID(), of, codec, p, m)
	}
	c.doors.open(l)
	if c.client != nil {
		c.client.awaitAction(to)
	}
	if c.holdsBack(l, to) {
		buffer := c.borrow(codec.Size())
		n, err := codec.Encode(c.inbound.Scratch(), buffer, m)
		if err == nil {
			err = l.delay(to, of.Name, buffer[:n])
		}
		c.giveBack(buffer)
		return err
	}
	scratch := c.inbound.Scratch()
	bound, err := codec.SizeBound(scratch, m)
	if err != nil {
		return err
	}
	if codec.Size() < 0 {
		return writeAside(c, l, of, codec, p, m, bound)
	}
	room, err := l.outgoing.Reserve(p, bound)
	if err != nil {
		return l.failed(err, of.Name, p, bound)
	}
	n, err := codec.Encode(scratch, room[:bound], m)
	if err != nil {
		l.outgoing.Cancel()
		return err
	}
	if c.server != nil && c.protocol.naming[p.Type] != nil {
		n = copy(room, c.server.unseen(c.server.client(l.remote), p.Type, room[:n]))
	}
	l.outgoing.Commit(n)
	c.record(l.remote, p, room[:n])
	return nil
}

// writeAside is write for a type with a Serialize method. That may send messages of its own, which would go into the room that is
// reserved for this one: so it writes into memory that nobody else has.
func writeAside[T any](c *courier, l *link, of *message.Type, codec *message.CodecOf[T], p *peer.Post, m *T, bound int) error {
	if bound > largest {
		return l.failed(peer.ErrTooLarge, of.Name, p, bound)
	}
	buffer := c.borrow(bound)
	n, err := codec.Encode(c.inbound.Scratch(), buffer[:bound], m)
	if err == nil {
		if err = l.outgoing.Push(p, buffer[:n]); err == nil {
			c.record(l.remote, p, buffer[:n])
		} else {
			err = l.failed(err, of.Name, p, n)
		}
	}
	c.giveBack(buffer)
	return err
}

// label says what travels beside the body.
func (c *courier) label(p *envelope, of *message.Type, how []How, call callOf) error {
	id := of.ID()
	if c.protocol.roles[id] != call.role {
		return fmt.Errorf("%w: %s was registered with Answer: ask it with Call", ErrQuestion, of.Name)
	}
	p.Type, p.Stage, p.Channel = id, of.Stage, of.Channel
	if !of.StageGiven {
		p.Stage = c.stage()
	}
	if call.role != alone {
		p.Flags, p.Call = wire.FlagCall, call.number
	}
	for i := range how {
		if how[i].what == howWithin && call.role != question {
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

// adjust takes over one thing that the sender says about this message.
func (c *courier) adjust(p *envelope, h *How) error {
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
		p.after = h.after
	case howEntity:
		p.Flags |= wire.FlagEntity
		if p.Entity = h.entity; h.entity.IsZero() {
			return errZeroEntity
		}
	}
	return nil
}

// wrongWay returns the error of a message that this end may not send.
func (c *courier) wrongWay(of *message.Type) error {
	if c.server != nil {
		return fmt.Errorf("%w: %s was registered with FromClient, and this is the server: register it without that option, or send it from a client", ErrDirection, of.Name)
	}
	return fmt.Errorf("%w: %s was registered with FromServer, and this is a client: register it without that option, or send it from the server", ErrDirection, of.Name)
}

// errZeroEntity is ErrNotVisible for the id of an entity that has none yet.
var errZeroEntity = fmt.Errorf("%w: the NetworkID of About is zero: an entity has its id from the next network tick on, send from OnSpawn of the server's systems", ErrNotVisible)

// farthest bounds the ticks ahead that a message may wait for: half of the range of its 16 bits, since the two ends
// need not agree on the present one.
const farthest = 1 << 14

// wait has a message wait for a tick, unless that is long past.
func (c *courier) wait(p *peer.Post, before tick.Tick) error {
	switch now := c.frame.clock.Tick(); { // before may be as far from now as no tick can tell
	case before-farthest > now && before > now:
		return ErrTooFar
	case before > now-farthest:
		p.Flags |= wire.FlagTick
		p.Tick = before
	}
	return nil
}

// localMessage is a message to oneself as its handler will find it.
func localMessage(p *peer.Post) message.Message {
	return message.Message{
		Type: p.Type, Stage: p.Stage, Channel: p.Channel, NotBefore: p.Tick, Entity: p.Entity,
		Call: p.Call, HasCall: p.Flags&wire.FlagCall != 0,
	}
}

// largest is the largest body that several can be sent: more than any channel takes.
const largest = peer.InitialCredit

// borrow takes a buffer for an encoded message; a size below 0 is not known before. Handlers that are called while one is sent get
// others for what they send.
func (c *courier) borrow(size int) (b []byte) {
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

// giveBack takes a buffer back.
func (c *courier) giveBack(b []byte) { c.buffers = append(c.buffers, b) }

// spread sends an encoded message to each of several: first over the network, then to the player in this process, whose handler
// may run at once.
func (c *courier) spread(to Recipient, of *message.Type, p *envelope, body []byte) error {
	first, near := c.server.spread(to, of, p, body, false)
	if near {
		err, _ := c.server.spread(to, of, p, body, true)
		first = either(first, err)
	}
	return first
}

// spread sends to those of several whose end is in this process, or to the others, and tells whether there are any in this process.
func (s *Server) spread(to Recipient, of *message.Type, p *envelope, body []byte, here bool) (first error, near bool) {
	if to.kind == toMany {
		for _, id := range to.many() {
			switch l := s.client(id); {
			case id == 0:
			case l == nil && !here:
				first = either(first, ErrNotConnected)
			case l != nil && (l.near != nil) == here:
				first = either(first, s.push(l, of, p, body))
			case l != nil && l.near != nil:
				near = true
			}
		}
		return first, near
	}
	for _, l := range s.sessions {
		if l.state != connected || (to.kind == toAllBut && l.id == to.client()) || (to.kind == toSeers && !s.sees(l, to.entity())) {
			continue
		}
		if (l.near != nil) != here {
			near = near || l.near != nil
			continue
		}
		err := s.push(l, of, p, body)
		if errors.Is(err, ErrNotVisible) {
			continue // Of all, those who may not see it are not meant.
		}
		first = either(first, err)
	}
	return first, near
}

// either is the first of two errors.
func either(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// failed turns why a message cannot wait for this peer into what the caller is told, and counts it.
func (l *link) failed(err error, name string, p *peer.Post, size int) error {
	switch {
	case errors.Is(err, peer.ErrTooLarge):
		l.stats.TooLarge++
		return &TooLargeError{Name: name, Size: size, Max: l.outgoing.MaxBody(p)}
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
