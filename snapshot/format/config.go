package format

import "github.com/arche-netcode/netcode/tick"

// Config holds the limits that a Store, its Views and their Replicas share.
type Config struct {
	// Window is W of the retention rules, in ticks: the client keeps 2W, and a
	// packet W or more ticks behind is dropped unread. Both ends must agree.
	// Zero means 64.
	Window tick.Tick
	// Entities is how many entities to make room for at the start. The room
	// grows when needed.
	Entities int
	// MaxEntities is how many entities a Store takes, and below which the network
	// indexes lie that a Replica takes. Zero means [MaxEntities].
	MaxEntities int
	// SentPackets is how many sent packets a View remembers. Zero means 1024.
	SentPackets int
	// Payload is the bytes that a snapshot may take in a packet that carries
	// nothing else. An entity that needs more is reported and stepped over.
	// Zero means whatever room Write is given.
	Payload int
	// HistoryBytes is the memory that a Store's history may take, 20 to 90 bytes
	// a changed row and 8.6 for each component of each entity that there is room
	// for. Where it is too small for W ticks, the oldest are forgotten and what
	// leans on them travels whole. What it has taken it does not give back: then
	// entities that come later go beyond it, by those 8.6 bytes, and so do 64 KB
	// that it has at the least. Zero means 128 MiB.
	HistoryBytes int
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
