package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// numbered is a feature that sends a byte in each packet of a client, and notes the numbers at both ends.
type numbered struct{ written, taken []uint64 }

func (n *numbered) extend(p *netcode.Protocol) {
	extend.OfProtocol(p).Extend(extend.Extension{Name: "numbered", ToServer: extend.FreeSection, Client: n, Server: n})
}

func (n *numbered) Client(extend.Client) extend.ClientHooks {
	return extend.ClientHooks{Section: &extend.ClientSection{
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

func (n *numbered) Server(extend.Server) extend.ServerHooks {
	return extend.ServerHooks{Section: &extend.ServerSection{
		Check: func(extend.Session, []byte) error { return nil },
		Take:  func(_ extend.Session, packet uint64, _ []byte) { n.taken = append(n.taken, packet) },
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
			steps.OfServer(server).BeginFrame(now)
			steps.OfClient(client).BeginFrame(now)
			for stage := range tick.Stage(tick.NumStages) {
				steps.OfClient(client).Dispatch(stage)
				steps.OfServer(server).Dispatch(stage)
			}
			steps.OfClient(client).Send()
			steps.OfServer(server).Send()
		}
		require.Equal(t, []uint64{1, 2, 3, 4, 5}, n.taken)
		client.Close()
	}
}

// greedy is a feature that fills all room of each packet to a client.
type greedy struct{}

func (g greedy) Client(extend.Client) extend.ClientHooks {
	return extend.ClientHooks{Section: &extend.ClientSection{
		Check: func([]byte) error { return nil },
		Take:  func(uint64, []byte) {},
	}}
}

func (g greedy) Server(extend.Server) extend.ServerHooks {
	return extend.ServerHooks{Section: &extend.ServerSection{
		Due:   func(extend.Session, bool) bool { return true },
		Write: func(_ extend.Session, room []byte, _ uint64) int { return len(room) },
	}}
}

// Before, a section that fills the share of each tick left no packet for the state.
func TestASectionThatFillsPacketsDoesNotStarveTheState(t *testing.T) {
	p := rig.Protocol()
	extend.OfProtocol(p).Extend(extend.Extension{Name: "greedy", ToClient: extend.FreeSection, Client: greedy{}, Server: greedy{}})
	r := rig.New(t, p, netcode.Config{SendBudget: 4000})
	c := r.Joined(p, netcode.Config{})
	id := r.Spawn(0)
	r.Run(2 * time.Second)
	for x := range 5 {
		r.Change(func(store *snapshot.Store) { r.Set(store, id, float32(x+1)) })
		r.Run(500 * time.Millisecond)
		got, _ := r.X(c, id)
		require.EqualValues(t, x+1, got)
	}
}
