package netcode_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
)

// One line on the server, and the world of every tick is in the file.
func TestServerRecords(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{})
	var file bytes.Buffer
	require.PanicsWithValue(t, "netcode: record.Start: the writer is nil", func() { _, _ = record.Start(r.Server.Server, nil) })
	stop, err := record.Start(r.Server.Server, &file)
	require.NoError(t, err)
	_, err = record.Start(r.Server.Server, &file)
	require.ErrorIs(t, err, record.ErrRecording)
	c := r.Joined(protocol(), netcode.Config{})
	first, second := r.Spawn(1), r.Spawn(2)
	for x := range 50 {
		r.Change(func(store *snapshot.Store) { r.Set(store, first, float32(x)) })
	}
	r.Change(func(store *snapshot.Store) { store.Despawn(second) })
	r.Run(time.Second)
	require.NoError(t, stop())
	x, ok := r.X(c, first)
	require.True(t, ok)
	require.Equal(t, float32(49), x)

	reader, err := record.NewReader(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Equal(t, 30, reader.Header().TickRate)
	plans := reader.Plans()
	require.Len(t, plans, 2)
	for row, p := range plans {
		require.Equal(t, string(r.Server.Protocol().Schema().Plan(row).Describe(nil)), string(p.Describe(nil)))
	}
	ticks := 0
	for {
		now, err := reader.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, now, r.Server.Tick())
		ticks++
	}
	require.Greater(t, ticks, 60)
	generation, _ := reader.Entity(first.Index)
	require.Equal(t, first.Generation, generation)
	require.Equal(t, r.Server.Store().Row(first, 1), reader.Row(first.Index, 1))
	generation, _ = reader.Entity(second.Index)
	require.Zero(t, generation)

	stop, err = record.Start(r.Server.Server, &file) // another one may follow
	require.NoError(t, err)
	require.NoError(t, stop())
}

type failing struct{ after int }

var errFull = errors.New("disk full")

func (f *failing) Write(b []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A disk that is full ends the recording and not the game.
func TestRecordingEndsAtAnError(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{})
	_, err := record.Start(r.Server.Server, &failing{})
	require.ErrorIs(t, err, errFull)
	stop, err := record.Start(r.Server.Server, &failing{after: 2})
	require.NoError(t, err)
	id := r.Spawn(1)
	c := r.Joined(protocol(), netcode.Config{})
	r.Run(5 * time.Second)
	require.Len(t, r.Server.Errors, 1)
	require.ErrorIs(t, r.Server.Errors[0], errFull)
	require.ErrorIs(t, stop(), errFull)
	x, ok := r.X(c, id)
	require.True(t, ok)
	require.Equal(t, float32(1), x)
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
