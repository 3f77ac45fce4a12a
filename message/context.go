package message

import (
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Context says where a message comes from and when. It is good during the call of the handler; copy what is kept.
type Context struct {
	Sender   wire.ClientID    // who sent it, known from the connection and never from the payload; 0 is the server
	Type     wire.MessageType // which type it has
	Stage    tick.Stage       // the stage that the sender chose, and in which the handler runs
	Tick     tick.Tick        // the receiver's tick when it came
	Received time.Duration    // the receiver's time when it came
	Local    wire.ClientID    // who the receiver is; equal to Sender on loopback

	scratch *scratch // memory of the queues that handlers made by Handler reuse; nil means to allocate
}

// scratch holds one reused value for each message type.
type scratch struct {
	values [1 << 8]any
}
