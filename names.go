package netcode

import (
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The names that game code meets most, so that it mostly needs to import this package only.
type (
	// Replicated on an entity makes it exist on every client that may see it.
	Replicated = components.Replicated
	// Owner on an entity says which client it belongs to.
	Owner = components.Owner
	// Group on entities makes them travel together.
	Group = components.Group
	// Priority on an entity says how much it counts where bandwidth does not suffice.
	Priority = components.Priority
	// Rate on an entity says how often it is captured.
	Rate = components.Rate
	// Kind on an entity says to clients what to make of it.
	Kind = components.Kind
	// ClientID names a client; 0 is the server.
	ClientID = wire.ClientID
	// NetworkID names an entity on every machine.
	NetworkID = wire.NetworkID
	// Tick numbers a network step, from 1.
	Tick = tick.Tick
	// Stage is a point in the frame.
	Stage = tick.Stage
	// Context says where a message comes from and when.
	Context = message.Context
	// CloseError is why a connection ended, or did not come about: a Reason and a detail for people. errors.Is compares
	// it with the values of Reason.
	CloseError = peer.Error
	// Reason is why a connection ended, as a number that travels; its values are the constants of package peer.
	Reason = peer.Reason
	// Replica is a client's copy of the server's world.
	Replica = replica.Replica
)

// The stages of a frame, in order.
const (
	StageInitialization = tick.Initialization // Packets are read.
	StageEarlyUpdate    = tick.EarlyUpdate    // Received state enters the world.
	StageFixedUpdate    = tick.FixedUpdate    // Fixed steps of the game.
	StagePreUpdate      = tick.PreUpdate      // Before the game's update.
	StageUpdate         = tick.Update         // The game's update.
	StagePreLateUpdate  = tick.PreLateUpdate  // After it: the world is captured.
	StagePostLateUpdate = tick.PostLateUpdate // Packets leave.
)

// More names that game code meets.
type (
	// Endpoint is a *Server or a *Client, as a handler finds it in Context.End, or a type that embeds one, as those of package nettest.
	Endpoint = message.Endpoint
	// Delivery says what is promised of a message.
	Delivery = wire.Delivery
	// History is the messages of one frame, for looking at.
	History = message.Frame
	// FieldError says that a field of a message has a value that cannot travel; the message is not sent.
	FieldError = message.FieldError
	// BoundError says that a Serialize method wrote more than it had promised; the message is not sent.
	BoundError = message.BoundError
	// SerializeError says that a Serialize method failed; the message is not sent.
	SerializeError = message.SerializeError
)

// The modes of delivery.
const (
	Unreliable          = wire.Unreliable          // At most once, in any order.
	UnreliableSequenced = wire.UnreliableSequenced // At most once, never after a later one of its channel.
	Reliable            = wire.Reliable            // Exactly once while the connection lasts, in any order.
	ReliableOrdered     = wire.ReliableOrdered     // Exactly once, in the order of the channel.
)
