package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/inspect"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

type place struct {
	X, Y float32 `net:"min=-256,max=256,step=0.01"`
}

type health struct{ Points int16 }

// The server's account has the same figures as the one that the client makes, over a bad link, with spawns and despawns; and both add up to the bytes of the datagrams.
func TestTheServersAccountIsTheClients(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	filter := generic.NewFilter2[place, health]()
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 3, Seed: 7,
		Server: netcode.Config{SendBudget: 40_000},
		Link:   transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.15},
		Game: func(w *ecs.World, frame int) {
			build := generic.NewMap3[components.Replicated, place, health](w)
			if frame%7 == 0 {
				build.NewBatch(3)
			}
			var old []ecs.Entity
			query := filter.Query(w)
			for i := 0; query.Next(); i++ {
				at, points := query.Get()
				at.X += float32(i%5) / 10
				if (i+frame)%11 == 0 {
					points.Points++
				}
				if query.Count() > 200 && len(old) < 3 {
					old = append(old, query.Entity())
				}
			}
			for _, e := range old {
				w.RemoveEntity(e)
			}
		},
	})
	byServer, byClient := inspect.New(p).CountEntities(), inspect.New(p).CountEntities()
	sent, counts := uint64(0), false
	n.OnSend(func(from, to transport.Addr, datagram []byte) {
		if from != n.Address() || !counts {
			return
		}
		for _, client := range n.Clients {
			if stats, ok := n.Server.ClientStats(client.Client.ID()); ok && to == stats.Address {
				sent += uint64(len(datagram))
				byServer.AddSent(extend.OfServer(n.Server.Server).Session(client.Client.ID()), datagram)
				byClient.Add(client.Client, datagram)
			}
		}
	})
	n.Run(time.Second) // The clients know their ids, and the client's account has state to read with.
	counts = true
	inspect.CountState(n.Server.Server, true)
	n.Run(8 * time.Second)
	byServer.TakeState(n.Server.Server)
	require.Equal(t, sent, byServer.Bytes)
	require.Equal(t, 8*sent, byServer.Total())
	require.EqualExportedValues(t, *byClient, *byServer)
	require.Zero(t, byServer.State.Unknown)
	require.NotZero(t, byServer.State.List)
	require.NotZero(t, byServer.State.Components[0].Delta)
}
