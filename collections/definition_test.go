package collections

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
