package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Endpoint is the end that a handler runs on: a server, or a client.
type Endpoint interface {
	ID() wire.ClientID // who it is; 0 is the server
	Tick() tick.Tick   // its newest tick
}

// Context says where a message comes from and when. It is good until the handler returns; copy what is kept.
type Context struct {
	End       Endpoint         // the end that handles the message
	Sender    wire.ClientID    // who sent it, known from the connection and never from the payload; 0 is the server
	Local     wire.ClientID    // who the receiver is; equal to Sender on loopback
	Received  time.Duration    // the receiver's time when it came
	Tick      tick.Tick        // the receiver's tick when it came
	NotBefore tick.Tick        // the tick that it had to wait for; tick.None without one
	Entity    wire.NetworkID   // the entity that it speaks of; zero without one
	Call      uint16           // number of the call that it belongs to, if HasCall
	HasCall   bool             // it is a question or an answer
	Type      wire.MessageType // which type it has
	Stage     tick.Stage       // the stage that the sender chose, and in which the handler runs
	Channel   wire.Channel     // on which it travelled, with its mode of delivery

	scratch *Scratch // memory of the end that handlers reuse; nil means to allocate
}

// Delivery returns the mode in which the message was sent.
func (c *Context) Delivery() wire.Delivery { return c.Channel.Delivery() }

// Loopback reports whether the receiver sent the message itself.
func (c *Context) Loopback() bool { return c.Sender == c.Local }

// Message says how a message goes or came, beside its payload.
type Message struct {
	NotBefore tick.Tick        // not handled before this tick, see Inbound.Due; tick.None for at once
	Entity    wire.NetworkID   // not handled before this entity exists at the receiver; zero for no entity
	State     tick.Tick        // not handled before the sender's state of Entity as of this tick is here; tick.None for at once
	Cost      int              // of a reliable message in credit; given to its source as freed once it is done with
	Call      uint16           // number of the call that it belongs to, if HasCall
	HasCall   bool             // it is a question or an answer, which goes to Config.Special
	Type      wire.MessageType // which type it has
	Stage     tick.Stage       // where it is handled
	Channel   wire.Channel     // on which it travels

	order uint64 // its place in its channel, where that has an order; 0 for none
}

// plain reports whether nothing is said beyond type and stage.
func (m *Message) plain() bool {
	return m.NotBefore == tick.None && m.Entity.IsZero() && m.Cost == 0 && !m.HasCall && m.Channel == 0
}
