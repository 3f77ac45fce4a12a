package netcode_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// nameless and its answer are a question that each end answers in its own way.
type nameless struct{ Number uint16 }

type named struct{ Of, Number uint16 }

// Six bots in one process, a host's player and a server made after its game are written alike: each has the handlers and the answers that were bound
// to it, and no other's.
func TestEndsOfOneProcessAnswerEachInItsOwnWay(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable))
	netcode.Answer[nameless, named](p, nil)
	r := newRig(t, p, netcode.Config{})
	heard := map[string][]uint32{}
	play := func(name string, of uint16, end netcode.Endpoint) { // The same code for every end.
		netcode.On(end, func(_ *netcode.Context, m *chat) { heard[name] = append(heard[name], m.Number) })
		netcode.OnCall(end, func(ctx *netcode.Context, q *nameless, a *named) error {
			if q.Number == 13 {
				return fmt.Errorf("%s does not answer that", name)
			}
			*a = named{Of: of, Number: q.Number + of}
			return nil
		})
	}
	play("server", 100, r.server.Server)
	names := map[netcode.ClientID]string{}
	for i := range 6 {
		bot := r.joined(p, netcode.Config{})
		names[bot.ID()] = fmt.Sprintf("bot %d", bot.ID())
		play(names[bot.ID()], uint16(bot.ID()), bot.Client)
		require.EqualValues(t, i+1, bot.ID())
	}
	host, err := netcode.NewClient(p, netcode.Config{Random: random(77)})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(r.server.Server, host))
	play("host", 7, host)
	hosting := func() {
		host.BeginFrame(r.now)
		for stage := range tick.Stage(tick.NumStages) {
			host.Dispatch(stage)
		}
		host.Send()
	}

	hosting() // So that it knows the time.

	answers := map[string]any{}
	ask := func(from netcode.Endpoint, to netcode.ClientID, what string, number uint16) {
		require.NoError(t, netcode.Call(t.Context(), from, to, &nameless{Number: number}, func(a *named, err error) {
			if answers[what] = err; err == nil {
				answers[what] = *a
			}
		}))
	}
	for i, bot := range r.clients {
		ask(r.server.Server, bot.ID(), fmt.Sprint("server to ", bot.ID()), 1000)
		ask(bot.Client, 0, fmt.Sprint(bot.ID(), " to server"), uint16(2000+i))
	}
	ask(r.server.Server, host.ID(), "server to host", 1000)
	ask(host, 0, "host to server", 3000)
	ask(r.server.Server, 3, "server to 3 about 13", 13)
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToAll(), &chat{5}))
	require.NoError(t, netcode.Send(r.clients[2].Client, netcode.ToServer(), &chat{6}))
	for range 60 {
		r.step()
		hosting()
	}
	for i := range uint16(6) {
		id := i + 1
		require.Equal(t, named{id, 1000 + id}, answers[fmt.Sprint("server to ", id)])
		require.Equal(t, named{100, 2100 + i}, answers[fmt.Sprint(id, " to server")])
		require.Equal(t, []uint32{5}, heard[fmt.Sprint("bot ", id)])
	}
	require.Equal(t, named{7, 1007}, answers["server to host"])
	require.Equal(t, named{100, 3100}, answers["host to server"])
	require.Equal(t, []uint32{5}, heard["host"])
	require.Equal(t, []uint32{6}, heard["server"])
	var refused *netcode.CallError
	failed, _ := answers["server to 3 about 13"].(error)
	require.True(t, errors.As(failed, &refused))
	require.Equal(t, "bot 3 does not answer that", refused.Text)
}

// The newest function of an end answers, in place of that of the protocol.
func TestOnCallReplacesTheAnswerOfTheProtocol(t *testing.T) {
	p := protocol()
	netcode.Answer(p, func(_ *netcode.Context, _ *nameless, a *named) error { a.Of = 1; return nil })
	r := newRig(t, p, netcode.Config{})
	one, two := r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{})
	for of := range uint16(2) {
		netcode.OnCall(two.Client, func(_ *netcode.Context, _ *nameless, a *named) error { a.Of = 2 + of; return nil })
	}
	got := map[netcode.ClientID]uint16{}
	for _, c := range []*clientEnd{one, two} {
		require.NoError(t, netcode.Call(t.Context(), r.server.Server, c.ID(), &nameless{}, func(a *named, err error) {
			require.NoError(t, err)
			got[c.ID()] = a.Of
		}))
	}
	r.run(time.Second)
	require.Equal(t, map[netcode.ClientID]uint16{1: 1, 2: 3}, got)
}

func TestOnCallNeedsARegisteredQuestion(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil)
	netcode.Answer[nameless, named](p, nil)
	end := newRig(t, p, netcode.Config{}).server.Server
	answer := func(*netcode.Context, *nameless, *named) error { return nil }
	require.PanicsWithValue(t, "netcode: OnCall[netcode_test.nameless]: no end to answer: <nil>", func() { netcode.OnCall(nil, answer) })
	require.PanicsWithValue(t, "netcode: OnCall[netcode_test.nameless]: the function is nil", func() { netcode.OnCall[nameless, named](end, nil) })
	require.Panics(t, func() { netcode.OnCall(end, func(*netcode.Context, *wave, *named) error { return nil }) }, "not registered")
	require.Panics(t, func() { netcode.OnCall(end, func(*netcode.Context, *chat, *named) error { return nil }) }, "no question")
	require.Panics(t, func() { netcode.OnCall(end, func(*netcode.Context, *nameless, *chat) error { return nil }) }, "another answer")
	require.PanicsWithValue(t, "netcode: On[netcode_test.nameless]: the message is a question: call netcode.OnCall",
		func() { netcode.On(end, func(*netcode.Context, *nameless) {}) })
}

// A question for owners only is answered to the owner, by the function of the end too.
func TestOnCallIsForOwners(t *testing.T) {
	p := protocol()
	netcode.Answer[nameless, named](p, nil, netcode.OwnerOnly())
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	netcode.OnCall(r.server.Server, func(_ *netcode.Context, _ *nameless, a *named) error { a.Of = 9; return nil })
	own, theirs := r.spawn(1), r.spawn(2)
	r.server.SetOwner(own, c.ID())
	r.sees(c, own, 1)
	r.sees(c, theirs, 2)
	var errs []error
	for _, id := range []netcode.NetworkID{own, theirs} {
		require.NoError(t, netcode.Call(t.Context(), c.Client, 0, &nameless{}, func(_ *named, err error) { errs = append(errs, err) }, netcode.About(id)))
		r.run(time.Second)
	}
	require.Len(t, errs, 2)
	require.NoError(t, errs[0])
	require.ErrorContains(t, errs[1], "does not belong to the caller")
}
