package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/tick"
)

// numbered is a feature that sends a byte in each packet of a client, and notes the numbers at both ends.
type numbered struct{ written, taken []uint64 }

func (n *numbered) extend(p *netcode.Protocol) {
	p.Extend(netcode.Extension{Name: "numbered", ToServer: netcode.FreeSection, Client: n, Server: n})
}

func (n *numbered) Client(*netcode.Client) netcode.ClientHooks {
	return netcode.ClientHooks{Section: &netcode.ClientSection{
		Due: func(bool) bool { return true },
		Write: func(room []byte, packet uint64) int {
			if len(room) == 0 {
				return 0
			}
			n.written = append(n.written, packet)
			return 1
		},
	}}
}

func (n *numbered) Server(*netcode.Server) netcode.ServerHooks {
	return netcode.ServerHooks{Section: &netcode.ServerSection{
		Check: func(*netcode.Session, []byte) error { return nil },
		Take:  func(_ *netcode.Session, packet uint64, _ []byte) { n.taken = append(n.taken, packet) },
	}}
}

func TestTakeIsGivenTheNumberOfWrite(t *testing.T) {
	p, n := rig.Protocol(), &numbered{}
	n.extend(p)
	r := rig.New(t, p, netcode.Config{})
	r.Joined(p, netcode.Config{})
	r.Run(time.Second)
	require.Greater(t, len(n.taken), 10)
	require.IsIncreasing(t, n.taken)
	require.Subset(t, n.written, n.taken)
	require.EqualValues(t, 1, n.written[0])
}

// A client that leaves one host and plays at another begins anew.
func TestNumbersOfPacketsBeginAnewAtEachHost(t *testing.T) {
	p, n := netcode.NewProtocol(), &numbered{}
	n.extend(p)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	for range 2 {
		server, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		require.NoError(t, netcode.Host(server, client))
		n.taken = nil
		for frame := range 5 {
			now := time.Duration(frame+1) * time.Second
			server.BeginFrame(now)
			client.BeginFrame(now)
			for stage := range tick.Stage(tick.NumStages) {
				client.Dispatch(stage)
				server.Dispatch(stage)
			}
			client.Send()
			server.Send()
		}
		require.Equal(t, []uint64{1, 2, 3, 4, 5}, n.taken)
		client.Close()
	}
}
