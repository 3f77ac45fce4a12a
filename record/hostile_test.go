package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Notes with more clients than a server allows are refused, so that a series of them cannot exhaust the reader's
// memory.
func TestMoreViewsThanClientsAreRefused(t *testing.T) {
	list := func(from, n int) (b []byte) {
		for i := range n {
			b = append(wire.AppendVarint(b, uint64(from+i)), 0, 0) // sees nobody
		}
		return b
	}
	r := &Reader{whole: true}
	var all recorded
	r.notes = []Note{{noteSights, list(1, wire.MaxClients)}}
	require.True(t, all.read(r))
	require.Len(t, all.views, wire.MaxClients)
	r.notes = []Note{{noteSights, list(1, wire.MaxClients+1)}}
	require.False(t, all.read(r))
	require.LessOrEqual(t, len(all.views), wire.MaxClients)
}

// A note of two bytes in a file takes many times that in memory.
func TestTooManyNotesOfATickAreRefused(t *testing.T) {
	for n, want := range map[int]bool{maxNotes: true, maxNotes + 1: false} {
		r := &Reader{raw: append(bytes.Repeat([]byte{9, 0}, n), 0)}
		require.Equal(t, want, r.readNotes())
		require.LessOrEqual(t, len(r.notes), maxNotes)
	}
}

type banded struct {
	X float32 `net:"min=-512,max=512,step=0.01"`
}

// Distance bands are derived from their components: rows of bands in a recording are ignored.
func TestRowsOfABandAreNotPlayed(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[banded](p, netcode.Bands(netcode.Band{Beyond: 50, Scale: 8}))
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 30})
	require.NoError(t, err)
	schema := server.Protocol().Schema()
	require.Equal(t, 2, schema.Rows())
	var file bytes.Buffer
	store := snapshot.NewStore(format.NewSchema(plansOf(schema)), snapshot.Config{}) // it does not know that the one is a band
	w, err := NewWriter(&file, Header{TickRate: 30, Entries: p.Description()}, store)
	require.NoError(t, err)
	store.Begin(1)
	id := store.Spawn()
	for row := range schema.Rows() {
		require.True(t, store.Set(id, row, make([]uint32, schema.Plan(row).Lanes())))
	}
	store.Commit()
	require.NoError(t, w.Tick())
	require.NoError(t, w.Close())

	r, err := NewReader(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	_, err = r.Next()
	require.NoError(t, err, "the reader takes them")
	player, err := Play(server, bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	steps.OfServer(server).BeginFrame(0)
	steps.OfServer(server).Send()
	id = player.ID(id)
	require.False(t, id.IsZero())
	require.Equal(t, 1, server.Store().Mask(id).Count())
	require.Equal(t, tick.Tick(1), player.Tick())
}

// The head of a chunk claims its sizes before anything is read or unpacked: what no Writer writes is refused there.
func TestSizesOfChunksAreBounded(t *testing.T) {
	head := func(stored, raw, ticks uint32) []byte {
		b := append([]byte(chunkMagic), make([]byte, chunkFixed-4)...)
		binary.LittleEndian.PutUint32(b[4:], stored)
		binary.LittleEndian.PutUint32(b[8:], raw)
		binary.LittleEndian.PutUint64(b[12:], 1)
		binary.LittleEndian.PutUint32(b[20:], ticks)
		binary.LittleEndian.PutUint32(b[24:], ticks)
		return b
	}
	for _, c := range []struct {
		stored, raw, ticks uint32
		legal              bool
	}{
		{maxRaw, maxRaw, maxTicks, true},
		{maxRaw + maxRaw/8, maxRaw, 1, true},
		{maxRaw, maxRaw + 1, 1, false},
		{maxRaw + maxRaw/8 + 1, maxRaw, 1, false},
		{1<<32 - 1, 1, 1, false},
		{1000, 1000 * maxShrink, 1, true},
		{1000, 1000*maxShrink + 1, 1, false},
		{maxRaw, maxRaw, maxTicks + 1, false},
	} {
		_, err := new(Reader).head(head(c.stored, c.raw, c.ticks))
		require.Equal(t, c.legal, err == nil, "%+v: %v", c, err)
		read, err := NewReader(bytes.NewReader(append(headerOf(t), head(c.stored, c.raw, c.ticks)...)))
		require.NoError(t, err)
		_, err = read.Next()
		require.Error(t, err)
		require.Equal(t, c.legal, errors.Is(err, ErrCut) && !strings.Contains(err.Error(), "claims"), "%+v: %v", c, err)
	}
}

// headerOf is a recording without a chunk.
func headerOf(t *testing.T) []byte {
	data := moving(t, 1).out.Bytes()
	return append([]byte{}, data[:chunksOf(t, data)[0]]...)
}

// A Writer writes chunks that its readers take: a new one begins at a quarter of the largest size.
func TestAWriterBoundsItsChunks(t *testing.T) {
	w := &Writer{rate: 30, ticks: 1, raw: maxRaw / 4}
	require.False(t, w.Begins())
	w.raw++
	require.True(t, w.Begins())
}
