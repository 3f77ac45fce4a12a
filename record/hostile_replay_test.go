package record_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// hostileMatch is a recording of ten ticks in which players join, leave and send messages in an impossible order.
func hostileMatch(t *testing.T, p *netcode.Protocol, r *rand.Rand) []byte {
	var file bytes.Buffer
	store := snapshot.NewStore(p.Schema(), snapshot.Config{})
	w, err := record.NewWriter(&file, record.Header{TickRate: replayRate, Entries: p.Description()}, store)
	require.NoError(t, err)
	client := func(b []byte) []byte {
		return wire.AppendVarint(b, [...]uint64{1, 2, 3, 1<<32 - 1, 1<<31 - 1}[r.IntN(5)])
	}
	for now := range 10 {
		store.Begin(tick.Tick(now + 1))
		for range r.IntN(6) {
			if r.IntN(3) > 0 {
				w.Note(5, client([]byte{byte(r.IntN(3))}))
				continue
			}
			body := client(nil)
			body = append(body, byte(r.IntN(2)), byte(r.IntN(8)), byte(r.IntN(256)), byte(r.IntN(3)))
			w.Note(6, append(body, byte(r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(3)))[:len(body)+r.IntN(4)])
		}
		store.Commit()
		require.NoError(t, w.Tick())
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

// A forged recording is refused, or replayed without a panic, whatever its players do. A new client can join
// afterwards.
func TestHostilePlayersAreReplayed(t *testing.T) {
	ticks := 0
	for seed := range uint64(300) {
		p := walkersProtocol()
		file := hostileMatch(t, p, rand.New(rand.NewPCG(seed, 1)))
		server, err := netcode.NewServer(p, netcode.Config{TickRate: replayRate, Clients: 4})
		require.NoError(t, err)
		world := ecs.New()
		var now time.Duration
		group := systems.NewServer(server, systems.Offline{}, func() time.Duration { return now })
		netcode.On(server, func(*netcode.Context, *shove) {})
		loop := systems.NewRunner(world, group, replayRate)
		_, _ = record.Replay(server, bytes.NewReader(file), func(at time.Duration) {
			now = at
			loop.Step()
		})
		ticks += int(server.Tick())
		host, err := netcode.NewClient(p, netcode.Config{TickRate: replayRate})
		require.NoError(t, err)
		if netcode.Host(server, host) == nil {
			require.NotZero(t, host.ID(), "seed %d", seed)
		}
	}
	require.Greater(t, ticks, 600, "most are played to some extent")
}
