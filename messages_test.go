package netcode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

type huge struct{ Bytes [2000]byte }

// A message to a client that left is an error, also where the server sent to it before, and goes to nobody else.
func TestNothingIsSentToAClientThatLeft(t *testing.T) {
	p := protocol()
	var numbers []uint32
	netcode.Handle(p, func(_ *message.Context, m *chat) { numbers = append(numbers, m.Number) })
	r := rig.New(t, p, netcode.Config{})
	for range 2 {
		r.Joined(p, netcode.Config{})
	}
	for i := range uint32(3) {
		require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{i}))
	}
	r.Until(func() bool { return len(numbers) == 3 })
	for range 2 {
		require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{8})) // It is in the queue when the client goes.
	}
	require.True(t, r.Server.Kick(1, "out"))
	require.ErrorIs(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{9}), errs.ErrNotConnected)
	require.ErrorIs(t, netcode.Send(r.Server.Server, netcode.To(257), &chat{9}), errs.ErrNotConnected)
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(2), &chat{4}))
	r.Until(func() bool { return slices.Contains(numbers, 4) })
	require.NotContains(t, numbers, uint32(9))
}

func TestErrorsOfSending(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil)
	netcode.Handle[huge](p, nil)
	netcode.Handle[position](p, nil, netcode.Named("goto"))
	r := rig.New(t, p, netcode.Config{OutboxBytes: 256})
	server := r.Server.Server
	require.ErrorIs(t, netcode.Send(server, netcode.To(1), &chat{}), errs.ErrNotConnected)
	c := r.Join(p, netcode.Config{})
	require.ErrorIs(t, netcode.Send(c.Client, netcode.ToServer(), &chat{}), errs.ErrNotConnected)
	r.Until(func() bool { return len(r.Server.Log) == 1 })

	require.ErrorIs(t, netcode.Send(server, netcode.To(1), &wave{}), errs.ErrNotRegistered)
	require.ErrorIs(t, netcode.Send(server, netcode.ToAll(), &wave{}), errs.ErrNotRegistered)
	var tooLarge *errs.TooLargeError
	require.ErrorAs(t, netcode.Send(server, netcode.To(1), &huge{}), &tooLarge)
	require.Equal(t, "huge", tooLarge.Name)
	require.Equal(t, 2000, tooLarge.Size)
	require.Less(t, tooLarge.Max, 1200)
	var unsendable *errs.FieldError
	require.ErrorAs(t, netcode.Send(server, netcode.To(1), &position{Y: float32(math.NaN())}), &unsendable)
	require.Equal(t, "Y", unsendable.Field)
	sent := 0
	for netcode.Send(server, netcode.To(1), &chat{}) == nil {
		sent++
	}
	require.Equal(t, (1200-9-2-4)/8, sent, "as many as fit a packet, the least that OutboxBytes can be")
	require.ErrorIs(t, netcode.Send(server, netcode.To(1), &chat{}), errs.ErrQueueFull)
	require.EqualValues(t, 2, r.Server.Stats().OutboxFull)
	require.EqualValues(t, 1, r.Server.Stats().TooLarge)
	r.Run(time.Second)
	require.NoError(t, netcode.Send(server, netcode.To(1), &chat{}))
}

// A message that came in one frame with the end of its connection is handled before the game is told of a goodbye. After a fault
// it is not handled at all.
func TestNothingComesFromClientsThatAreGone(t *testing.T) {
	p := protocol()
	var log []string
	netcode.Handle(p, func(ctx *message.Context, m *chat) { log = append(log, "message") })
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	r.Server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { log = append(log, "gone") })
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	steps.OfClient(c).BeginFrame(r.Now + time.Second)
	steps.OfClient(c).Send() // the message
	c.Close()
	steps.OfClient(c).Drain(c.Out)
	r.Until(func() bool { return len(log) == 2 })
	r.Run(time.Second)
	require.Equal(t, []string{"message", "gone"}, log)
	require.Zero(t, r.Server.Stats().OfTheGone)

	log = nil
	th := rig.NewThief(r, p)
	th.Send(wire.FirstUserMessage, tick.Update, []byte{1, 0, 0, 0})
	th.Send(15, tick.Initialization, nil) // which does not exist
	r.Run(time.Second)
	require.Equal(t, []string{"gone"}, log)
	require.EqualValues(t, 1, r.Server.Stats().OfTheGone)
}

// loseState loses the next packets of the server that carry a snapshot.
func loseState(k *talk, n int) func(from, to transport.Addr, packet []byte) []byte {
	return func(from, to transport.Addr, packet []byte) []byte {
		if from != k.Server.Conn.LocalAddr() || n == 0 || peer.KindOf(packet) != peer.KindPacket {
			return packet
		}
		_, size, err := wire.ParsePacketHeader(packet)
		require.NoError(k.T, err)
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

// Messages leave at the end of each frame, not only on network ticks.
func TestMessagesLeaveEveryFrame(t *testing.T) {
	p := protocol()
	heard := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { heard++ })
	r := rig.New(t, p, netcode.Config{TickRate: 1})
	r.Joined(p, netcode.Config{})
	for range 5 {
		require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{1}))
		before := heard
		r.Step()
		require.Equal(t, before+1, heard)
	}
}

// One packet in 64 to 191 leaves a number out, at places that nobody can foresee.
func TestSequenceNumbersAreSkippedAtRandom(t *testing.T) {
	k := newTalk(t, netcode.Config{SendBudget: -1}, 1)
	seen := map[uint16]bool{}
	var last uint16
	var at []int
	count := 0
	k.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == k.Clients[0].Conn.LocalAddr() {
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
		require.NoError(t, netcode.Send(k.Clients[0].Client, netcode.ToServer(), &chat{1}))
		k.Step()
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
	require.Equal(t, netcode.Connected, k.Clients[0].State())
}

// line is a message that serializes itself, because it holds text.
type line struct {
	Room uint8
	Text string
	more bool // Writes more than SizeUpperBound says.
}

func (m *line) Serialize(s *wire.Serializer) {
	s.Uint8(&m.Room)
	s.String(&m.Text, 40000)
	if m.more {
		more := strings.Repeat("m", 100)
		s.String(&more, 100)
	}
}

func (m *line) SizeUpperBound() int { return 1 + 9 + len(m.Text) }

func TestMessagesThatSerializeThemselves(t *testing.T) {
	p := protocol()
	var got []string
	netcode.Handle(p, func(_ *netcode.Context, m *line) { got = append(got, m.Text) }, netcode.Over(netcode.ReliableOrdered))
	r := rig.New(t, p, netcode.Config{SendBudget: -1})
	c := r.Joined(p, netcode.Config{SendBudget: -1})
	long := strings.Repeat("long ", 6000)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: "short"}))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: long}))
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), &line{Text: long}))
	var bound *message.BoundError
	require.ErrorAs(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: "x", more: true}), &bound)
	require.Equal(t, "line", bound.Name)
	var large *errs.TooLargeError
	require.ErrorAs(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: long}, netcode.Over(netcode.Unreliable)), &large)
	require.ErrorAs(t, netcode.Send(r.Server.Server, netcode.ToAll(), &line{Text: long}, netcode.Over(netcode.Unreliable)), &large)
	require.Equal(t, 1200-9-2-4-4, large.Max)
	require.EqualValues(t, 1, r.Server.Stats().TooLarge)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: "last"}))
	r.Until(func() bool { return len(got) == 4 })
	require.ElementsMatch(t, []string{"short", long, long, "last"}, got)
	require.Equal(t, netcode.Connected, c.State())
}

// counted counts the runs of its Serialize method.
type counted struct {
	Text string
	runs *int
}

func (m *counted) Serialize(s *wire.Serializer) {
	s.String(&m.Text, 200_000)
	if m.runs != nil {
		*m.runs++
	}
}

// A message to several runs its Serialize method once, however many they are and however long it is.
func TestAMessageToManyIsSerializedOnce(t *testing.T) {
	p := protocol()
	got := 0
	netcode.Handle(p, func(*netcode.Context, *counted) { got++ }, netcode.Over(netcode.Reliable))
	r := rig.New(t, p, netcode.Config{SendBudget: -1})
	for range 3 {
		r.Joined(p, netcode.Config{SendBudget: -1})
	}
	s := r.Server.Server
	for _, text := range []string{"short", strings.Repeat("long ", 6000)} {
		for _, to := range []netcode.Recipient{netcode.ToAll(), netcode.ToAllBut(1), netcode.ToMany([]netcode.ClientID{2, 3})} {
			runs := 0
			require.NoError(t, netcode.Send(s, to, &counted{text, &runs}))
			require.Equal(t, 1, runs)
		}
	}
	require.ErrorAs(t, netcode.Send(s, netcode.ToAll(), &counted{Text: strings.Repeat("x", 150_000)}), new(*errs.TooLargeError))
	r.Until(func() bool { return got == 2*(3+2+2) })
}

// eager sends messages of its own while it is written.
type eager struct {
	Number uint32
	send   func()
}

func (e *eager) Serialize(s *wire.Serializer) {
	s.Uint32(&e.Number)
	if e.send != nil && !s.IsReading() {
		e.send()
	}
}

func (e *eager) SizeUpperBound() int { return 4 }

// A Serialize method may send: what it sends goes before the message that it is called for, to one, to several, to oneself, and
// whatever travels how. Neither harms the other.
func TestSerializeMaySend(t *testing.T) {
	p := protocol()
	var got []string
	netcode.Handle(p, func(ctx *netcode.Context, m *eager) {
		got = append(got, fmt.Sprintf("%d:eager %d", ctx.Local, m.Number))
	}, netcode.AtStage(tick.Update))
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) { got = append(got, fmt.Sprintf("%d:%d", ctx.Local, m.Number)) }, netcode.AtStage(tick.Update))
	r := rig.New(t, p, netcode.Config{History: 2})
	c := r.Joined(p, netcode.Config{}).Client
	s := r.Server.Server
	for name, way := range map[string]struct {
		end   netcode.Endpoint
		outer netcode.Recipient
		inner netcode.Recipient
		at    string
	}{
		"to the server": {c, netcode.ToServer(), netcode.ToServer(), "0"},
		"to a client":   {s, netcode.To(1), netcode.To(1), "1"},
		"to all":        {s, netcode.ToAll(), netcode.ToAll(), "1"},
		"to one in all": {s, netcode.ToAll(), netcode.To(1), "1"},
		"to itself":     {s, netcode.ToSelf(), netcode.ToSelf(), "0"},
	} {
		for _, via := range []wire.Delivery{netcode.Unreliable, netcode.ReliableOrdered} {
			for _, nested := range []bool{false, true} {
				t.Run(fmt.Sprint(name, via, nested), func(t *testing.T) {
					got = nil
					later := netcode.AtStage(tick.EarlyUpdate) // and not the one that the end is in
					send := func(n uint32) {
						require.NoError(t, netcode.Send(way.end, way.inner, &chat{n}, netcode.Over(via), later))
					}
					within := func() { send(2); send(3) }
					want := []string{"1", "2", "3", "eager 5", "6"}
					if nested {
						within = func() {
							require.NoError(t, netcode.Send(way.end, way.inner, &eager{4, func() { send(2) }}, netcode.Over(via), later))
							send(3)
						}
						want = []string{"1", "2", "eager 4", "3", "eager 5", "6"}
					}
					send(1)
					require.NoError(t, netcode.Send(way.end, way.outer, &eager{5, within}, netcode.Over(via), later))
					send(6)
					r.Run(200 * time.Millisecond)
					for i := range want {
						want[i] = way.at + ":" + want[i]
					}
					require.Equal(t, want, got)
				})
			}
		}
	}
	require.Equal(t, netcode.Connected, c.State())
}

// stall runs the server alone for a while.
func (k *talk) stall(d time.Duration) {
	for end := k.Now + d; k.Now < end; {
		k.Now += rig.FrameTime
		k.ServerFrame()
	}
}

// A client's own count of ticks leaves out ticks in a stall. This does not make a message late that waits for a tick, nor one
// behind it.
func TestNotBeforeIsOnTimeAfterStalls(t *testing.T) {
	for _, via := range []wire.Delivery{netcode.Reliable, netcode.ReliableOrdered, netcode.Unreliable} {
		k := newTalk(t, netcode.Config{}, 1)
		c := k.Clients[0]
		k.Run(time.Second)
		for range 4 {
			k.stall(time.Second)
			k.Run(time.Second)
		}
		require.Less(t, c.Tick(), k.Server.Tick()-50, "what the stalls cost the client's own count")
		at := k.Server.Tick() + 15
		require.NoError(t, netcode.Send(k.Server.Server, netcode.To(1), &chat{1}, netcode.NotBefore(at), netcode.Over(via)))
		require.NoError(t, netcode.Send(k.Server.Server, netcode.To(1), &chat{2}, netcode.Over(via)))
		behind := 1
		if via == wire.ReliableOrdered {
			behind = 0
		}
		for k.Server.Tick() < at-2 {
			k.Step()
			require.Less(t, len(k.heard), 1+behind, "%s at %d, to be heard at %d", via, k.Server.Tick(), at)
		}
		for k.Server.Tick() < at+3 {
			k.Step()
		}
		require.ElementsMatch(t, []string{"1<0:1", "1<0:2"}, k.heard, via)
		require.Less(t, k.ctx.Tick, at-50, "Context.Tick is the client's own count")
	}
}

// A player at its own server goes by the server's ticks, whatever its own count was before.
func TestNotBeforeAtAHost(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 0)
	k.stall(3 * time.Second)
	c, err := netcode.NewClient(k.Server.Protocol(), netcode.Config{Random: rig.Random(9)})
	require.NoError(t, err)
	steps.OfClient(c).BeginFrame(k.Now)
	require.NoError(t, netcode.Host(k.Server.Server, c))
	k.Clients = append(k.Clients, &rig.ClientEnd{Client: c})
	at := k.Server.Tick() + 15
	frame := func() {
		k.Now += rig.FrameTime
		k.ServerFrame()
		steps.OfClient(c).BeginFrame(k.Now)
		for stage := range tick.Stage(tick.NumStages) {
			steps.OfClient(c).Dispatch(stage)
		}
		steps.OfClient(c).Send()
	}
	require.NoError(t, netcode.Send(k.Server.Server, netcode.To(c.ID()), &chat{1}, netcode.NotBefore(at)))
	for k.Server.Tick() < at-1 {
		frame()
		require.Empty(t, k.heard)
	}
	for k.Server.Tick() < at+1 {
		frame()
	}
	require.Equal(t, []string{"1<0:1"}, k.heard)
}

func TestHistoryOfMessages(t *testing.T) {
	k := newTalk(t, netcode.Config{History: 4}, 1)
	s, c := k.Server.Server, k.Clients[0]
	id := k.Spawn(1)
	k.Sees(c, id, 1)
	require.True(t, s.SetOwner(id, 1))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{41}))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &order{42}, netcode.About(id)))
	k.Until(func() bool { return len(k.heard) == 2 })
	k.heard = nil
	require.NoError(t, netcode.Send(s, netcode.ToAll(), &chat{43}))
	k.Step()

	text := string(inspect.AppendMessages(nil, s.Protocol(), s.ReceivedIn(1)))
	require.Contains(t, text, "1 at tick ")
	require.Contains(t, text, "chat on Unreliable 0, stage Update: Number=41")
	require.Contains(t, text, "order on ReliableOrdered 3, stage PreUpdate, about "+id.String()+": What=42")
	var numbers []int
	s.ReceivedIn(1).Each(func(r *message.Record) bool {
		require.EqualValues(t, 1, r.Peer)
		numbers = append(numbers, len(r.Payload))
		return true
	})
	require.Equal(t, []int{4, 4}, numbers)
	require.Contains(t, string(inspect.AppendMessages(nil, s.Protocol(), s.SentIn(1))), "Number=43")
	require.Nil(t, s.ReceivedIn(5))
	require.Nil(t, c.SentIn(0), "no history was asked for there")
	require.Nil(t, c.ReceivedIn(0))
}
