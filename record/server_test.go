package record_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
)

// One line on the server, and the world of every tick is in the file.
func TestServerRecords(t *testing.T) {
	r := rig.New(t, rig.Protocol(), netcode.Config{})
	var file bytes.Buffer
	require.PanicsWithValue(t, "netcode: record.Start: the writer is nil", func() { _, _ = record.Start(r.Server.Server, nil) })
	stop, err := record.Start(r.Server.Server, &file)
	require.NoError(t, err)
	_, err = record.Start(r.Server.Server, &file)
	require.ErrorIs(t, err, record.ErrRecording)
	c := r.Joined(rig.Protocol(), netcode.Config{})
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
	r := rig.New(t, rig.Protocol(), netcode.Config{})
	_, err := record.Start(r.Server.Server, &failing{})
	require.ErrorIs(t, err, errFull)
	stop, err := record.Start(r.Server.Server, &failing{after: 2})
	require.NoError(t, err)
	id := r.Spawn(1)
	c := r.Joined(rig.Protocol(), netcode.Config{})
	r.Run(5 * time.Second)
	require.Len(t, r.Server.Errors, 1)
	require.ErrorIs(t, r.Server.Errors[0], errFull)
	require.ErrorIs(t, stop(), errFull)
	x, ok := r.X(c, id)
	require.True(t, ok)
	require.Equal(t, float32(1), x)
}
