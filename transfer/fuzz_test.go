package transfer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/nettest"
)

// FuzzMessages gives a server messages in any order from a client that answers nothing: what it keeps stays within the bounds, and an
// illegal message is an error.
func FuzzMessages(f *testing.F) {
	f.Add([]byte{0, 1, 3, 1, 1, 2, 1, 1, 1})
	f.Add([]byte{0, 1, 0, 0, 2, 0, 0, 3, 200, 3, 1, 0, 2, 1, 5})
	f.Fuzz(func(t *testing.T, script []byte) {
		p := netcode.NewProtocol()
		Register(p, Config{FromClient: 1000, AtOnce: 3})
		server, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		e, ok := extend.ExtensionOf[*end](server)
		require.True(t, ok)
		done := 0
		On(server, Handler{Done: func(r *Receiving, data []byte) { done++; require.Len(t, data, r.size) }})
		from := &peerState{id: 7}
		from.sending = []*Sending{{end: e, to: from, id: 1, data: make([]byte, 50), begun: true, sent: 20}}
		next := func() (b int) {
			if len(script) > 0 {
				b, script = int(script[0]), script[1:]
			}
			return b
		}
		for len(script) > 0 {
			var err error
			switch next() % 4 {
			case 0:
				err = e.begun(from, &begin{ID: uint32(next()), Size: uint32(next() * 8)})
			case 1:
				err = e.came(from, &piece{ID: uint32(next()), Data: make([]byte, next()*2)})
			case 2:
				err = e.confirmed(from, &got{ID: uint32(next()), Bytes: uint32(next())})
			case 3:
				err = e.stopped(from, &stop{ID: uint32(next()), Sender: next()%2 == 0})
			}
			if err != nil {
				require.ErrorIs(t, err, errMessage)
				return
			}
			bytes := 0
			for _, r := range from.receiving {
				bytes += len(r.data)
				require.Less(t, len(r.data), max(r.size, 1))
			}
			require.LessOrEqual(t, len(from.receiving), 3)
			require.LessOrEqual(t, bytes, 3000)
		}
	})
}

// A client that sends more than it announced, or too many at once, gets an error and no memory.
func TestHostileMessages(t *testing.T) {
	p := netcode.NewProtocol()
	Register(p, Config{FromClient: 1000, AtOnce: 3})
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	e, _ := extend.ExtensionOf[*end](server)
	On(server, Handler{})
	from := &peerState{id: 7}
	for id := range uint32(6) {
		require.NoError(t, e.begun(from, &begin{ID: id + 1, Size: 100}))
	}
	require.Len(t, from.receiving, 3)
	require.NoError(t, e.came(from, &piece{ID: 1, Data: make([]byte, 60)}))
	require.ErrorIs(t, e.came(from, &piece{ID: 1, Data: make([]byte, 60)}), errMessage)
	require.ErrorIs(t, e.came(from, &piece{ID: 9, Data: make([]byte, 1)}), errMessage)
	require.ErrorIs(t, e.begun(from, &begin{ID: 6, Size: 1}), errMessage)
	require.NoError(t, e.begun(from, &begin{ID: 7, Size: 1001}), "refused, not ended")
	require.Len(t, from.receiving, 3)
}

// A receiver that confirms more than was sent, or less than before, gets an error: the sender would send on without a bound, or end with
// what nobody has.
func TestHostileConfirmations(t *testing.T) {
	p := netcode.NewProtocol()
	Register(p, Config{FromServer: 1000})
	server, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	e, _ := extend.ExtensionOf[*end](server)
	to := &peerState{id: 7}
	s := &Sending{end: e, to: to, id: 1, data: make([]byte, 1000), begun: true, sent: 480}
	to.sending = []*Sending{s}
	require.NoError(t, e.confirmed(to, &got{ID: 1, Bytes: 400}))
	for _, bytes := range []uint32{481, 1000, 1 << 31, 399} {
		require.ErrorIs(t, e.confirmed(to, &got{ID: 1, Bytes: bytes}), errMessage, "%d", bytes)
		require.False(t, s.Over())
		require.Equal(t, 400, s.confirmed)
	}
	require.NoError(t, e.confirmed(to, &got{ID: 1, Bytes: 480}))
	require.NoError(t, e.confirmed(to, &got{ID: 2, Bytes: 5000}), "it may have been cancelled meanwhile")
	s.begun = false
	require.ErrorIs(t, e.confirmed(to, &got{ID: 1, Bytes: 480}), errMessage)
}

// Answers that find no room wait, 256 of them. One more ends the connection of a client that begins transfers and takes no message.
func TestAnswersThatDoNotLeaveEndTheConnection(t *testing.T) {
	type filler struct{ Byte uint8 }
	p := netcode.NewProtocol()
	Register(p, Config{FromClient: 1000, AtOnce: 1})
	netcode.Handle[filler](p, nil, netcode.Over(netcode.Reliable))
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1})
	require.True(t, n.RunUntil(time.Second, n.Connected))
	server, client := n.Server.Server, n.Clients[0].Client
	e, _ := extend.ExtensionOf[*end](server)
	from := e.peers[client.ID()]
	for netcode.Send(server, netcode.To(client.ID()), &filler{}) == nil {
	}
	for id := range uint32(mostAnswers) {
		require.NoError(t, e.begun(from, &begin{ID: id + 1, Size: 1}), "nobody takes transfers: a refusal")
		require.Len(t, from.answers, int(id)+1)
	}
	require.True(t, extend.OfServer(server).Session(client.ID()).Connected())
	require.NoError(t, e.begun(from, &begin{ID: mostAnswers + 1, Size: 1}))
	require.Len(t, from.answers, mostAnswers)
	n.Run(time.Second)
	require.ErrorIs(t, client.Err(), errs.ReasonQueueOverflow)
}

// Calls of the game cost time by their number: they run in their order, also those that others add.
func TestCallsOfAFrameAreInOrder(t *testing.T) {
	e, said := &end{}, []int{}
	for i := range 5 {
		e.later = append(e.later, func() {
			if said = append(said, i); i == 1 {
				e.later = append(e.later, func() { said = append(said, 9) })
			}
		})
	}
	e.tell()
	require.Equal(t, []int{0, 1, 2, 3, 4, 9}, said)
	require.Empty(t, e.later)
}
