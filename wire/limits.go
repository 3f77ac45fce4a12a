package wire

// Limits of a server and its clients, independent of the settings of a game. Those that shape the wire format are part of the
// protocol hash.
const (
	// MaxClients is the most clients that one server takes.
	MaxClients = 1024
	// MinPacketSize is the smallest payload limit of a packet, in bytes.
	MinPacketSize = 256
	// MaxPacketSize is the largest payload limit of a packet, in bytes.
	MaxPacketSize = 8192
	// MaxTickRate is the highest network tick rate, in ticks a second.
	MaxTickRate = 1000
	// MinWindow is the shortest history window, in ticks.
	MinWindow = 64
	// MaxWindow is the longest history window, in ticks.
	MaxWindow = 4096
	// MaxPayload is the most bytes of the payload of Client.ConnectWith.
	MaxPayload = 400
	// MaxIdentity is the most bytes of the identity that Approval.Accept gives a client.
	MaxIdentity = 64
)
