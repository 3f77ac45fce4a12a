package collections

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
