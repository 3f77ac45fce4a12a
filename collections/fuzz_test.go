package collections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// bodies returns the bodies that an origin sends about some contents, in order, with their entities.
func bodies(t require.TestingT, made []*definition) (sent [][]byte, origin *origin, id wire.NetworkID) {
	id = wire.NetworkID{Index: 3, Generation: 2}
	origin = newOrigin(made)
	link := &fakeLink{
		life: map[wire.NetworkID]tick.Tick{id: 1}, held: map[wire.NetworkID]tick.Tick{id: 1},
		named: map[wire.NetworkID]bool{{Index: 9, Generation: 4}: true}, limit: 64,
	}
	reader := newReader()
	flush := func() {
		for _, c := range origin.Dirty() {
			reader.Follow(c, link)
		}
		origin.Settle()
		for range 10 {
			reader.Fill(link)
			for _, m := range link.waiting {
				sent = append(sent, m.body)
			}
			link.waiting = nil
		}
	}
	list, fresh := origin.Make(0, id)
	require.True(t, fresh)
	set, _ := origin.Make(1, id)
	table, _ := origin.Make(2, id)
	for i := range uint32(20) {
		require.NoError(t, list.Insert(0, []uint32{i * 10, 9 * (i % 2), 4 * (i % 2)}))
		require.NoError(t, set.Insert(int(i), []uint32{100 + i}))
		require.NoError(t, table.Insert(int(i), []uint32{100 + i, i}))
	}
	flush()
	require.NoError(t, list.Set(1, []uint32{5, 8, 1}))
	require.NoError(t, list.Remove(0))
	require.NoError(t, set.Remove(19))
	require.NoError(t, table.Set(3, []uint32{103, 77}))
	flush()
	set.Clear()
	require.NoError(t, list.Insert(2, []uint32{300, 0, 0}))
	flush()
	return sent, origin, id
}

// No bytes cause a panic. A body that passes check decodes completely; its result is within the limits, and maps and
// sets stay in order.
func FuzzApply(f *testing.F) {
	made := defs(f, 30)
	sent, _, id := bodies(f, made)
	for _, body := range sent {
		f.Add(body)
	}
	f.Add([]byte{1, byte(opReset), byte(opInsert), 0, 1, 7, 7, byte(opWhole)})
	f.Add([]byte{0, byte(opReset), byte(opInsert), 0, 255, 255, 255})
	f.Add([]byte{1, byte(opReset), byte(opInsert), 0, 1, 7, 7, byte(opStop), byte(opWhole)})
	f.Fuzz(func(t *testing.T, body []byte) {
		c := newMirror(made)
		for _, before := range sent {
			require.NoError(t, c.Apply(id, before))
		}
		legal := check(made, body)
		err := c.Apply(id, body)
		if !legal {
			require.Error(t, err, "what check refuses Apply does not do to the end")
		}
		for number, d := range made {
			rows := c.Find(number, id)
			require.LessOrEqual(t, rows.Len(), d.Most())
			if err == nil && d.keys > 0 && rows != nil {
				require.True(t, rows.ordered(0, rows.Len(), d.keys))
			}
		}
	})
}

// A body that is cut between operations is legal; one that is cut anywhere else is not.
func TestCutBodies(t *testing.T) {
	made := defs(t, 30)
	sent, _, _ := bodies(t, made)
	whole, cut := 0, 0
	for _, body := range sent {
		require.True(t, check(made, body))
		ends := map[int]bool{}
		c, err := open(made, body)
		require.NoError(t, err)
		for c.more() {
			o, err := c.next()
			require.NoError(t, err)
			var row [maxLanes]uint32
			for o.kind.elements() && c.left > 0 {
				require.True(t, c.row(row[:c.def.plan.Lanes()]))
			}
			require.True(t, !o.kind.elements() || c.finish())
			ends[len(body)-len(c.rest)] = true
		}
		for n := range body {
			require.Equal(t, ends[n], check(made, body[:n]), "%x cut to %d", body, n)
			if ends[n] {
				whole++
			} else {
				cut++
			}
		}
	}
	require.Positive(t, whole)
	require.Positive(t, cut)
}

// Each of these differs from a legal body in one point.
func TestIllegalBodies(t *testing.T) {
	made := defs(t, 30)
	id := wire.NetworkID{Index: 1, Generation: 1}
	fresh := func() *mirror {
		c := newMirror(made)
		require.NoError(t, c.Apply(id, []byte{1, byte(opReset), byte(opInsert), 0, 1, 10, 20, byte(opWhole)}))
		return c
	}
	for name, body := range map[string][]byte{
		"nothing":                      {},
		"no operation":                 {1},
		"a type that does not exist":   {3, byte(opClear)},
		"an operation 0":               {1, 0},
		"an operation 8":               {1, 8},
		"no place":                     {1, byte(opRemove)},
		"no count":                     {1, byte(opRemove), 0},
		"a place beyond the limit":     {1, byte(opRemove), 30, 0},
		"a count beyond the limit":     {1, byte(opRemove), 0, 30},
		"both beyond it together":      {1, byte(opRemove), 10, 20},
		"too few elements":             {1, byte(opInsert), 2, 1, 5},
		"a number above its field's":   {0, byte(opInsert), 0, 0, 0xFF, 0x03},
		"padding that is not zero":     {0, byte(opInsert), 0, 0, 0x01, 0x10},
		"a long form of a short count": {1, byte(opRemove), 250, 0, 0, 1, 0},
	} {
		require.False(t, check(made, body), name)
		require.ErrorIs(t, fresh().Apply(id, body), errMalformed, name)
	}
	for name, body := range map[string][]byte{
		"removed where there is none":   {1, byte(opRemove), 1, 1},
		"set where there is none":       {1, byte(opSet), 2, 0, 30},
		"put in beyond the end":         {1, byte(opInsert), 3, 0, 30},
		"a set that is out of order":    {1, byte(opInsert), 2, 0, 15},
		"the same element twice":        {1, byte(opInsert), 1, 0, 10},
		"one that is out of order last": {1, byte(opInsert), 0, 0, 30},
		"another key in the same place": {1, byte(opSet), 0, 0, 11},
		"whole, and nothing had begun":  {1, byte(opWhole)},
	} {
		require.True(t, check(made, body), name)
		require.ErrorIs(t, fresh().Apply(id, body), errMalformed, name)
	}
	c := fresh()
	require.NoError(t, c.Apply(id, []byte{1, byte(opInsert), 2, 27, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
		49, 50, 51, 52, 53, 54, 55, 56, 57}))
	require.Equal(t, 30, c.Find(1, id).Len())
	require.ErrorIs(t, c.Apply(id, []byte{1, byte(opInsert), 0, 0, 1}), errMalformed, "one too many")
}

// After a stop no operation has an effect, not even a malformed one, until the collection starts anew. The shown
// contents stay.
func TestStop(t *testing.T) {
	made := defs(t, 30)
	c := newMirror(made)
	told := 0
	c.Tell = func(*definition, *change) { told++ }
	id := wire.NetworkID{Index: 1, Generation: 1}
	require.NoError(t, c.Apply(id, []byte{1, byte(opStop)}))
	require.Zero(t, c.Len(), "of nothing, there is nothing to stop")
	require.NoError(t, c.Apply(id, []byte{1, byte(opReset), byte(opInsert), 0, 1, 10, 20, byte(opWhole), byte(opInsert), 2, 0, 30}))
	require.Equal(t, 2, told)
	body := []byte{1, byte(opInsert), 2, 0, 40}
	blank(body)
	require.Equal(t, []byte{1, byte(opStop), byte(opStop), byte(opStop), byte(opStop)}, body)
	require.True(t, check(made, body))
	for _, body := range [][]byte{
		body, {1, byte(opInsert), 9, 0, 50}, {1, byte(opRemove), 9, 0}, {1, byte(opClear)}, {1, byte(opWhole)}, {1, byte(opSet), 0, 0, 9},
	} {
		require.NoError(t, c.Apply(id, body))
		require.Equal(t, 3, c.Find(1, id).Len())
	}
	require.Equal(t, 2, told)
	require.ErrorIs(t, c.Apply(id, []byte{1, byte(opInsert), 9, 3, 1}), errMalformed, "what has no effect is read all the same")
	require.NoError(t, c.Apply(id, []byte{1, byte(opReset), byte(opInsert), 0, 0, 10, byte(opStop), byte(opWhole)}))
	require.Equal(t, 3, c.Find(1, id).Len(), "what had begun to come was stopped")
	require.NoError(t, c.Apply(id, []byte{1, byte(opReset), byte(opInsert), 0, 0, 10, byte(opWhole), byte(opClear)}))
	require.Zero(t, c.Find(1, id).Len())
	require.Equal(t, 4, told)
}

// An operation for an earlier lifetime of an entity has no effect before the present one has arrived.
func TestStrayOperations(t *testing.T) {
	made := defs(t, 30)
	c := newMirror(made)
	told := 0
	c.Tell = func(*definition, *change) { told++ }
	first, second := wire.NetworkID{Index: 1, Generation: 1}, wire.NetworkID{Index: 1, Generation: 2}
	for _, body := range [][]byte{{1, byte(opInsert), 3, 0, 9}, {1, byte(opRemove), 3, 0}, {1, byte(opWhole)}, {1, byte(opClear)}} {
		require.NoError(t, c.Apply(first, body))
	}
	require.Zero(t, c.Len())
	require.NoError(t, c.Apply(first, []byte{1, byte(opReset), byte(opWhole)}))
	require.NotNil(t, c.Find(1, first))
	require.Equal(t, 1, told)
	require.NoError(t, c.Apply(second, []byte{1, byte(opReset)}))
	require.Nil(t, c.Find(1, first), "another entity has the index")
	require.Nil(t, c.Find(1, second), "not whole yet")
	require.Equal(t, 2, told, "the first one's is gone")
	c.Keep(1, second)
	c.Keep(1, wire.NetworkID{})
	c.TellGone()
	require.Equal(t, 2, told, "nobody had heard of it")
	require.Zero(t, c.Len())
}
