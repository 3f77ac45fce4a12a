package netcode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// loseState loses the next packets of the server that carry a snapshot.
func loseState(k *talk, n int) func(from, to transport.Addr, packet []byte) []byte {
	return func(from, to transport.Addr, packet []byte) []byte {
		if from != k.server.conn.LocalAddr() || n == 0 || peer.KindOf(packet) != peer.KindPacket {
			return packet
		}
		_, size, err := wire.ParsePacketHeader(packet)
		require.NoError(k.t, err)
		in := peer.Incoming{Batches: packet[size : len(packet)-wire.ChecksumSize]}
		r := in.Messages()
		for r.Next() {
			if r.Header.Type == wire.MessageSnapshot {
				n--
				return nil
			}
		}
		return packet
	}
}

// lossy loses and doubles packets.
func lossy(seed uint64, percent int) func(_, _ transport.Addr, packet []byte) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(_, _ transport.Addr, packet []byte) []byte {
		if rng.IntN(100) < percent {
			return nil
		}
		return packet
	}
}

// block is a message that is larger than a packet.
type block struct {
	Number uint32
	Words  [900]uint64
}

func TestReliableMessagesArriveOverABadLink(t *testing.T) {
	for _, loss := range []int{0, 20, 60} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			p := protocol()
			got := map[string][]uint32{}
			hear := func(ctx *netcode.Context, number uint32) {
				key := fmt.Sprintf("%d %v", ctx.Local, ctx.Channel)
				got[key] = append(got[key], number)
			}
			netcode.Handle(p, func(ctx *netcode.Context, m *chat) { hear(ctx, m.Number) })
			netcode.Handle(p, func(ctx *netcode.Context, m *block) {
				for i, word := range m.Words {
					require.EqualValues(t, int(m.Number)*(i+1), word)
				}
				hear(ctx, m.Number)
			})
			r := newRig(t, p, netcode.Config{SendBudget: -1})
			c := r.joined(p, netcode.Config{SendBudget: -1, SilenceTimeout: time.Minute})
			r.tamper = lossy(uint64(loss), loss)
			const n = 300
			for i := range uint32(n) {
				for number := range 2 {
					how := []netcode.How{netcode.Via(netcode.ReliableOrdered), netcode.Channel(number)}
					require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{i}, how...))
					require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{i}, how...))
				}
				require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{i}, netcode.Via(netcode.Reliable)))
				if i%50 == 7 {
					big := block{Number: i}
					for k := range big.Words {
						big.Words[k] = uint64(i) * uint64(k+1)
					}
					require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &big, netcode.Via(netcode.ReliableOrdered)))
				}
				r.step()
			}
			for range 40 {
				r.run(time.Second)
			}
			var all, some []uint32
			for i := range uint32(n) {
				all = append(all, i)
				some = append(some, i)
				if i%50 == 7 {
					some = append(some, i)
				}
			}
			require.Equal(t, all, got["0 ReliableOrdered 0"])
			require.Equal(t, all, got["0 ReliableOrdered 1"])
			require.Equal(t, all, got["1 ReliableOrdered 1"])
			require.Equal(t, some, got["1 ReliableOrdered 0"])
			require.ElementsMatch(t, all, got["0 Reliable 0"])
			stats, ok := r.server.ClientStats(1)
			require.True(t, ok)
			require.Zero(t, stats.Unconfirmed)
		})
	}
}

func TestSequencedMessagesNeverGoBack(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	rng := rand.New(rand.NewPCG(3, 4))
	var held [][]byte
	k.tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == k.clients[0].conn.LocalAddr() && rng.IntN(3) == 0 {
			held = append(held, append([]byte(nil), packet...))
			return nil
		}
		return packet
	}
	newest, heard := 0, 0
	for i := 1; i < 400; i++ {
		require.NoError(t, netcode.Send(k.clients[0].Client, netcode.ToServer(), &chat{uint32(i)}, netcode.Via(netcode.UnreliableSequenced)))
		k.step()
		if len(held) > 3 {
			for _, packet := range held {
				k.server.Receive(k.clients[0].conn.LocalAddr(), packet)
			}
			held = nil
		}
		for _, text := range k.heard {
			var number int
			_, err := fmt.Sscanf(text, "0<1:%d", &number)
			require.NoError(t, err)
			require.Greater(t, number, newest)
			newest = number
			heard++
		}
		k.heard = nil
	}
	require.Greater(t, heard, 200)
	require.Less(t, heard, 399)
}

// Messages leave at the end of each frame, not only on network ticks.
func TestMessagesLeaveEveryFrame(t *testing.T) {
	p := protocol()
	heard := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { heard++ })
	r := newRig(t, p, netcode.Config{TickRate: 1})
	r.joined(p, netcode.Config{})
	for range 5 {
		require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{1}))
		before := heard
		r.step()
		require.Equal(t, before+1, heard)
	}
}

func TestCallOrderIsHandOverOrderAcrossChannels(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	var want []string
	for i := range uint32(40) {
		how := netcode.Via(netcode.Delivery(i % 4))
		require.NoError(t, netcode.Send(k.server.Server, netcode.To(1), &chat{i}, how, netcode.Channel(int(i%3))))
		want = append(want, fmt.Sprintf("1<0:%d", i))
	}
	require.Equal(t, want, k.says(40))
}

// One packet in 64 to 191 leaves a number out, at places that nobody can foresee.
func TestSequenceNumbersAreSkippedAtRandom(t *testing.T) {
	k := newTalk(t, netcode.Config{SendBudget: -1}, 1)
	seen := map[uint16]bool{}
	var last uint16
	var at []int
	count := 0
	k.tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == k.clients[0].conn.LocalAddr() {
			h, _, err := wire.ParsePacketHeader(packet)
			require.NoError(t, err)
			if count > 0 && uint16(h.Sequence)-last == 2 {
				at = append(at, count)
			}
			last = uint16(h.Sequence)
			require.False(t, seen[last])
			seen[last] = true
			count++
		}
		return packet
	}
	for range 3000 {
		require.NoError(t, netcode.Send(k.clients[0].Client, netcode.ToServer(), &chat{1}))
		k.step()
	}
	require.InDelta(t, count/128, len(at), float64(count)/128*0.4)
	distances := map[int]bool{}
	for i := 1; i < len(at); i++ {
		d := at[i] - at[i-1]
		require.GreaterOrEqual(t, d, 64)
		require.LessOrEqual(t, d, 191)
		distances[d] = true
	}
	require.Greater(t, len(distances), len(at)/2)
	require.Equal(t, netcode.Connected, k.clients[0].State())
}
