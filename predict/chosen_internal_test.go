package predict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// The server keeps the newest 32 choices of a client.
func TestChoicesAreBounded(t *testing.T) {
	var list chosenEntities
	for i := range uint32(100) {
		list.choose(netcode.NetworkID{Index: i, Generation: 1}, true)
	}
	require.Len(t, list, 32)
	require.EqualValues(t, 68, list[0].Index)
	list.choose(netcode.NetworkID{Index: 70, Generation: 1}, true)
	list.choose(netcode.NetworkID{Index: 71, Generation: 1}, false)
	require.Len(t, list, 31)
	require.EqualValues(t, 70, list[30].Index, "it is the newest now")
}
