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
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type price struct{ Item uint32 }

type cost struct{ Gold uint32 }

type ping struct{ Nonce uint32 }

// shop answers questions at the server, and pings everywhere.
type shop struct {
	*rig
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
	s.rig = newRig(t, p, config)
	s.joined(p, config)
	return s
}

// call asks and writes down what comes of it.
func (s *shop) call(ctx context.Context, item uint32, how ...netcode.How) *[]string {
	var got []string
	require.NoError(s.t, netcode.Call(ctx, s.clients[0].Client, 0, &price{item}, func(r *cost, err error) {
		if err != nil {
			require.Nil(s.t, r)
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
	s.until(func() bool { return len(*first)+len(*second)+len(*refused) == 3 })
	require.Equal(t, []string{"10"}, *first)
	require.Equal(t, []string{"12"}, *second)
	require.Equal(t, []string{"netcode: the call was refused: we do not sell?that here"}, *refused)
	require.Equal(t, []string{"1 asks 5", "1 asks 6", "1 asks 13"}, s.asked)

	var answers []uint32
	hear := func(r *cost, err error) {
		require.NoError(t, err)
		answers = append(answers, r.Gold)
	}
	require.NoError(t, netcode.Call(context.Background(), s.server.Server, 1, &ping{7}, hear, netcode.InStage(netcode.StageEarlyUpdate)))
	require.NoError(t, netcode.Call(context.Background(), s.clients[0].Client, 0, &ping{8}, hear))
	require.NoError(t, netcode.Call(context.Background(), s.server.Server, 0, &ping{9}, hear), "itself")
	s.until(func() bool { return len(answers) == 3 })
	require.ElementsMatch(t, []uint32{7, 8, 9}, answers)
}

func TestCallOverABadLink(t *testing.T) {
	s := newShop(t, netcode.Config{SendBudget: -1})
	s.tamper = lossy(5, 40)
	answers := 0
	for i := range uint32(200) {
		require.NoError(t, netcode.Call(context.Background(), s.clients[0].Client, 0, &price{100 + i}, func(r *cost, err error) {
			require.NoError(t, err)
			require.Equal(t, 2*(100+i), r.Gold)
			answers++
		}, netcode.Within(time.Minute)))
		s.step()
	}
	s.until(func() bool { return answers == 200 })
	require.Len(t, s.asked, 200, "exactly once")
}

func TestCallEndsWithoutAnAnswer(t *testing.T) {
	s := newShop(t, netcode.Config{Calls: 3})
	c := s.clients[0]
	s.tamper = lossy(1, 100)
	ctx, cancel := context.WithCancel(context.Background())
	late, cancelled, gone := s.call(context.Background(), 1, netcode.Within(time.Second)), s.call(ctx, 2), s.call(context.Background(), 3, netcode.Within(time.Hour))
	require.ErrorIs(t, netcode.Call(ctx, c.Client, 0, &price{4}, func(*cost, error) { t.Error("not told") }), netcode.ErrTooManyCalls)
	require.EqualValues(t, 1, c.Stats().CallsFull)
	s.run(500 * time.Millisecond)
	require.Empty(t, *cancelled)
	cancel()
	s.run(frameTime)
	require.Equal(t, []string{"context canceled"}, *cancelled)
	require.Empty(t, *late)
	s.run(600 * time.Millisecond)
	require.Equal(t, []string{netcode.ErrDeadline.Error()}, *late)
	s.tamper = nil
	s.run(2 * time.Second)
	require.Equal(t, []string{"6"}, *gone)
	require.EqualValues(t, 2, c.Stats().LateAnswers, "the two that nobody waits for any more")
	require.EqualValues(t, 1, c.Stats().CallsLate)
	require.EqualValues(t, 1, c.Stats().CallsCancelled)

	s.tamper = lossy(1, 100)
	gone = s.call(context.Background(), 3, netcode.Within(time.Hour))
	s.run(time.Second)
	s.until(func() bool { return len(*gone) == 1 })
	require.Equal(t, []string{"timed out"}, *gone, "the reason of the end of the connection")
}

func TestErrorsOfCall(t *testing.T) {
	s := newShop(t, netcode.Config{})
	c, background := s.clients[0].Client, context.Background()
	never := func(*cost, error) { t.Error("not told") }
	require.ErrorIs(t, netcode.Call(background, nil, 0, &price{}, never), netcode.ErrNoEnd)
	require.ErrorIs(t, netcode.Call(background, c, 5, &price{}, never), netcode.ErrRecipient)
	require.ErrorIs(t, netcode.Call(background, s.server.Server, 5, &ping{}, never), netcode.ErrNotConnected)
	require.ErrorIs(t, netcode.Call(background, s.server.Server, 1, &price{}, never), netcode.ErrDirection)
	require.ErrorIs(t, netcode.Call(background, c, 0, &wave{}, never), netcode.ErrNotRegistered)
	require.ErrorIs(t, netcode.Call(background, c, 0, &price{}, func(*chat, error) {}), netcode.ErrQuestion, "that is no answer to it")
	require.ErrorIs(t, netcode.Send(c, netcode.ToServer(), &price{}), netcode.ErrQuestion)
	require.ErrorIs(t, netcode.Send(c, netcode.ToServer(), &cost{}), netcode.ErrQuestion)
	s.run(time.Second)
}

// Answers to calls that nobody made, or from another than who was asked, are dropped and counted: they may be late.
func TestAnswersToNoCallAreDropped(t *testing.T) {
	s := newShop(t, netcode.Config{})
	var answer wire.MessageType
	th := newThief(t, s.rig, s.server.Protocol())
	waiting := false
	require.NoError(t, netcode.Call(context.Background(), s.server.Server, 1, &ping{1}, func(r *cost, err error) {
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
		th.post(&peer.Post{Type: answer, Stage: tick.Update, Flags: wire.FlagCall, Call: uint16(number)}, []byte{9, 0, 0, 0})
		th.post(&peer.Post{Type: wire.MessageRefusal, Stage: tick.Update, Flags: wire.FlagCall, Call: uint16(number)}, []byte("no"))
	}
	s.until(func() bool { return waiting })
	s.run(100 * time.Millisecond)
	require.EqualValues(t, 6, s.server.Stats().LateAnswers)
	require.Len(t, s.server.log, 2, "nobody is closed for it")
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
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	var got error
	require.NoError(t, netcode.Call(context.Background(), c.Client, 0, &ping{}, func(_ *cost, err error) { got = err }, netcode.Within(time.Second)))
	r.until(func() bool { return got != nil })
	var refused *netcode.CallError
	require.ErrorAs(t, got, &refused)
	require.True(t, strings.Contains(refused.Text, "nobody"), refused.Text)
}

// The longest deadline that there is, is one: what is added to it does not go round.
func TestTheLongestTimesAreLong(t *testing.T) {
	s := newShop(t, netcode.Config{FlushTimeout: math.MaxInt64})
	got := s.call(context.Background(), 3, netcode.Within(math.MaxInt64))
	least := s.call(context.Background(), 3, netcode.Within(math.MinInt64))
	s.run(time.Second)
	require.Equal(t, []string{"6"}, *got)
	require.Equal(t, []string{netcode.ErrDeadline.Error()}, *least)

	c := s.clients[0].Client
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &chat{1}, netcode.NotBefore(math.MinInt64)), "long past")
	require.ErrorIs(t, netcode.Send(c, netcode.ToServer(), &chat{1}, netcode.NotBefore(math.MaxInt64)), netcode.ErrTooFar)

	require.NoError(t, netcode.Send(s.server.Server, netcode.To(c.ID()), &chat{1}, netcode.Via(netcode.Reliable)))
	s.server.Close(0)
	s.run(time.Second)
	require.Zero(t, s.server.Stats().FlushesCut, "what waits is delivered first")
	require.Equal(t, netcode.Disconnected, c.State())
}
