package main

import (
	"bytes"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
)

// replayTicks is the number of ticks that BenchmarkClient measures. The ticks of realWarmUp come before them.
const replayTicks = 512

// recordClient returns the payloads that one client receives in each tick.
func recordClient(tb testing.TB, s realScene, n realNetwork, ticks int) (*snapshot.Schema, [][][]byte) {
	r := newRealRun(s, n)
	all := make([][][]byte, ticks)
	for t := range all {
		r.clients[0].received = func(p []byte) { all[t] = append(all[t], bytes.Clone(p)) }
		require.NoError(tb, r.playTick(false))
	}
	return r.game.store.Schema(), all
}

// heapInUse is the bytes of the heap that are in use.
func heapInUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkClient reads and applies what one client receives, without a server beside it, again and again. It reports the processor's time of
// the fastest pass, and the memory of a client with its world.
func BenchmarkClient(b *testing.B) {
	s := realScene{entities: realApplyEntities, clients: 1, moving: 1}
	real := realNetwork{loss: 0.05, jitter: 1, classes: 4, seed: 1}
	for name, n := range map[string]realNetwork{"real": real, "perfect": real.perfect()} {
		schema, all := recordClient(b, s, n, realWarmUp+replayTicks)
		for _, apply := range []bool{false, true} {
			b.Run(name+map[bool]string{false: "/read", true: "/apply"}[apply], func(b *testing.B) {
				fastest, memory := math.Inf(1), float64(0)
				for range b.N {
					began := heapInUse()
					world := ecs.New(1024)
					client := replica.New(schema, s.config(), 1)
					to := netecs.NewApply(world, client, schema, 2, netecs.Hooks{}, nil)
					play := func(all [][][]byte) {
						for _, payloads := range all {
							for _, p := range payloads {
								if err := client.Read(p); err != nil {
									b.Fatal(err)
								}
							}
							if apply {
								to.Run()
							} else {
								client.ClearChanged()
							}
						}
					}
					play(all[:realWarmUp])
					runtime.GC()
					before := client.Stats().Records
					cpu, _ := used(func() { play(all[realWarmUp:]) })
					fastest = min(fastest, cpu/float64(client.Stats().Records-before))
					memory = heapInUse() - began
					runtime.KeepAlive(to)
				}
				b.ReportMetric(fastest, "ns/entity")
				b.ReportMetric(memory/1e6, "MB/client")
			})
		}
	}
}
