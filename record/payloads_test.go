package record

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
)

// A recording has the tables that its payloads are coded by: a reader without the game's own reads it.
func TestARecordingHasItsTables(t *testing.T) {
	trainer := delta.NewTrainer()
	source := moving(t, 100)
	_, err := Learn(bytes.NewReader(source.out.Bytes()), 1, 101, delta.NewCounting(trainer, false), nil)
	require.NoError(t, err)
	trained, err := trainer.BuildKnown(1)
	require.NoError(t, err)
	own, err := trained.Find("place.0", 131, 252) // its class codes others
	require.NoError(t, err)
	class, err := delta.Shipped().Find(classOf(t, source.store.Schema()), own.Symbols(), own.Contexts())
	require.NoError(t, err)
	tables, err := delta.NewTables(own, class)
	require.NoError(t, err)
	schema, err := format.NewSchemaWith(plansOf(source.store.Schema()), tables.Over(delta.Shipped()))
	require.NoError(t, err)
	g := newGameOn(t, 10, snapshot.NewStore(schema, snapshot.Config{}))
	c := cast{}
	for f := range 30 {
		g.store.Begin(tick.Tick(f + 1))
		for n := range 8 {
			put(g.store, c.id(g.store, n), place{float32(f * n), float32(f), float32(n)})
		}
		g.commit(t)
	}
	require.NoError(t, g.writer.Close())
	r, err := NewReader(bytes.NewReader(g.out.Bytes()))
	require.NoError(t, err)
	for n := range g.ticks {
		_, err := r.Next()
		require.NoError(t, err)
		g.check(t, r, n)
	}
	require.Len(t, r.header.tables, 2, "that of a lane, and those of classes")
}

// classOf returns the name of the class of the first lane of component place.
func classOf(t *testing.T, schema *snapshot.Schema) string {
	asked := asking{}
	_, err := format.NewSchemaWith(plansOf(schema), asked)
	require.NoError(t, err)
	return asked["place.0"]
}

// asking is the shipped tables, and notes the class of each name.
type asking map[string]string

func (a asking) Table(name, class string, symbols, contexts int) (*delta.Table, error) {
	a[name] = class
	return delta.Shipped().Table(name, class, symbols, contexts)
}

// A chunk of few bytes cannot have a reader decode rows without end.
func TestVersionsOfAChunkAreBounded(t *testing.T) {
	data := moving(t, 10).out.Bytes()
	for _, most := range []int{1 << 20, 1 << 10} {
		r, err := NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		r.most = most
		for range 10 {
			if _, err = r.Next(); err != nil {
				break
			}
		}
		require.Equal(t, most == 1<<10, err != nil, err)
	}
}

// A recording is no client: its bits are not in the account of those to clients, and these get the same bytes.
func TestARecordingIsNoClient(t *testing.T) {
	var without [][]byte
	for _, recorded := range []bool{false, true} {
		g := newGame(t, 30, types(exactPlace{}, ample{})...)
		g.store.Count(true)
		views := make([]*snapshot.View, 3) // one more would share pages of exact floats
		for i := range views {
			views[i] = snapshot.NewView(g.store, snapshot.Config{Client: netcode.ClientID(i + 1)})
		}
		bits := format.NewBits(g.store.Schema())
		c, sent := cast{}, 0
		for now := range 40 {
			g.store.Begin(tick.Tick(now + 1))
			for n := range 6 {
				put(g.store, c.id(g.store, n), exactPlace{float32(now) / 3, float32(n), float32(now*n) / 7})
				put(g.store, c.id(g.store, n), ample{})
			}
			g.store.Commit()
			for i, view := range views {
				view.Observe()
				payload := make([]byte, 8000)
				payload = payload[:view.Write(payload, uint64(now+1))]
				if sent += len(payload); !recorded {
					without = append(without, payload)
				} else {
					require.Equal(t, without[3*now+i], payload, "tick %d", now)
				}
				if now > 3 {
					view.Acked(uint64(now - 2))
				}
			}
			if recorded {
				require.NoError(t, g.writer.Tick())
			}
		}
		g.store.TakeBits(bits)
		require.EqualValues(t, 8*sent, bits.Total())
	}
}
