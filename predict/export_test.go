package predict

import (
	"context"

	"github.com/arche-netcode/netcode"
)

// AskLocals asks a server for the local components of any entities.
func AskLocals(end *netcode.Client, entities []netcode.NetworkID, f func(data []byte, err error)) error {
	return netcode.Call(context.Background(), end, 0, &askLocals{Entities: entities}, func(a *localsAnswer, err error) {
		if err != nil {
			f(nil, err)
			return
		}
		f(a.Data, nil)
	})
}

// GoBack rolls a client back by some ticks and replays them, like a late packet that shows a misprediction of another
// entity.
func GoBack(s *Simulation, ticks netcode.Tick) {
	c, target := s.client, s.client.now
	c.rollBack(target - ticks)
	for c.now < target {
		c.advance()
	}
}

// Lost counts the predicted entities of a client whose stored state in their newest compared tick is not the server's.
func Lost(s *Simulation) (lost int) {
	c := s.client
	for i := range c.slots {
		s, t := &c.slots[i], c.checked[i]
		if s.used && !s.id.IsZero() && t > 0 && t <= c.now && c.history.holds(t) && c.isKnown(s, t) {
			if _, differs := c.differs(i, t); differs {
				lost++
			}
		}
	}
	return lost
}
