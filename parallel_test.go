package netcode_test

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// pool is the Executor of the documentation.
type pool struct {
	jobs  chan job
	done  sync.WaitGroup
	parts int
}

type job struct {
	part func(int)
	i    int
}

func newPool(t testing.TB, parts int) *pool {
	p := &pool{jobs: make(chan job), parts: parts}
	for range parts - 1 {
		go func() {
			for j := range p.jobs {
				j.part(j.i)
				p.done.Done()
			}
		}()
	}
	t.Cleanup(func() { close(p.jobs) })
	return p
}

func (p *pool) Parts() int { return p.parts }

func (p *pool) Do(n int, part func(int)) {
	p.done.Add(n - 1)
	for i := 1; i < n; i++ {
		p.jobs <- job{part, i}
	}
	part(0)
	p.done.Wait()
}

// odd is an Executor that does everything in the wrong order, some of it twice and one part not at all.
type odd struct{}

func (odd) Parts() int { return 5 }

func (odd) Do(n int, part func(int)) {
	for i := n - 1; i > 0; i-- {
		part(i)
		part(n - 1)
	}
}

// parallelGame plays a game with loss, hidden entities, messages, late joins and clients of different budgets, and returns
// every datagram that the server sent, in order.
func parallelGame(t *testing.T, seed uint64, budget int, executor netcode.Executor) (sent []byte, datagrams int) {
	p := protocol()
	netcode.Handle(p, func(*message.Context, *chat) {})
	r := newRig(t, p, netcode.Config{SendBudget: budget, Executor: executor})
	random := rand.New(rand.NewPCG(seed, 1))
	r.tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == r.server.conn.LocalAddr() {
			sent = append(sent, packet...)
			datagrams++
		}
		if random.IntN(20) == 0 {
			return nil
		}
		return packet
	}
	var ids []wire.NetworkID
	r.server.game = func(store *snapshot.Store) {
		for len(ids) < 300 {
			ids = append(ids, store.Spawn())
		}
		for i, id := range ids {
			if i%7 == int(store.Tick())%7 || i%3 == 0 {
				r.set(store, id, float32(store.Tick())+float32(i))
			}
		}
		gone := random.IntN(len(ids))
		store.Despawn(ids[gone])
		ids[gone] = store.Spawn()
	}
	for frame := range 240 {
		if frame%20 == 0 {
			r.join(p, netcode.Config{SendBudget: budget})
		}
		for id := range r.server.Clients {
			switch random.IntN(12) {
			case 0:
				r.server.Hide(id, ids[random.IntN(len(ids))])
			case 1:
				r.server.Show(id, ids[random.IntN(len(ids))])
			case 2:
				_ = netcode.Send(r.server.Server, netcode.To(id), &chat{uint32(frame)})
			}
		}
		r.step()
	}
	return sent, datagrams
}

func TestExecutorSendsTheSameBytes(t *testing.T) {
	for seed, budget := range []int{-1, 64 << 10, 9000} {
		want, datagrams := parallelGame(t, uint64(seed), budget, nil)
		require.Greater(t, datagrams, 500)
		for _, executor := range []netcode.Executor{newPool(t, 1), newPool(t, 3), newPool(t, 8), odd{}} {
			got, _ := parallelGame(t, uint64(seed), budget, executor)
			if !bytes.Equal(want, got) {
				a, b := fnv.New64(), fnv.New64()
				_, _ = a.Write(want)
				_, _ = b.Write(got)
				require.Equal(t, a.Sum64(), b.Sum64(), "budget %d, %T of %d parts: %d bytes and %d", budget, executor, executor.Parts(), len(want), len(got))
			}
		}
	}
}

func TestExecutorTickAllocatesNothing(t *testing.T) {
	r := busyRigWith(t, netcode.Config{SendBudget: -1, Executor: newPool(t, 3)})
	alloctest.Zero(t, 200, r.step, "allocations of a frame of the server and its 16 clients")
}
