package main

// combination is one point of the grid of T1.
type combination struct {
	entities, clients int
	moving            float64
	main              bool
	tumbles           bool        // each float of a body that moves changes in each step
	secure            bool        // transport/secure around the sockets
	network           realNetwork // between the server and its clients; zero: sockets of one machine and nothing else
}

// combinations is the default set, or the one that the flags name.
func combinations(o options) []combination {
	if o.entities > 0 || o.clients > 0 || o.moving > 0 {
		c := combination{entities: 1000, clients: 16, moving: 0.1, main: true}
		if o.entities > 0 {
			c.entities = o.entities
		}
		if o.clients > 0 {
			c.clients = o.clients
		}
		if o.moving > 0 {
			c.moving = o.moving
		}
		return []combination{c}
	}
	return []combination{
		{entities: 1000, clients: 16, moving: 0.1, main: true}, {entities: 1000, clients: 16, moving: 1}, {entities: 1000, clients: 1, moving: 0.1},
		{entities: 100, clients: 16, moving: 1}, {entities: 1000, clients: 64, moving: 0.1}, {entities: 10000, clients: 16, moving: 0.1},
	}
}
