package netcode_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type price struct{ Item uint32 }

type cost struct{ Gold uint32 }

type ping struct{ Nonce uint32 }

// shop answers questions at the server, and pings everywhere.
type shop struct {
	*rig.Rig
	asked []string
	quiet bool // Questions are not answered in time: the handler drops what comes.
}

func newShop(t *testing.T, config netcode.Config) *shop {
	s := &shop{}
	p := protocol()
	netcode.Answer(p, func(ctx *netcode.Context, q *price, r *cost) error {
		s.asked = append(s.asked, fmt.Sprintf("%d asks %d", ctx.Sender, q.Item))
		if q.Item == 13 {
			return errors.New("we do not sell\nthat here")
		}
		r.Gold = q.Item * 2
		return nil
	}, netcode.FromClient(), netcode.OnChannel(5))
	netcode.Answer(p, func(_ *netcode.Context, q *ping, r *cost) error { r.Gold = q.Nonce; return nil }, netcode.Over(netcode.Unreliable))
	netcode.Handle[chat](p, nil)
	s.Rig = rig.New(t, p, config)
	s.Joined(p, config)
	return s
}

// call asks and writes down what comes of it.
func (s *shop) call(ctx context.Context, item uint32, how ...netcode.Option) *[]string {
	var got []string
	require.NoError(s.T, netcode.Call(ctx, s.Clients[0].Client, 0, &price{item}, func(r *cost, err error) {
		if err != nil {
			require.Nil(s.T, r)
			got = append(got, err.Error())
			return
		}
		got = append(got, fmt.Sprint(r.Gold))
	}, how...))
	return &got
}

func TestCallIsAnswered(t *testing.T) {
	s := newShop(t, netcode.Config{})
	first, second, refused := s.call(context.Background(), 5), s.call(context.Background(), 6), s.call(context.Background(), 13)
	s.Until(func() bool { return len(*first)+len(*second)+len(*refused) == 3 })
	require.Equal(t, []string{"10"}, *first)
	require.Equal(t, []string{"12"}, *second)
	require.Equal(t, []string{"netcode: the call was refused: we do not sell?that here"}, *refused)
	require.Equal(t, []string{"1 asks 5", "1 asks 6", "1 asks 13"}, s.asked)

	var answers []uint32
	hear := func(r *cost, err error) {
		require.NoError(t, err)
		answers = append(answers, r.Gold)
	}
	require.NoError(t, netcode.Call(context.Background(), s.Server.Server, 1, &ping{7}, hear, netcode.AtStage(tick.EarlyUpdate)))
	require.NoError(t, netcode.Call(context.Background(), s.Clients[0].Client, 0, &ping{8}, hear))
	require.NoError(t, netcode.Call(context.Background(), s.Server.Server, 0, &ping{9}, hear), "itself")
	s.Until(func() bool { return len(answers) == 3 })
	require.ElementsMatch(t, []uint32{7, 8, 9}, answers)
}

func TestCallOverABadLink(t *testing.T) {
	s := newShop(t, netcode.Config{SendBudget: -1})
	s.Tamper = lossy(5, 40)
	answers := 0
	for i := range uint32(200) {
		require.NoError(t, netcode.Call(context.Background(), s.Clients[0].Client, 0, &price{100 + i}, func(r *cost, err error) {
			require.NoError(t, err)
			require.Equal(t, 2*(100+i), r.Gold)
			answers++
		}, netcode.Within(time.Minute)))
		s.Step()
	}
	s.Until(func() bool { return answers == 200 })
	require.Len(t, s.asked, 200, "exactly once")
}

func TestCallEndsWithoutAnAnswer(t *testing.T) {
	s := newShop(t, netcode.Config{Calls: 3})
	c := s.Clients[0]
	s.Tamper = lossy(1, 100)
	ctx, cancel := context.WithCancel(context.Background())
	late, cancelled, gone := s.call(context.Background(), 1, netcode.Within(time.Second)), s.call(ctx, 2), s.call(context.Background(), 3, netcode.Within(time.Hour))
	require.ErrorIs(t, netcode.Call(ctx, c.Client, 0, &price{4}, func(*cost, error) { t.Error("not told") }), errs.ErrTooManyCalls)
	require.EqualValues(t, 1, c.Stats().CallsFull)
	s.Run(500 * time.Millisecond)
	require.Empty(t, *cancelled)
	cancel()
	s.Run(rig.FrameTime)
	require.Equal(t, []string{"context canceled"}, *cancelled)
	require.Empty(t, *late)
	s.Run(600 * time.Millisecond)
	require.Equal(t, []string{errs.ErrDeadline.Error()}, *late)
	s.Tamper = nil
	s.Run(2 * time.Second)
	require.Equal(t, []string{"6"}, *gone)
	require.EqualValues(t, 2, c.Stats().LateAnswers, "the two that nobody waits for any more")
	require.EqualValues(t, 1, c.Stats().CallsLate)
	require.EqualValues(t, 1, c.Stats().CallsCancelled)

	s.Tamper = lossy(1, 100)
	gone = s.call(context.Background(), 3, netcode.Within(time.Hour))
	s.Run(time.Second)
	s.Until(func() bool { return len(*gone) == 1 })
	require.Equal(t, []string{"timed out"}, *gone, "the reason of the end of the connection")
}

func TestErrorsOfCall(t *testing.T) {
	s := newShop(t, netcode.Config{})
	c, background := s.Clients[0].Client, context.Background()
	never := func(*cost, error) { t.Error("not told") }
	require.ErrorContains(t, netcode.Call(background, nil, 0, &price{}, never), "neither a server nor a client")
	require.ErrorContains(t, netcode.Call(background, c, 5, &price{}, never), "a client sends to the server or to itself")
	require.ErrorIs(t, netcode.Call(background, s.Server.Server, 5, &ping{}, never), errs.ErrNotConnected)
	require.ErrorContains(t, netcode.Call(background, s.Server.Server, 1, &price{}, never), "was registered with From")
	require.ErrorIs(t, netcode.Call(background, c, 0, &wave{}, never), errs.ErrNotRegistered)
	require.ErrorIs(t, netcode.Call(background, c, 0, &price{}, func(*chat, error) {}), errs.ErrMisuse, "that is no answer to it")
	require.ErrorIs(t, netcode.Send(c, netcode.ToServer(), &price{}), errs.ErrMisuse)
	require.ErrorIs(t, netcode.Send(c, netcode.ToServer(), &cost{}), errs.ErrMisuse)
	s.Run(time.Second)
}

// Answers to calls that nobody made, or from another than who was asked, are dropped and counted: they may be late.
func TestAnswersToNoCallAreDropped(t *testing.T) {
	s := newShop(t, netcode.Config{})
	var answer wire.MessageType
	th := rig.NewThief(s.Rig, s.Server.Protocol())
	waiting := false
	require.NoError(t, netcode.Call(context.Background(), s.Server.Server, 1, &ping{1}, func(r *cost, err error) {
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Gold)
		waiting = true
	}))
	for id := wire.FirstUserMessage; id < wire.FirstUserMessage+4; id++ { // by name: chat, cost, ping, price
		if id == wire.FirstUserMessage+1 {
			answer = id
		}
	}
	for number := range byte(3) {
		th.Post(&peer.Post{Type: answer, Stage: tick.Update, Flags: wire.FlagCall, Call: uint16(number)}, []byte{9, 0, 0, 0})
		th.Post(&peer.Post{Type: wire.MessageRefusal, Stage: tick.Update, Flags: wire.FlagCall, Call: uint16(number)}, []byte("no"))
	}
	s.Until(func() bool { return waiting })
	s.Run(100 * time.Millisecond)
	require.EqualValues(t, 6, s.Server.Stats().LateAnswers)
	require.Len(t, s.Server.Log, 2, "nobody is closed for it")
}

func TestOneAnswerForSeveralQuestions(t *testing.T) {
	one, other := netcode.NewProtocol(), netcode.NewProtocol()
	netcode.Answer[price, cost](one, nil)
	netcode.Answer[ping, cost](one, nil)
	netcode.Answer[ping, cost](other, nil)
	netcode.Answer[price, cost](other, nil)
	require.Equal(t, one.Hash(), other.Hash(), "in any order")
	require.Panics(t, func() { netcode.Answer[price, cost](one, nil) }, "frozen")
	p := netcode.NewProtocol()
	netcode.Answer[price, cost](p, nil)
	require.Panics(t, func() { netcode.Answer[price, cost](p, nil) }, "twice")
	require.Panics(t, func() { netcode.Handle[cost](p, nil) }, "an answer is no message by itself")
	require.NotEqual(t, one.Hash(), p.Hash())
	plain := netcode.NewProtocol()
	netcode.Handle[price](plain, nil, netcode.Over(netcode.Reliable))
	netcode.Handle[cost](plain, nil, netcode.Over(netcode.Reliable))
	require.NotEqual(t, p.Hash(), plain.Hash(), "the hash knows questions from messages")
}

// A side that registered nil answers nothing: the question is not heard there.
func TestUnansweredCallMeetsItsDeadline(t *testing.T) {
	p := protocol()
	netcode.Answer[ping, cost](p, nil)
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	var got error
	require.NoError(t, netcode.Call(context.Background(), c.Client, 0, &ping{}, func(_ *cost, err error) { got = err }, netcode.Within(time.Second)))
	r.Until(func() bool { return got != nil })
	var refused *errs.CallError
	require.ErrorAs(t, got, &refused)
	require.True(t, strings.Contains(refused.Text, "nobody"), refused.Text)
}

// The longest deadline that there is, is one: what is added to it does not go round.
func TestTheLongestTimesAreLong(t *testing.T) {
	s := newShop(t, netcode.Config{FlushTimeout: math.MaxInt64})
	got := s.call(context.Background(), 3, netcode.Within(math.MaxInt64))
	least := s.call(context.Background(), 3, netcode.Within(math.MinInt64))
	s.Run(time.Second)
	require.Equal(t, []string{"6"}, *got)
	require.Equal(t, []string{errs.ErrDeadline.Error()}, *least)

	c := s.Clients[0].Client
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{1}, netcode.NotBefore(math.MinInt64)), "long past")
	require.ErrorContains(t, netcode.Send(c, netcode.ToServer(), &chat{1}, netcode.NotBefore(math.MaxInt64)), "the tick is too far ahead")

	require.NoError(t, netcode.Send(s.Server.Server, netcode.To(c.ID()), &chat{1}, netcode.Over(netcode.Reliable)))
	s.Server.Close(0)
	s.Run(time.Second)
	require.Zero(t, s.Server.Stats().FlushesCut, "what waits is delivered first")
	require.Equal(t, netcode.Disconnected, c.State())
}

// nameless and its answer are a question that each end answers in its own way.
type nameless struct{ Number uint16 }

type named struct{ Of, Number uint16 }

// Six bots in one process, a host's player and a server made after its game are written alike: each has the handlers and the answers that were bound
// to it, and no other's.
func TestEndsOfOneProcessAnswerEachInItsOwnWay(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable))
	netcode.Answer[nameless, named](p, nil)
	r := rig.New(t, p, netcode.Config{})
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
	play("server", 100, r.Server.Server)
	names := map[netcode.ClientID]string{}
	for i := range 6 {
		bot := r.Joined(p, netcode.Config{})
		names[bot.ID()] = fmt.Sprintf("bot %d", bot.ID())
		play(names[bot.ID()], uint16(bot.ID()), bot.Client)
		require.EqualValues(t, i+1, bot.ID())
	}
	host, err := netcode.NewClient(p, netcode.Config{Random: rig.Random(77)})
	require.NoError(t, err)
	require.NoError(t, netcode.Host(r.Server.Server, host))
	play("host", 7, host)
	hosting := func() {
		steps.OfClient(host).BeginFrame(r.Now)
		for stage := range tick.Stage(tick.NumStages) {
			steps.OfClient(host).Dispatch(stage)
		}
		steps.OfClient(host).Send()
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
	for i, bot := range r.Clients {
		ask(r.Server.Server, bot.ID(), fmt.Sprint("server to ", bot.ID()), 1000)
		ask(bot.Client, 0, fmt.Sprint(bot.ID(), " to server"), uint16(2000+i))
	}
	ask(r.Server.Server, host.ID(), "server to host", 1000)
	ask(host, 0, "host to server", 3000)
	ask(r.Server.Server, 3, "server to 3 about 13", 13)
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), &chat{5}))
	require.NoError(t, netcode.Send(r.Clients[2].Client, netcode.ToServer(), &chat{6}))
	for range 60 {
		r.Step()
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
	var refused *errs.CallError
	failed, _ := answers["server to 3 about 13"].(error)
	require.True(t, errors.As(failed, &refused))
	require.Equal(t, "bot 3 does not answer that", refused.Text)
}

// The newest function of an end answers, in place of that of the protocol.
func TestOnCallReplacesTheAnswerOfTheProtocol(t *testing.T) {
	p := protocol()
	netcode.Answer(p, func(_ *netcode.Context, _ *nameless, a *named) error { a.Of = 1; return nil })
	r := rig.New(t, p, netcode.Config{})
	one, two := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
	for of := range uint16(2) {
		netcode.OnCall(two.Client, func(_ *netcode.Context, _ *nameless, a *named) error { a.Of = 2 + of; return nil })
	}
	got := map[netcode.ClientID]uint16{}
	for _, c := range []*rig.ClientEnd{one, two} {
		require.NoError(t, netcode.Call(t.Context(), r.Server.Server, c.ID(), &nameless{}, func(a *named, err error) {
			require.NoError(t, err)
			got[c.ID()] = a.Of
		}))
	}
	r.Run(time.Second)
	require.Equal(t, map[netcode.ClientID]uint16{1: 1, 2: 3}, got)
}

func TestOnCallNeedsARegisteredQuestion(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil)
	netcode.Answer[nameless, named](p, nil)
	end := rig.New(t, p, netcode.Config{}).Server.Server
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
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	netcode.OnCall(r.Server.Server, func(_ *netcode.Context, _ *nameless, a *named) error { a.Of = 9; return nil })
	own, theirs := r.Spawn(1), r.Spawn(2)
	r.Server.SetOwner(own, c.ID())
	r.Sees(c, own, 1)
	r.Sees(c, theirs, 2)
	var told []error
	for _, id := range []netcode.NetworkID{own, theirs} {
		require.NoError(t, netcode.Call(t.Context(), c.Client, 0, &nameless{}, func(_ *named, err error) { told = append(told, err) }, netcode.About(id)))
		r.Run(time.Second)
	}
	require.Len(t, told, 2)
	require.NoError(t, told[0])
	require.ErrorContains(t, told[1], "does not belong to the caller")
}
