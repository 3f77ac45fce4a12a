package format

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Config is the limits that a Store, its Views and their Replicas share.
type Config struct {
	// Window is W, in ticks: the client keeps 2W, and a packet W or more ticks behind is dropped unread (rule 4). Both ends must
	// agree. Zero means 64.
	Window tick.Tick
	// Entities is the number of entities to make room for at the start. Room for more is made when needed.
	Entities int
	// MaxEntities bounds the entities of a Store and the network indexes of a Replica. Zero means [MaxEntities].
	MaxEntities int
	// SentPackets is the number of sent packets that a View remembers. Zero means 1024.
	SentPackets int
	// Payload is the most bytes of a snapshot in a packet with nothing else. An entity that needs more is reported and left out. Zero
	// means the room that Write gets.
	Payload int
	// HistoryBytes bounds the memory of a Store's history. A changed row takes its quantised size. A component of 64 neighbouring
	// entities takes up to 64 bytes for each tick in which any of them changes. Each component of each entity that there is room for takes
	// 8.5 bytes. Later entities add these beyond the bound, and so do the pages that change in one tick, with room for all of their
	// entities. If W ticks do not fit, the oldest are forgotten, and records against them are sent whole. The memory of forgotten images
	// is used again. At least 64 KB are used. Zero means 128 MiB.
	HistoryBytes int
	// Unknown is the rows that the other end does not have. A View sends none of them. On the wire the other rows are numbered by
	// their place among the rows that the other end has.
	Unknown Mask
	// Client is the client of a View, to whom entities that it owns show the rows of Schema.Owned. 0: all entities do.
	Client wire.ClientID
	// Older is the rows of Schema.Older that the other end has. The components that they stand for are in Unknown.
	Older Mask
	// Plain makes a View write the snapshots of the plain profile: every record stands by itself, and has the rows that changed since
	// the newest acknowledged one, whole.
	Plain bool
	// Recorder leaves a View out of the account of Store.Count, and of the number of views that share pages: a recording is no client.
	Recorder bool
}

const (
	defaultWindow       tick.Tick = 64
	defaultSentPackets            = 1024
	defaultHistoryBytes           = 128 << 20

	// MaxEntities bounds network indexes, whatever Config says: every index of the protocol is below it.
	MaxEntities = 1 << 20
)

// WithDefaults returns c with the defaults in place of zeros.
func (c Config) WithDefaults() Config {
	if c.Window <= 0 {
		c.Window = defaultWindow
	}
	if c.SentPackets <= 0 {
		c.SentPackets = defaultSentPackets
	}
	if c.Entities <= 0 {
		c.Entities = 64
	}
	if c.MaxEntities <= 0 || c.MaxEntities > MaxEntities {
		c.MaxEntities = MaxEntities
	}
	if c.HistoryBytes <= 0 {
		c.HistoryBytes = defaultHistoryBytes
	}
	return c
}
