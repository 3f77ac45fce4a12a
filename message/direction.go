package message

// Direction says which ends may send a message type.
type Direction uint8

// The directions.
const (
	BothWays   Direction = iota // any end
	FromClient                  // clients only
	FromServer                  // the server only
)

// Valid reports whether d is one of the directions.
func (d Direction) Valid() bool { return d <= FromServer }

// Allows reports whether a message may come from the server, or else from a client.
func (d Direction) Allows(server bool) bool {
	return d == BothWays || server == (d == FromServer)
}

// String returns the direction in words.
func (d Direction) String() string {
	switch d {
	case BothWays:
		return "both ways"
	case FromClient:
		return "from client"
	case FromServer:
		return "from server"
	}
	return "unknown direction"
}
