package format

import "github.com/arche-netcode/netcode/tick"

// Config holds the limits that a Store, its Views and their Replicas share.
type Config struct {
	// Window is W of the retention rules, in ticks: the client keeps 2W, and a packet W or more ticks behind is dropped unread. Both
	// ends must agree. Zero means 64.
	Window tick.Tick
	// Entities is the number of entities to make room for at the start. The room grows when needed.
	Entities int
	// MaxEntities bounds the entities of a Store and the network indexes of a Replica. Zero means [MaxEntities].
	MaxEntities int
	// SentPackets is the number of sent packets that a View remembers. Zero means 1024.
	SentPackets int
	// Payload is the bytes that a snapshot may take in a packet with nothing else. An entity that needs more is reported and stepped
	// over. Zero means the room that Write is given.
	Payload int
	// HistoryBytes bounds the memory of the history of a Store: 20 to 90 bytes a changed row, and 8.6 for each component of each entity
	// that there is room for. If it is too small for W ticks, the oldest are forgotten and records against them are sent whole. Memory
	// is never given back. Entities that come later add their 8.6 bytes beyond the bound. At least 64 KB are taken. Zero means 128 MiB.
	HistoryBytes int
	// Unknown are the rows that the other end does not have. A View writes none of them, and rows are told and read as the other
	// end numbers them: by their place among those that it has.
	Unknown Mask
	// Older are rows of Schema.Older that the other end has in place of the components that they stand for, which are in Unknown.
	Older Mask
}

const (
	defaultWindow       tick.Tick = 64
	defaultSentPackets            = 1024
	defaultHistoryBytes           = 128 << 20

	// MaxEntities bounds network indexes, whatever Config says: an index of the
	// protocol is below it.
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
