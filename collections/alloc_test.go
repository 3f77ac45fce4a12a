package collections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sinkLink accepts everything and stores nothing.
type sinkLink struct {
	fakeLink
	bytes int
}

func (l *sinkLink) Push(_ wire.NetworkID, body []byte) error {
	l.bytes += len(body)
	return nil
}

// Once warm, operations, sending them and applying them at the client allocate nothing. Without operations nothing is
// sent.
func TestOperationsAllocateNothing(t *testing.T) {
	made := defs(t, 300)
	id := wire.NetworkID{Index: 1, Generation: 1}
	origin, reader, mirror := newOrigin(made), newReader(), newMirror(made)
	link := &sinkLink{fakeLink: fakeLink{
		life: map[wire.NetworkID]tick.Tick{id: 1}, held: map[wire.NetworkID]tick.Tick{id: 1}, limit: 1000,
		named: map[wire.NetworkID]bool{},
	}}
	direct := &directLink{sinkLink: link, mirror: mirror, t: t}
	told := 0
	mirror.Tell = func(*definition, *change) { told++ }
	n := uint32(0)
	row, entry := make([]uint32, 3), make([]uint32, 2)
	play := func() {
		list, _ := origin.Make(0, id)
		table, _ := origin.Make(2, id)
		for range 10 {
			n++
			row[0], row[1], row[2] = n%300, n%7, 1
			_ = list.Insert(int(n)%(list.Rows().Len()+1), row)
			_ = list.Set(int(n)%list.Rows().Len(), row)
			if list.Rows().Len() > 200 {
				_ = list.Remove(int(n) % list.Rows().Len())
			}
			entry[0], entry[1] = n%50, n
			if at, found := table.Rows().Find(entry[:1]); found {
				_ = table.Set(at, entry)
			} else {
				_ = table.Insert(at, entry)
			}
		}
		for _, c := range origin.Dirty() {
			reader.Follow(c, direct)
		}
		origin.Settle()
		reader.Fill(direct)
	}
	for range 300 {
		play()
	}
	before, heard := link.bytes, told
	alloctest.Zero(t, 100, play)
	require.Greater(t, link.bytes, before)
	require.Greater(t, told, heard+1000)

	before = link.bytes
	alloctest.Zero(t, 100, func() {
		for _, c := range origin.Dirty() {
			reader.Follow(c, direct)
		}
		origin.Settle()
		reader.Fill(direct)
	})
	require.Equal(t, before, link.bytes)
}

// directLink delivers at once.
type directLink struct {
	*sinkLink
	mirror *mirror
	t      *testing.T
}

func (l *directLink) Push(id wire.NetworkID, body []byte) error {
	if err := l.mirror.Apply(id, body); err != nil {
		l.t.Error(err)
	}
	return l.sinkLink.Push(id, body)
}
