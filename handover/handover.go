package handover

import (
	"errors"
	"io"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
)

// Destination is a server to which a player moves.
type Destination struct {
	// Server is the address by which the client dials it, as the game's function Open reads it, at most 255 bytes: "play.example.org:9000".
	Server string
	// Token is a connect token for it, of secure.Issue; nil for a server without transport/secure. At most 2048 bytes.
	Token []byte
}

// Config configures the moves of one server. Key is required.
type Config struct {
	// Key seals what a player carries: 32 secret bytes that all servers of the game have, and no player.
	Key [32]byte
	// Patience bounds the time in which a client gets the world of the new server; default 30 s. Then the player stays.
	Patience time.Duration
	// Lease bounds the time in which a player is held; default 10 s. Then Ask is called.
	Lease time.Duration
	// Ask asks the new server by its own way, such as NATS or HTTP, whether a player has arrived: Server.Void there answers. Call
	// answer once, in the goroutine of this server (Runner.Do); with false if that server is dead. Nil believes the client, and
	// then a player with a changed client can be in the game twice.
	Ask func(to string, id ID, answer func(arrived bool))
	// Deliver sends to the new server what a player carries, in place of the client; Server.Deliver takes it there. It is for
	// more than MaxCarried, and saves half a round trip. Nil: the client carries it.
	Deliver func(to string, id ID, sealed []byte)
	// Random is the source of ids and nonces; default the operating system's random bytes.
	Random io.Reader
}

// ID names one move: it is random.
type ID uint64

// MaxCarried is the maximum size of what a client carries, sealed, in bytes.
const MaxCarried = 32 << 10

// Outcome is the end of a move at the old server.
type Outcome uint8

// The outcomes.
const (
	// Moved: the player is at the new server. Its entities were removed here.
	Moved Outcome = iota
	// Stayed: the player is here, as before. The reason is in the error.
	Stayed
	// Unknown: the client is gone, and Config.Ask is nil. Its entities are those of any client that is gone.
	Unknown
)

// String is the name of the outcome.
func (o Outcome) String() string {
	switch o {
	case Moved:
		return "moved"
	case Stayed:
		return "stayed"
	}
	return "unknown"
}

// Errors of Move, and reasons of a player that stayed.
var (
	ErrUnregistered = errors.New("netcode: handover: the protocol has no moves: call handover.Register on both sides")
	ErrMoving       = errors.New("netcode: handover: the player moves already")
	ErrHost         = errors.New("netcode: handover: the player of a host has its session in this process, and cannot move")
	ErrTooLarge     = errors.New("netcode: handover: the player carries more than MaxCarried: set Config.Deliver")
	ErrDestination  = errors.New("netcode: handover: the destination has no address, or one that is too long")
	ErrPatience     = errors.New("netcode: handover: the client did not get to the new server in Config.Patience")
	ErrCancelled    = errors.New("netcode: handover: the client could not move")
)

// Departure is a player that is about to be carried, for Server.OnDepart.
type Departure struct {
	Client netcode.ClientID // The player.
	// Entities are those that are carried: all that the player owns. The function may change the list.
	Entities []netcode.NetworkID
	// Data is for the game of the new server: what is in no component. At most MaxCarried with all the rest.
	Data []byte
}

// Undelivered is a reliable message that may not have been handled, since a connection has ended.
type Undelivered struct {
	Client  netcode.ClientID // At a server: the other end.
	Sent    bool             // It was sent here, and not acknowledged. Else it came, and was not handled.
	Message extend.Posted    // extend.ReadPosted returns its value.
}

// losses keeps undelivered messages until the game may be told.
type losses struct {
	waiting []Undelivered
	told    []func(u *Undelivered)
}

// add keeps a message.
func (l *losses) add(with netcode.ClientID, m *extend.Posted, sent bool) {
	if len(l.told) == 0 {
		return
	}
	u := Undelivered{Client: with, Sent: sent, Message: extend.Posted{Message: m.Message}}
	if m.Body != nil {
		u.Message.Body = append([]byte{}, m.Body...)
	}
	l.waiting = append(l.waiting, u)
}

// tell tells the game. A panic of its functions is contained by end.
func (l *losses) tell(end interface{ Contained(name string) }) {
	list := l.waiting
	l.waiting = nil
	for i := range list {
		for _, f := range l.told {
			extend.Contain(end, "OnUndelivered", func() { f(&list[i]) })
		}
	}
}
