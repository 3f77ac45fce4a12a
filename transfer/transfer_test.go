package transfer_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transfer"
	"github.com/arche-netcode/netcode/transport"
)

type body struct{ Tick, Noise uint32 }

// inbox takes the transfers of an end.
type inbox struct {
	done   map[string][]byte
	failed map[string]error
	moved  int
	refuse error
	live   *transfer.Receiving
}

func newInbox(end netcode.Endpoint) *inbox {
	b := &inbox{done: map[string][]byte{}, failed: map[string]error{}}
	transfer.On(end, transfer.Handler{
		Begin:  func(r *transfer.Receiving) error { b.live = r; return b.refuse },
		Done:   func(r *transfer.Receiving, data []byte) { b.done[r.Name()] = data },
		Failed: func(r *transfer.Receiving, err error) { b.failed[r.Name()] = err },
		Moved:  func(_ *transfer.Receiving, received, _ int) { b.moved = received },
	})
	return b
}

// game is a server, clients that are connected, and their inboxes: that of the server first.
func game(t *testing.T, link transport.Link, budget, bodies, clients int, config transfer.Config) (*nettest.Net, []*inbox) {
	return gameOf(t, link, budget, bodies, clients, 50, config)
}

// gameOf is game of a seed.
func gameOf(t *testing.T, link transport.Link, budget, bodies, clients int, seed uint64, config transfer.Config) (*nettest.Net, []*inbox) {
	p := netcode.NewProtocol()
	netcode.Replicate[body](p)
	transfer.Register(p, config)
	random := rand.New(rand.NewPCG(1, 2))
	var n *nettest.Net
	n = nettest.New(t, nettest.Config{
		Protocol: p, Clients: clients, Seed: seed, Link: link, Rate: 30, Server: netcode.Config{SendBudget: budget}, Client: netcode.Config{SendBudget: budget},
		Game: func(w *ecs.World, frame int) {
			for q := generic.NewFilter1[body]().Query(w); q.Next(); {
				*q.Get() = body{uint32(frame), random.Uint32()}
			}
		},
	})
	build := generic.NewMap2[body, components.Replicated](n.Server.World)
	for range bodies {
		build.New()
	}
	require.True(t, n.RunUntil(20*time.Second, n.Connected))
	all := []*inbox{newInbox(n.Server.Server)}
	for _, c := range n.Clients {
		all = append(all, newInbox(c.Client))
	}
	return n, all
}

func random(size int, seed uint64) []byte {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(seed)}).Read(data)
	return data
}

func lossy(loss float64) transport.Link {
	return transport.Link{Delay: 40 * time.Millisecond, Jitter: 15 * time.Millisecond, Loss: loss, Reorder: .02, Duplicate: .02}
}

// age returns how many frames old the oldest body of a client is, in the mean of some frames.
func age(n *nettest.Net, frames int) float64 {
	sum := 0
	for range frames {
		n.Step()
		oldest := uint32(n.Frame())
		for q := generic.NewFilter1[body]().Query(n.Clients[0].World); q.Next(); {
			oldest = min(oldest, q.Get().Tick)
		}
		sum += n.Frame() - int(oldest)
	}
	return float64(sum) / float64(frames)
}

// TestLargeMessages sends megabytes both ways at 20 % loss.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	n, boxes := game(t, lossy(.2), -1, 50, 2, transfer.Config{FromClient: 4 << 20})
	level, save := random(3<<20, 1), random(1<<20, 2)
	down, err := transfer.Send(n.Server.Server, n.Clients[0].ID(), "level", level)
	require.NoError(t, err)
	up, err := transfer.Send(n.Clients[1].Client, 0, "save", save)
	require.NoError(t, err)
	ended := 0
	down.OnEnd(func(err error) { require.NoError(t, err); ended++ })
	last := 0
	require.True(t, n.RunUntil(60*time.Second, func() bool {
		now, all := down.Progress()
		require.Equal(t, len(level), all)
		require.GreaterOrEqual(t, now, last)
		last = now
		return down.Over() && up.Over()
	}))
	n.Step()
	n.Step()
	require.NoError(t, down.Err())
	require.NoError(t, up.Err())
	require.Equal(t, 1, ended)
	require.True(t, bytes.Equal(level, boxes[1].done["level"]))
	require.True(t, bytes.Equal(save, boxes[0].done["save"]))
	require.Equal(t, len(level), boxes[1].moved)
	t.Logf("3 MiB down and 1 MiB up in %v", n.Now())
}

// TestStateGoesOn sends 1 MiB at 64 KiB/s and 20 % loss: state that takes a third of the budget stays as new as without.
func TestStateGoesOn(t *testing.T) {
	t.Parallel()
	const budget = 64 << 10
	for seed := range uint64(8) {
		n, boxes := gameOf(t, lossy(.2), budget, 120, 1, 50+seed, transfer.Config{})
		client := n.Clients[0].ID()
		n.Run(2 * time.Second)
		before := age(n, 300)
		s, err := transfer.Send(n.Server.Server, client, "level", random(1<<20, 3))
		require.NoError(t, err)
		began, frames, sum, most := n.Now(), 0, 0., 0
		for !s.Over() && n.Now()-began < 60*time.Second {
			old := age(n, 1)
			require.Less(t, old, 60., "state comes")
			most = max(most, extend.OfServer(n.Server).Session(client).Waiting())
			frames, sum = frames+1, sum+old
		}
		require.True(t, s.Over(), "within a minute")
		require.Greater(t, n.Now()-began, 10*time.Second, "it takes longer than the budget for it")
		require.Less(t, most, 16<<10, "other messages do not wait behind a transfer")
		t.Logf("seed %d: age of the oldest body: %.2f frames before, %.2f in %d frames during; %v, at most %d bytes wait", 50+seed, before, sum/float64(max(frames, 1)), frames, n.Now()-began, most)
		require.Less(t, sum/float64(frames), before+.5)
		n.Step()
		require.Len(t, boxes[1].done["level"], 1<<20)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	n, boxes := game(t, lossy(.1), 64<<10, 1, 1, transfer.Config{})
	c := n.Clients[0]
	send := func(name string) *transfer.Sending {
		s, err := transfer.Send(n.Server.Server, c.ID(), name, random(1<<20, 4))
		require.NoError(t, err)
		return s
	}
	s := send("by the sender")
	n.Run(2 * time.Second)
	require.Len(t, transfer.Incoming(c.Client, 0), 1)
	s.Cancel()
	s.Cancel()
	n.Run(time.Second)
	require.ErrorIs(t, s.Err(), transfer.ErrCancelled)
	require.ErrorIs(t, boxes[1].failed["by the sender"], transfer.ErrCancelled)

	s = send("by the receiver")
	n.Run(2 * time.Second)
	boxes[1].live.Cancel("no room on the disk")
	n.Run(time.Second)
	var refused *transfer.RefusedError
	require.ErrorAs(t, s.Err(), &refused)
	require.Equal(t, "no room on the disk", refused.Text)
	require.ErrorIs(t, boxes[1].failed["by the receiver"], transfer.ErrCancelled)

	boxes[1].refuse = errors.New("not now")
	s = send("refused")
	n.Run(time.Second)
	require.ErrorAs(t, s.Err(), &refused)
	require.EqualError(t, s.Err(), "netcode: transfer: the receiver refused it: not now")
	require.Empty(t, transfer.Incoming(c.Client, 0))
	require.Empty(t, boxes[1].done)
	boxes[1].refuse = nil
	s, err := transfer.Send(n.Server.Server, c.ID(), "empty", nil)
	require.NoError(t, err)
	require.True(t, n.RunUntil(5*time.Second, s.Over))
	require.NoError(t, s.Err())
	require.Contains(t, boxes[1].done, "empty")
	require.Equal(t, netcode.Connected, c.State())
}

func TestBounds(t *testing.T) {
	t.Parallel()
	n, boxes := game(t, lossy(0), -1, 1, 1, transfer.Config{FromServer: 1 << 20, AtOnce: 2})
	c := n.Clients[0]
	_, err := transfer.Send(n.Server.Server, c.ID(), "large", make([]byte, 1<<20+1))
	var size *transfer.SizeError
	require.ErrorAs(t, err, &size)
	_, err = transfer.Send(c.Client, 0, "up", []byte{1})
	require.ErrorAs(t, err, &size, "a server takes nothing where it did not say so")
	_, err = transfer.Send(n.Server.Server, 99, "nobody", nil)
	require.ErrorIs(t, err, transfer.ErrNoReceiver)
	require.ErrorIs(t, err, errs.ErrNotConnected, "as netcode.Send has it")
	_, err = transfer.Send(func() *netcode.Client { c, _ := netcode.NewClient(netcode.NewProtocol(), netcode.Config{}); return c }(), 0, "", nil)
	require.ErrorIs(t, err, transfer.ErrUnregistered)
	var all []*transfer.Sending
	for i := range 6 {
		s, err := transfer.Send(n.Server.Server, c.ID(), strings.Repeat("x", i+1), random(100<<10, uint64(i)))
		require.NoError(t, err)
		all = append(all, s)
	}
	require.True(t, n.RunUntil(30*time.Second, func() bool {
		require.LessOrEqual(t, len(transfer.Incoming(c.Client, 0)), 2)
		return all[5].Over() && all[4].Over()
	}))
	for _, s := range all {
		require.NoError(t, s.Err())
	}
	require.Len(t, boxes[1].done, 6)
}

// TestDisconnection ends transfers with their connection, at both ends.
func TestDisconnection(t *testing.T) {
	t.Parallel()
	n, boxes := game(t, lossy(0), 64<<10, 1, 2, transfer.Config{FromClient: 1 << 20})
	down, err := transfer.Send(n.Server.Server, n.Clients[0].ID(), "down", random(1<<20, 1))
	require.NoError(t, err)
	up, err := transfer.Send(n.Clients[0].Client, 0, "up", random(1<<20, 1))
	require.NoError(t, err)
	n.Run(time.Second)
	n.Clients[0].Close()
	n.Run(3 * time.Second)
	require.ErrorIs(t, down.Err(), transfer.ErrDisconnected)
	require.ErrorIs(t, up.Err(), transfer.ErrDisconnected)
	require.ErrorIs(t, boxes[1].failed["down"], transfer.ErrDisconnected)
	require.ErrorIs(t, boxes[0].failed["up"], transfer.ErrDisconnected)
	require.Equal(t, netcode.Connected, n.Clients[1].State())
	require.NoError(t, n.Clients[0].Connect(n.Address()))
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	down, err = transfer.Send(n.Server.Server, n.Clients[0].ID(), "again", random(10<<10, 1))
	require.NoError(t, err)
	require.True(t, n.RunUntil(5*time.Second, down.Over))
	require.NoError(t, down.Err())
	require.Len(t, boxes[1].done["again"], 10<<10)
}
