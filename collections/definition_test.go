package collections

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestDescribe(t *testing.T) {
	made := defs(t, 30)
	for i, want := range []string{
		"list{list;most:30;element{Number:u16[0,300];Of:entity}}",
		"set{set;most:30;key:1;element{value:i8}}",
		"map{map;most:30;key:1;element{Key:i8;Value:u32}}",
	} {
		require.Equal(t, want, string(made[i].Describe(nil)))
		require.Equal(t, []kind{kindList, kindSet, kindMap}[i], made[i].Kind())
	}
	require.Equal(t, "kind(3)", kind(3).String())
	require.Equal(t, "unknown", ChangeKind(8).String())
	require.Equal(t, "gone", ChangeGone.String())
}

func TestLimits(t *testing.T) {
	for name, limits := range map[string]limits{
		"negative elements": {Elements: -1}, "too many elements": {Elements: maxElements + 1},
		"negative bytes": {Bytes: -1}, "too many bytes": {Bytes: maxBytes + 1}, "less than one element": {Bytes: 3},
	} {
		_, err := newDefinition(kindList, "x", reflect.TypeFor[uint32](), nil, limits)
		require.Error(t, err, name)
	}
	d, err := newDefinition(kindList, "x", reflect.TypeFor[uint32](), nil, limits{Bytes: 47})
	require.NoError(t, err)
	require.Equal(t, 11, d.Most())
	require.Equal(t, limits{Elements: 1024, Bytes: 47}, d.Limits())
}

func TestTypesThatAreNoElements(t *testing.T) {
	type handle struct{ Index, Generation uint32 }
	for name, at := range map[string]struct{ element, key reflect.Type }{
		"a pointer": {reflect.TypeFor[*int](), nil},
		"nothing":   {reflect.TypeFor[struct{}](), nil},
		"a handle": {reflect.TypeFor[struct {
			Of handle `net:"entity"`
		}](), nil},
		"a large one": {reflect.TypeFor[[300]uint32](), nil},
		"more bytes":  {reflect.TypeFor[[129]uint64](), nil},
		"many names": {reflect.TypeFor[struct {
			Of [33]wire.NetworkID `net:"entity"`
		}](), nil},
		"a key that names":     {reflect.TypeFor[item](), reflect.TypeFor[item]()},
		"a key of nothing":     {reflect.TypeFor[pair](), reflect.TypeFor[struct{}]()},
		"a key with a pointer": {reflect.TypeFor[pair](), reflect.TypeFor[string]()},
	} {
		_, err := newDefinition(kindMap, "x", at.element, at.key, limits{})
		require.Error(t, err, name)
	}
}

// Many operations on few elements are not sent one by one, because the whole collection is shorter.
func TestJournalOfMoreThanTheWhole(t *testing.T) {
	var j journal
	for i := range 1000 {
		j.add(op{kind: opSet, at: i % 2 * 5, count: 1}, []uint32{1}, 10)
	}
	require.True(t, j.over)
	require.LessOrEqual(t, len(j.ops), 10+journalLeast)
	j.clear()
	require.False(t, j.over)
	for i := range 1000 {
		j.add(op{kind: opInsert, at: i, count: 1}, []uint32{uint32(i)}, i)
	}
	require.False(t, j.over)
	require.Equal(t, []op{{kind: opInsert, at: 0, count: 1000}}, j.ops, "neighbours are one operation")
	j.clear()
	for range 5 {
		j.add(op{kind: opRemove, at: 4, count: 1}, nil, 10)
	}
	require.Equal(t, []op{{kind: opRemove, at: 4, count: 5}}, j.ops)
}

// A client that was in step gets the whole collection, in few bodies, if the operations would be longer.
func TestManyOperationsComeAsTheWhole(t *testing.T) {
	made := defs(t, 30)
	id := wire.NetworkID{Index: 1, Generation: 1}
	origin, reader, mirror := newOrigin(made), newReader(), newMirror(made)
	link := &fakeLink{life: map[wire.NetworkID]tick.Tick{id: 1}, held: map[wire.NetworkID]tick.Tick{id: 1}, limit: 1000}
	var told []ChangeKind
	mirror.Tell = func(_ *definition, e *change) { told = append(told, e.Kind) }
	flush := func() {
		for _, c := range origin.Dirty() {
			reader.Follow(c, link)
		}
		origin.Settle()
		reader.Fill(link)
		for _, m := range link.waiting {
			require.NoError(t, mirror.Apply(m.id, m.body))
		}
		link.waiting = nil
	}
	table, _ := origin.Make(2, id)
	for key := range uint32(3) {
		require.NoError(t, table.Insert(int(key), []uint32{key, 0}))
	}
	flush()
	for i := range uint32(500) {
		require.NoError(t, table.Set(int(i%3), []uint32{i % 3, i + 1}))
	}
	flush()
	require.Equal(t, []ChangeKind{ChangeWhole, ChangeWhole}, told)
	require.Equal(t, all(table.Rows()), all(mirror.Find(2, id)))
}

func TestDump(t *testing.T) {
	made := defs(t, 30)
	for want, body := range map[string][]byte{
		"set reset insert 0+2 value=-118 value=-108 whole": {1, byte(opReset), byte(opInsert), 0, 1, 10, 20, byte(opWhole)},
		"map set 3+1 Key=-123 Value=7 remove 4+2":          {2, byte(opSet), 3, 0, 5, 7, 0, 0, 0, byte(opRemove), 4, 1},
		"list clear":           {0, byte(opClear)},
		"list 08 is not legal": {0, 8},
		"09 is not legal":      {9},
	} {
		require.Equal(t, want, string(appendDump(made, nil, body)))
	}
	sent, _, _ := bodies(t, made)
	for _, body := range sent {
		for n := range len(body) + 1 {
			said := strings.Contains(string(appendDump(made, nil, body[:n])), "is not legal")
			require.Equal(t, !check(made, body[:n]), said)
		}
	}
	require.Equal(t, "unknown", opcode(9).String())
}
