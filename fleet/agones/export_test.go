package agones

import "github.com/arche-netcode/netcode/fleet"

// ReadWatch reads a stream of /watch/gameserver.
var ReadWatch = readWatch

// EventOf returns the event of a state that is the first one.
func EventOf(g *GameServer) (fleet.Event, bool) { return eventOf(g, new(string)) }
