//go:build netcode_256

package predict_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// filler makes as many component types as there are pairs of types.
type filler[A, B any] struct{ V uint8 }

// fill replicates 81 types with rows before the game's rows: upper case sorts first.
func fill(p *netcode.Protocol) {
	n := 0
	nine[int8](p, &n)
	nine[int16](p, &n)
	nine[int32](p, &n)
	nine[int64](p, &n)
	nine[uint8](p, &n)
	nine[uint16](p, &n)
	nine[uint32](p, &n)
	nine[uint64](p, &n)
	nine[float32](p, &n)
}

func nine[A any](p *netcode.Protocol, n *int) {
	replicateFiller[A, int8](p, n)
	replicateFiller[A, int16](p, n)
	replicateFiller[A, int32](p, n)
	replicateFiller[A, int64](p, n)
	replicateFiller[A, uint8](p, n)
	replicateFiller[A, uint16](p, n)
	replicateFiller[A, uint32](p, n)
	replicateFiller[A, uint64](p, n)
	replicateFiller[A, float32](p, n)
}

func replicateFiller[A, B any](p *netcode.Protocol, n *int) {
	*n++
	netcode.Replicate[filler[A, B]](p, netcode.Named(fmt.Sprintf("Filler%02d", *n)))
}

// It repeats TestNothingIsMispredictedWhereNobodyInterferes with higher rows. Then it causes mispredictions, which must
// be repaired.
func TestComponentsBehindThe64thArePredicted(t *testing.T) {
	protocol, config := newProtocol(), predict.Config{}
	fill(protocol)
	g := newGameOf(t, protocol, transport.Link{Delay: 100 * time.Millisecond, Loss: .2}, 3, config, nil)
	g.join(protocol, config)
	require.Greater(t, protocol.Schema().RowOf(reflect.TypeFor[position]()), 64)
	p := g.players[0]
	p.act = wander
	g.run(20 * rate)
	require.Zero(t, p.sim.Stats().Mispredictions)
	g.rules.wind = .5
	g.run(rate)
	g.rules.wind = 0
	g.run(4 * rate)
	require.Positive(t, p.sim.Stats().Mispredictions)
	g.heal()
}
