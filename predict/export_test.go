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
