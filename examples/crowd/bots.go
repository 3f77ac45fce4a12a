package main

import (
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/load"
)

// botGame is the crowd as bots play it: they look on, and report about once a second how many bodies they see.
func botGame() load.Game {
	return load.Game{
		Protocol: newProtocol(nil, nil, nil),
		Play: func(b *load.Bot) {
			if b.Random.IntN(b.Client.TickRate()) > 0 {
				return
			}
			query := generic.NewFilter1[components.Replicated]().Query(b.World)
			report := Report{Tick: int64(b.Client.Replica().Tick()), Entities: int32(query.Count())}
			query.Close()
			_ = netcode.Send(b.Client, netcode.ToServer(), &report)
		},
	}
}
