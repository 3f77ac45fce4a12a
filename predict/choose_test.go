package predict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// The server keeps the newest 32 choices of a client.
func TestChoicesAreBounded(t *testing.T) {
	r := &resting{}
	for i := range uint32(100) {
		r.choose(netcode.NetworkID{Index: i, Generation: 1}, true)
	}
	require.Len(t, r.also, 32)
	require.EqualValues(t, 68, r.also[0].Index)
	r.choose(netcode.NetworkID{Index: 70, Generation: 1}, true)
	r.choose(netcode.NetworkID{Index: 71, Generation: 1}, false)
	require.Len(t, r.also, 31)
	require.EqualValues(t, 70, r.also[30].Index, "it is the newest now")
}
