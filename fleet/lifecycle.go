package fleet

import "context"

// Lifecycle is the connection of one server to its fleet. A Member calls its methods, one at a time except Events, from a
// goroutine that is not the game's loop. A method may block until its context is done. An error is counted and logged, and the
// call is repeated: a backend need not repeat by itself.
type Lifecycle interface {
	// Ready tells the fleet that the server takes matches. It is called after the first frame, and again when all its matches are
	// over unless Config.Single is set. A second call is legal.
	Ready(ctx context.Context) error
	// Report tells the fleet who is here: after each change, and with the first Health.
	Report(ctx context.Context, status Status) error
	// Health tells the fleet that the server's ticks run. It is called each Config.Health, 2 s by default, and never while the
	// loop stands still. A backend with leases renews them here.
	Health(ctx context.Context) error
	// Shutdown tells the fleet that the server ends: nothing is sent to it any more. It is the last call.
	Shutdown(ctx context.Context) error
	// Events returns what the fleet tells the server, always the same channel. Nil: nothing ever. The Member reads it at once.
	Events() <-chan Event
}

// Destinations is a Lifecycle that can name another server for a player, while this one drains.
type Destinations interface {
	Lifecycle
	// Destination returns a connect token with which a user continues a match at another server. match is empty for a player
	// without one.
	Destination(ctx context.Context, user string, match Match) (token []byte, err error)
}

// Schemas is a Lifecycle that compares the protocols of servers before it replaces one build by another.
type Schemas interface {
	Lifecycle
	// Schema tells the fleet the protocol of this server, as Protocol.WriteSchema writes it. It is called before the first Ready.
	Schema(ctx context.Context, lock []byte) error
}

// Status has the players and matches of a server. A backend may keep it; nobody changes it.
type Status struct {
	Players  int      // Players connected, without those that are away.
	Places   int      // The most players: Config.Clients of the server.
	Users    []string // Identities of the players that have one, sorted.
	Matches  []Match  // Matches that are not over, in the order of their allocation.
	Draining bool     // No new players and matches.
}

// Limits of a Match, so that it fits a connect token beside its data.
const (
	// MaxMatch is the maximum size of Match.ID in bytes.
	MaxMatch = 64
	// MaxMatchData is the maximum size of Match.Data in bytes.
	MaxMatchData = 64 << 10
	// MaxMatches bounds the matches of one server that are not over.
	MaxMatches = 4096
)

// Match is a match that the fleet allocated to a server.
type Match struct {
	ID   string // Unique among all matches of the fleet, for ever: 1 to MaxMatch bytes.
	Data []byte // Payload of whoever asked for the match, at most MaxMatchData bytes: a map, a mode.
}

// Event is something that the fleet tells a server.
type Event struct {
	Kind  EventKind // The kind.
	Match Match     // Of Allocated.
	Err   error     // Of Lost and Drain: why, for the log; may be nil.
}

// EventKind is the kind of an Event.
type EventKind uint8

const (
	// Allocated means that the server has one match more. The same ID again changes nothing.
	Allocated EventKind = iota
	// Drain means that the server shall end: no new players, and those who are here are moved or may finish.
	Drain
	// Lost means that the server may no longer act for its matches, since its lease ended or another server has them. It stops
	// at once: no further tick, no checkpoint, and Run returns ErrLost.
	Lost

	// cutDrain ends a drain in the next frame: the second signal.
	cutDrain
)

// String returns the kind in lower case.
func (k EventKind) String() string {
	if k > Lost {
		return "unknown"
	}
	return [...]string{"allocated", "drain", "lost"}[k]
}

// None returns a Lifecycle without a fleet: every call succeeds, and there are no events. A Member with it has any match.
func None() Lifecycle { return none{} }

type none struct{}

func (none) Ready(context.Context) error          { return nil }
func (none) Report(context.Context, Status) error { return nil }
func (none) Health(context.Context) error         { return nil }
func (none) Shutdown(context.Context) error       { return nil }
func (none) Events() <-chan Event                 { return nil }
