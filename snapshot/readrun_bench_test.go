package snapshot

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// BenchmarkReadWhole reads ticks of 1000 entities of 40 bytes in packets of 1165, whole, a few ticks over and over with another number.
func BenchmarkReadWhole(b *testing.B) { benchmarkReadWhole(b, wholeEntities, 0) }

// BenchmarkReadWholeFew reads 4 packets of 100 entities, as fast as that goes when all is near: most of it is what a packet costs.
func BenchmarkReadWholeFew(b *testing.B) { benchmarkReadWhole(b, 100, 0) }

// BenchmarkReadWholeJoinedWithLoss is the same at a client that joined while every so many packets were lost: those that they were of
// came a tick later.
func BenchmarkReadWholeJoinedWithLoss(b *testing.B) {
	for _, every := range []int{0, 20, 10, 5, 3} {
		b.Run(fmt.Sprint("every=", every), func(b *testing.B) { benchmarkReadWhole(b, wholeEntities, every) })
	}
}

func benchmarkReadWhole(b *testing.B, entities, lost int) {
	read := readsWhole(b, entities, lost)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		read()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entities), "ns/row")
}

// BenchmarkReadWholeCold is the same where others' memory goes through the caches between two ticks; of all ticks the fastest counts.
func BenchmarkReadWholeCold(b *testing.B) {
	read, fastest := readsWhole(b, wholeEntities, 0), time.Hour
	others := make([]uint64, 3<<20/8)
	for b.Loop() {
		for i := range others {
			others[i]++
		}
		start := time.Now()
		read()
		fastest = min(fastest, time.Since(start))
	}
	b.ReportMetric(float64(fastest.Nanoseconds())/wholeEntities, "ns/row")
}

const wholeEntities = 1000

// readsWhole gives what reads the next of those ticks, the past being full. Every so many packets of the first one were lost, none with 0.
func readsWhole(b *testing.B, entities, lost int) func() {
	const ticks = 4
	type velocity struct{ X, Y, Z float32 }
	schema := NewSchema([]*wire.Plan{compile[runPlace](b), compile[runTurn](b), compile[velocity](b)})
	cfg := Config{Entities: entities, SentPackets: 1 << 13, Payload: 1165, Window: 16}
	store := NewStore(schema, cfg)
	view := NewView(store, cfg)
	var payloads [ticks][][]byte
	var ids []wire.NetworkID
	seq, bits := uint64(0), uint32(0x3F80_0000)
	for t := range payloads {
		store.Begin(store.Tick() + 1)
		for i := range entities {
			if t == 0 {
				ids = append(ids, store.Spawn())
			}
			for row := range 3 {
				lanes := make([]uint32, schema.Plan(row).Lanes())
				for k := range lanes {
					bits++
					lanes[k] = bits
				}
				store.Set(ids[i], row, lanes)
			}
		}
		store.Commit()
		view.Observe()
		for view.Pending() {
			buf := make([]byte, 1165)
			seq++
			payloads[t] = append(payloads[t], buf[:view.Write(buf, seq)])
		}
	}
	replica := NewReplica(schema, cfg, 0)
	now := 0
	read := func() {
		now++
		for i, p := range payloads[now%ticks] {
			if now == 1 && lost > 0 && i%lost == lost/2 {
				continue
			}
			binary.LittleEndian.PutUint16(p, uint16(now))
			if err := replica.Read(p); err != nil {
				b.Fatal(now, err)
			}
		}
		replica.ClearChanged()
	}
	for range 100 {
		read()
	}
	require.Equal(b, entities, replica.Len())
	return read
}
