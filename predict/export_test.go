package predict

import (
	"context"

	"github.com/arche-netcode/netcode"
)

// AskLocals asks a server for the local components of entities, whoever they are of.
func AskLocals(end *netcode.Client, entities []netcode.NetworkID, f func(data []byte, err error)) error {
	return netcode.Call(context.Background(), end, 0, &askLocals{Entities: entities}, func(a *localsAnswer, err error) {
		if err != nil {
			f(nil, err)
			return
		}
		f(a.Data, nil)
	})
}

// GoBack has a client go back by some ticks and replay them, as when a packet that came late shows a misprediction of another entity.
func GoBack(s *Simulation, ticks netcode.Tick) {
	c, target := s.client, s.client.now
	c.rollBack(target - ticks)
	for c.now < target {
		c.advance()
	}
}
