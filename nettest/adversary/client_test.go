package adversary_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/wire"
)

// fate has the outcome for a client that lies, and the counter of the lie.
type fate struct {
	ends    errs.Reason                    // ReasonNone: it stays
	counter func(s *netcode.Server) uint64 // rises with the lie; nil: nothing is counted, as for a legal datagram
}

func fates() map[string]fate {
	count := func(f func(s netcode.Stats) uint64) func(*netcode.Server) uint64 {
		return func(s *netcode.Server) uint64 { return f(s.Stats()) }
	}
	return map[string]fate{
		"AckAhead":     {ends: errs.ReasonAckOfUnsent, counter: count(func(s netcode.Stats) uint64 { return s.Packets.AcksOfUnsent })},
		"AckNothing":   {counter: count(func(s netcode.Stats) uint64 { return s.Packets.RingFull })},
		"AckOld":       {counter: count(func(s netcode.Stats) uint64 { return s.Packets.RingFull })},
		"AckAll":       {ends: errs.ReasonAckOfUnsent, counter: count(func(s netcode.Stats) uint64 { return s.Packets.AcksOfUnsent })},
		"Silence":      {ends: errs.ReasonTimeout, counter: count(func(s netcode.Stats) uint64 { return s.SilenceTimeouts })},
		"Trickle":      {},
		"JumpAhead":    {counter: count(func(s netcode.Stats) uint64 { return s.Packets.Old })},
		"FallBack":     {counter: count(func(s netcode.Stats) uint64 { return s.Packets.Old })},
		"Repeat":       {counter: count(func(s netcode.Stats) uint64 { return s.Packets.Duplicates })},
		"Damage":       {counter: count(func(s netcode.Stats) uint64 { return s.Packets.BadChecksum })},
		"Credit":       {},
		"Resyncs":      {counter: count(func(s netcode.Stats) uint64 { return s.ResyncsDeferred })},
		"Overspend":    {ends: errs.ReasonQueueOverflow, counter: count(func(s netcode.Stats) uint64 { return s.QueueOverflows })},
		"FarNumber":    {ends: errs.ReasonMalformed, counter: count(func(s netcode.Stats) uint64 { return s.Malformed })},
		"Pieces":       {ends: errs.ReasonMalformed, counter: count(func(s netcode.Stats) uint64 { return s.Malformed })},
		"ForTick":      {counter: count(func(s netcode.Stats) uint64 { return s.Messages.Deferred })},
		"About":        {counter: count(func(s netcode.Stats) uint64 { return s.NotVisible })},
		"Messages":     {counter: count(func(s netcode.Stats) uint64 { return s.Messages.Handled })},
		"Named":        {ends: errs.ReasonMalformed}, // What the link lost it never sends again, and the window of numbers passes it.
		"Noise":        {ends: errs.ReasonMalformed, counter: count(func(s netcode.Stats) uint64 { return s.Malformed })},
		"Flood":        {},
		"Bytes":        {counter: count(func(s netcode.Stats) uint64 { return s.Packets.BadChecksum })},
		"CloseAndGoOn": {ends: errs.ReasonClosed, counter: count(func(s netcode.Stats) uint64 { return s.Strangers })},
		"HaltAt":       {ends: errs.ReasonTimeout, counter: count(func(s netcode.Stats) uint64 { return s.SilenceTimeouts })},
		"JoinAgain":    {counter: count(func(s netcode.Stats) uint64 { return s.Joins })},
		"HelloAgain":   {counter: count(func(s netcode.Stats) uint64 { return s.Hellos })},
		"Write":        {ends: errs.ReasonNotAllowed, counter: count(func(s netcode.Stats) uint64 { return s.NotAllowed })},
	}
}

// Each lie of a client against a busy server: six honest clients notice nothing, another one joins, the heap stays as it is, and the liar
// ends as documented or is counted.
func TestClientsThatLie(t *testing.T) {
	known := fates()
	for _, lie := range adversary.ClientLies() {
		t.Run(lie.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := known[lie.Name]
			require.True(t, ok, "fates has no line for it")
			b := newBusy(t, 25, netcode.Config{SilenceTimeout: 4 * time.Second, KeepAlive: 500 * time.Millisecond, SentPackets: 64})
			liar := b.liar(7)
			require.True(t, b.net.RunUntil(time.Second, liar.Connected))
			b.run(time.Second)
			before := uint64(0)
			if want.counter != nil {
				before = want.counter(b.net.Server.Server)
			}
			tell := func() {
				if _, over := b.ends[liar.ID()]; !over || lie.Name == "CloseAndGoOn" {
					lie.Tell(liar)
				}
			}
			limit := 5 * time.Second
			if want.ends != errs.ReasonNone {
				limit = 20 * time.Second
			}
			for end := b.net.Now() + limit; b.net.Now() < end; {
				tell()
				b.step()
				if _, over := b.ends[liar.ID()]; over && lie.Name != "CloseAndGoOn" {
					break
				}
			}
			b.unmoved(tell)
			require.NotZero(t, liar.Told(lie.Name), "nothing was injected")
			reason, over := b.ends[liar.ID()]
			require.Equal(t, want.ends, reason, "%v", liar.Reason())
			require.Equal(t, want.ends != errs.ReasonNone, over)
			if want.counter != nil {
				require.Greater(t, want.counter(b.net.Server.Server), before, "it is counted")
			}
			t.Logf("told %v, gap %v", liar.AllTold(), b.gap)
		})
	}
}

// The server's memory stays as it is while a client lies on and on.
func TestLiesOfClientsTakeNoMemory(t *testing.T) {
	for _, lie := range adversary.ClientLies() {
		if fates()[lie.Name].ends != errs.ReasonNone {
			continue
		}
		t.Run(lie.Name, func(t *testing.T) {
			b := newBusy(t, 26, netcode.Config{SilenceTimeout: 4 * time.Second, KeepAlive: 500 * time.Millisecond, SentPackets: 64})
			liar := b.liar(8)
			require.True(t, b.net.RunUntil(time.Second, liar.Connected))
			tell := func(d time.Duration) {
				for end := b.net.Now() + d; b.net.Now() < end; {
					lie.Tell(liar)
					b.step()
				}
			}
			tell(6 * time.Second)
			before := alloctest.Heap(t)
			tell(2 * time.Second)
			flat(t, before, liar.AllTold())
		})
	}
}

// A client that ends for each lie and joins anew at once, over and over, with another lie each time.
func TestALiarThatComesBackLeavesNothing(t *testing.T) {
	b := newBusy(t, 27, netcode.Config{SilenceTimeout: time.Second, KeepAlive: 300 * time.Millisecond, SentPackets: 64})
	liar := b.liar(9)
	round := func() {
		for _, lie := range adversary.ClientLies() {
			if lie.Name == "HaltAt" {
				continue
			}
			liar.Honest()
			liar.Connect()
			for end := b.net.Now() + 2*time.Second; b.net.Now() < end; b.step() { // a second to join, and one until Trickle says something
				if liar.Connected() {
					lie.Tell(liar)
				}
			}
			require.NotZero(t, liar.Told(lie.Name), lie.Name)
		}
	}
	round()
	before := alloctest.Heap(t)
	round()
	flat(t, before, liar.AllTold())
	liar.Honest()
	liar.Silence()
	b.run(3 * time.Second)
	b.unmoved(func() {})
}

// Inputs of any tick, more of them than ticks, and for ticks that are far: one each counts, and the server simulates none twice.
func TestInputsWithoutEnd(t *testing.T) {
	b := newBusy(t, 28, netcode.Config{})
	liar := b.liar(10)
	require.True(t, b.net.RunUntil(time.Second, liar.Connected))
	before := input.StatsOf(b.net.Server.Server)
	for range 200 {
		require.NoError(t, adversary.InputsFar[control](liar))
		b.step()
	}
	require.Equal(t, 12*200, liar.Told("Inputs"))
	after := input.StatsOf(b.net.Server.Server)
	t.Logf("%+v", after)
	require.NotEqual(t, before, after, "refused inputs are counted")
	require.NotContains(t, b.ends, liar.ID())
	b.unmoved(func() { require.NoError(t, adversary.InputsFar[control](liar)) })
}

// An entity of another client: it may be named, and nothing of it can be written or said.
func TestEntitiesOfOthers(t *testing.T) {
	b := newBusy(t, 29, netcode.Config{})
	liar := b.liar(11)
	require.True(t, b.net.RunUntil(time.Second, liar.Connected))
	b.run(time.Second)
	victim := b.net.Clients[0].ID()
	var theirs wire.NetworkID
	store := b.net.Server.Store()
	for id := range store.All {
		if store.Owner(id) == victim {
			theirs = id
		}
	}
	require.False(t, theirs.IsZero())
	row := b.protocol.Schema().RowOf(typeOf[position]())
	for range 16 {
		require.NotContains(t, b.ends, liar.ID())
		was := append([]uint32(nil), store.Row(theirs, row)...)
		liar.Write(theirs)
		b.run(50 * time.Millisecond)
		require.Equal(t, was, store.Row(theirs, row))
	}
	b.run(200 * time.Millisecond)
	require.Equal(t, errs.ReasonNotAllowed, b.ends[liar.ID()])
	require.EqualValues(t, 16, b.net.Server.Stats().NotAllowed)
}
