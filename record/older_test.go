package record_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

type (
	olderPlace struct{ X float32 }
	newerPlace struct{ X, Y float32 }
	afterPlace struct{ Z uint16 }
)

// A server that supports an older build with fewer fields records the same bytes as one that does not.
func TestOlderBuildsAreNotRecorded(t *testing.T) {
	first := netcode.NewProtocol()
	netcode.Replicate[olderPlace](first, netcode.Named("place"))
	netcode.Replicate[afterPlace](first, netcode.Named("then"))
	var files [2]bytes.Buffer
	for i := range files {
		p := netcode.NewProtocol()
		netcode.Replicate[newerPlace](p, netcode.Named("place"))
		netcode.Replicate[afterPlace](p, netcode.Named("then"))
		if i == 1 {
			p.Support(first.Description())
		}
		schema := p.Schema()
		require.Equal(t, 2+i, schema.Rows())
		s := snapshot.NewStore(schema, snapshot.Config{})
		w, err := record.NewWriter(&files[i], record.Header{TickRate: 20, Entries: p.Description()}, s)
		require.NoError(t, err)
		for now := tick.Tick(1); now < 50; now++ {
			s.Begin(now)
			id := s.Spawn()
			s.Set(id, 0, []uint32{uint32(now), 7})
			s.Set(id, schema.Rows()-1, []uint32{uint32(now)})
			s.Commit()
			require.NoError(t, w.Tick())
		}
		require.NoError(t, w.Close())
	}
	require.Equal(t, files[0].Bytes(), files[1].Bytes())
}
