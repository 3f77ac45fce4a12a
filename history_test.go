package netcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/message"
)

func TestHistoryOfMessages(t *testing.T) {
	k := newTalk(t, netcode.Config{History: 4}, 1)
	s, c := k.server.Server, k.clients[0]
	id := k.spawn(1)
	k.sees(c, id, 1)
	require.True(t, s.SetOwner(id, 1))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{41}))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &order{42}, netcode.About(id)))
	k.until(func() bool { return len(k.heard) == 2 })
	k.heard = nil
	require.NoError(t, netcode.Send(s, netcode.ToAll(), &chat{43}))
	k.step()

	text := string(inspect.AppendMessages(nil, s.Protocol(), s.ReceivedIn(1)))
	require.Contains(t, text, "1 at tick ")
	require.Contains(t, text, "chat on Unreliable 0, stage Update: Number=41")
	require.Contains(t, text, "order on ReliableOrdered 3, stage PreUpdate, about "+id.String()+": What=42")
	var numbers []int
	s.ReceivedIn(1).Each(func(r *message.Record) bool {
		require.True(t, r.Handled)
		require.EqualValues(t, 1, r.Peer)
		numbers = append(numbers, len(r.Payload))
		return true
	})
	require.Equal(t, []int{4, 4}, numbers)
	require.Contains(t, string(inspect.AppendMessages(nil, s.Protocol(), s.SentIn(1))), "Number=43")
	require.Nil(t, s.ReceivedIn(5))
	require.Nil(t, c.SentIn(0), "no history was asked for there")
	require.NotNil(t, c.ReceivedIn(0))

	k.heard = nil
	require.Equal(t, 2, s.Redeliver(1))
	require.ElementsMatch(t, []string{"0<1:41", "0<1:42"}, k.heard)
	require.Zero(t, c.Redeliver(3))
}
