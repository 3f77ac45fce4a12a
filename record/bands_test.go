package record_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// savedBefore, savedPlace and savedQuick are components; savedPlace has distance bands and is in the middle.
type (
	savedBefore struct{ V uint8 }
	savedPlace  struct {
		X float32 `net:"min=-512,max=512,step=0.01"`
	}
	savedQuick struct{ V uint16 }
)

// savedServer returns a server of a game whose component has some bands.
func savedServer(t *testing.T, bands ...netcode.Band) *netcode.Server {
	p := netcode.NewProtocol()
	netcode.Replicate[savedBefore](p)
	netcode.Replicate[savedQuick](p)
	if len(bands) == 0 {
		netcode.Replicate[savedPlace](p)
	} else {
		netcode.Replicate[savedPlace](p, netcode.Bands(bands...))
	}
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	return s
}

// captureOf commits a tick of a server without a world.
func captureOf(s *netcode.Server) {
	s.Store().Begin(s.Store().Tick() + 1)
	steps.OfServer(s).Publish()
	s.Store().Commit()
}

// TestSavedGamesKnowNoBands: saved games do not depend on bands, so a game may change its bands and read old files.
func TestSavedGamesKnowNoBands(t *testing.T) {
	var files [][]byte
	games := [][]netcode.Band{nil, {{Beyond: 10, Scale: 4}}, {{Beyond: 10, Scale: 8}, {Beyond: 20, Scale: 16, Every: 3}}}
	for _, bands := range games {
		s := savedServer(t, bands...)
		a, b := s.Spawn(), s.Spawn()
		require.NoError(t, netcode.Put(s, a, &savedPlace{X: 12.34}))
		require.NoError(t, netcode.Put(s, a, &savedQuick{V: 7}))
		require.NoError(t, netcode.Put(s, b, &savedBefore{V: 3}))
		captureOf(s)
		var out bytes.Buffer
		require.NoError(t, record.Save(s, &out))
		files = append(files, out.Bytes())
	}
	require.Equal(t, files[0], files[1])
	require.Equal(t, files[0], files[2])
	for _, bands := range games {
		s := savedServer(t, bands...)
		_, err := record.Load(s, bytes.NewReader(files[1]))
		require.NoError(t, err)
		captureOf(s)
		var again bytes.Buffer
		require.NoError(t, record.Save(s, &again))
		require.Equal(t, files[0], again.Bytes())
	}
}

// TestASavedBandIsRefused: a forged file cannot give an entity a band without its component.
func TestASavedBandIsRefused(t *testing.T) {
	banded := savedServer(t, netcode.Band{Beyond: 10, Scale: 4})
	schema := banded.Protocol().Schema()
	band := schema.Plan(schema.Coarse.Lowest())
	store := snapshot.NewStore(format.NewSchema([]*quantize.Plan{band}), snapshot.Config{})
	var forged bytes.Buffer
	w, err := record.NewWriter(&forged, record.Header{TickRate: 30, Entries: []string{"component " + string(band.Describe(nil))}}, store)
	require.NoError(t, err)
	store.Begin(1)
	store.Set(store.Spawn(), 0, make([]uint32, band.Lanes()))
	store.Commit()
	require.NoError(t, w.Tick())
	require.NoError(t, w.Close())
	_, err = record.Load(banded, &forged)
	require.ErrorIs(t, err, record.ErrProtocol)
}

// TestRecordingsOfGamesWithBands: the components of a header are read, although bands, writers and prediction follow
// their fields.
func TestRecordingsOfGamesWithBands(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[savedPlace](p, netcode.Bands(netcode.Band{Beyond: 10, Scale: 4}))
	netcode.Replicate[savedQuick](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[components.Predicted](p)
	netcode.Replicate[savedTurn](p)
	predict.Register[savedTurn](p)
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	var out bytes.Buffer
	stop, err := record.Start(s, &out)
	require.NoError(t, err)
	require.NoError(t, stop())
	r, err := record.NewReader(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	entries := strings.Join(r.Header().Entries, "\n")
	for _, tail := range []string{" of savedPlace\n", " predicted\n", "[owner]\n"} {
		require.Contains(t, entries, tail)
	}
	require.Len(t, r.Plans(), p.Schema().Rows())
	for row, plan := range r.Plans() {
		require.Equal(t, string(p.Schema().Plan(row).Describe(nil)), string(plan.Describe(nil)))
	}
}

// savedTurn is predicted; its description differs from its fields.
type savedTurn struct {
	A float32 `net:"angle,bits=10"`
}
