package record

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Notes are read with their tick; a reader that ignores them reads the rows.
func TestNotesBelongToATick(t *testing.T) {
	g := newGame(t, 4, types(touched{})...)
	for f := range 11 {
		g.store.Begin(tick.Tick(f + 1))
		put(g.store, (&cast{}).id(g.store, 0), touched{f%2 == 0})
		require.Equal(t, f%4 == 0, g.writer.Begins())
		for n := range f % 3 {
			g.writer.Note(uint64(100+n), bytes.Repeat([]byte{byte(f)}, f*n))
		}
		g.commit(t)
	}
	require.NoError(t, g.writer.Close())
	r, err := NewReader(bytes.NewReader(g.out.Bytes()))
	require.NoError(t, err)
	for f := range 11 {
		_, err := r.Next()
		require.NoError(t, err)
		g.check(t, r, f)
		require.Len(t, r.Notes(), f%3)
		for n, note := range r.Notes() {
			require.EqualValues(t, 100+n, note.Kind)
			require.Equal(t, bytes.Repeat([]byte{byte(f)}, f*n), append([]byte{}, note.Body...))
		}
	}
	_, err = r.Next()
	require.Equal(t, io.EOF, err)
}

// A message note that Start cannot write is refused; a legal one encodes to the same bytes again.
func FuzzPosted(f *testing.F) {
	for _, m := range []extend.Posted{
		{All: true}, {All: true, But: 7}, {Seers: netcode.NetworkID{Index: 9, Generation: 2}}, {Clients: []netcode.ClientID{1, 300}, AtOnce: true},
		{Message: message.Message{Entity: netcode.NetworkID{Generation: 1}, NotBefore: 50}, AfterAll: true, Body: []byte{1, 2}},
	} {
		m.Type = wire.FirstUserMessage
		f.Add(appendPosted(nil, &m, 10))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, ok := readPosted(body, 10)
		if !ok {
			return
		}
		require.LessOrEqual(t, len(m.Clients), wire.MaxClients)
		m.Type += wire.FirstUserMessage
		require.Equal(t, body, appendPosted(nil, &m, 10))
	})
}

// Notes that Start cannot write are refused, and use no more memory than legal ones.
func FuzzNotes(f *testing.F) {
	f.Add([]byte{1, 5}, []byte{5, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0})
	f.Add([]byte{2, 9}, []byte{1, 0, 0})
	f.Add([]byte{0}, []byte{255, 255})
	f.Fuzz(func(t *testing.T, owners, views []byte) {
		r := &Reader{whole: true, notes: []Note{{noteOwners, owners}, {noteSights, views}, {99, views}}}
		var all recorded
		if !all.read(r) {
			return
		}
		require.LessOrEqual(t, len(all.views), wire.MaxClients)
		for client, v := range all.views {
			require.NotZero(t, client)
			require.LessOrEqual(t, 8*len(v.visible), len(views))
		}
	})
}
