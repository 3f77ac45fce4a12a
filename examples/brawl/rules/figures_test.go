package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// The figures of the README: eight players who run and shoot all the time, at a round trip of 100 ms with 1 % loss.
func TestFigures(t *testing.T) {
	const players, seconds = 8, 20
	var now time.Duration
	clock := func() time.Duration { return now }
	network := memory.NewNetwork()
	socket := func(seed uint64) *transport.Conditioner {
		conn, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		return transport.Condition(conn, transport.Link{Delay: 50 * time.Millisecond, Loss: .01}, seed, clock)
	}
	server, err := netcode.NewServer(rules.Protocol(), rules.ServerConfig())
	require.NoError(t, err)
	at := socket(1)
	world := ecs.NewWorld()
	group := systems.NewServer(server, at, clock)
	predict.Simulate(group, predict.Config{}, rules.Serve(group, &world, rules.Options{}).Rules.Systems()...)
	loop := systems.NewRunner(&world, group, rules.TickRate)
	var loops []*systems.Runner
	var clients []*netcode.Client
	for i := range players {
		client, err := netcode.NewClient(rules.Protocol(), rules.ClientConfig())
		require.NoError(t, err)
		w := ecs.NewWorld()
		g := systems.NewClient(client, socket(uint64(2+i)), clock)
		p := rules.Join(g, &w)
		p.Act = p.Decide(rules.NewBrain(uint64(i)))
		require.NoError(t, client.ConnectWith(at.LocalAddr(), rules.Payload(fmt.Sprintf("a secret of client %02d", i), fmt.Sprint("bot ", i), false)))
		loops, clients = append(loops, systems.NewRunner(&w, g, rules.TickRate)), append(clients, client)
	}
	var spent, others time.Duration
	run := func(frames int) {
		for range frames {
			now += time.Second / rules.TickRate
			began := time.Now()
			loop.Step()
			spent += time.Since(began)
			began = time.Now()
			for _, l := range loops {
				l.Step()
			}
			others += time.Since(began)
		}
	}
	bytes := func() (down, up uint64) {
		for _, c := range clients {
			down, up = down+c.Stats().Packets.BytesReceived, up+c.Stats().Packets.BytesSent
		}
		return down, up
	}
	run(5 * rules.TickRate)
	spent, others = 0, 0
	down, up := bytes()
	run(seconds * rules.TickRate)
	allDown, allUp := bytes()
	t.Logf("%d players at %d ticks a second: a client receives %d bytes/s and sends %d; the server takes %d us a tick, %d us for each player; a client %d us a frame",
		players, rules.TickRate, (allDown-down)/players/seconds, (allUp-up)/players/seconds,
		spent.Microseconds()/seconds/rules.TickRate, spent.Microseconds()/seconds/rules.TickRate/players, others.Microseconds()/seconds/rules.TickRate/players)
	require.Less(t, (allDown-down)/players/seconds, uint64(12_000))
}
