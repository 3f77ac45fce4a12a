package netcode_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

type (
	bandPlace struct {
		X, Y float32 `net:"min=-512,max=512,step=0.01"`
	}
	bandTurn struct {
		Q [4]float32 `net:"quat,bits=10"`
	}
	bandFloat struct{ X float32 }
	bandEntry struct {
		X  float32    `net:"min=0,max=1,step=0.1"`
		To ecs.Entity `net:"entity"`
	}
	bandTitle struct {
		X    float32 `net:"min=0,max=1,step=0.1"`
		Text wire.Text16
	}
)

func TestBandsAreCheckedAtRegistration(t *testing.T) {
	for want, register := range map[string]func(p *netcode.Protocol){
		"give it a Band": func(*netcode.Protocol) { netcode.Bands() },
		"above 0: list the bands by distance": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Scale: 2}))
		},
		"above 20: list the bands by distance": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 20, Scale: 2}, netcode.Band{Beyond: 10, Scale: 4}))
		},
		"Beyond NaN": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: float32(math.NaN()), Scale: 2}))
		},
		"finite and above": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: float32(math.Inf(1)), Scale: 2}))
		},
		"Scale 2 is finer than the 4": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 1, Scale: 4}, netcode.Band{Beyond: 2, Scale: 2}))
		},
		"neither Scale nor Every": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 1}))
		},
		"Every changes anything": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Every(4), netcode.Bands(netcode.Band{Beyond: 1, Every: 4}))
		},
		"Every is 0 to 65535 ticks, not -1": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 1, Every: -1}))
		},
		"a power of two from 1 to 65536, not 3": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 1, Scale: 3}))
		},
		"no field of it has steps": func(p *netcode.Protocol) {
			netcode.Replicate[bandFloat](p, netcode.Bands(netcode.Band{Beyond: 1, Scale: 2}))
		},
		"4 to 16 bits a component, not 3": func(p *netcode.Protocol) {
			netcode.Replicate[bandTurn](p, netcode.Bands(netcode.Band{Beyond: 1, Scale: 128}))
		},
		"it names entities": func(p *netcode.Protocol) {
			netcode.Replicate[bandEntry](p, netcode.Bands(netcode.Band{Beyond: 1, Every: 2}))
		},
		"has a wire.Text": func(p *netcode.Protocol) {
			netcode.Replicate[bandTitle](p, netcode.Bands(netcode.Band{Beyond: 1, Every: 2}))
		},
		"does not go with ExtrapolatedBy": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 1, Scale: 2}),
				netcode.ExtrapolatedBy("as-it-was", func([]uint32, *quantize.Baselines) {}))
		},
		"WrittenBy does not go with Bands": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, authority.WrittenBy(authority.OwnerWrites), netcode.Bands(netcode.Band{Beyond: 1, Scale: 2}))
			p.Schema()
		},
		"Bands is for components": func(p *netcode.Protocol) {
			netcode.Handle(p, func(*netcode.Context, *bandFloat) {}, netcode.Bands(netcode.Band{Beyond: 1, Scale: 2}))
		},
		`the wire name "bandPlace~1" is taken`: func(p *netcode.Protocol) {
			netcode.Replicate[bandFloat](p, netcode.Named("bandPlace~1"))
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 1, Scale: 2}))
		},
		"already": func(p *netcode.Protocol) {
			netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 1, Scale: 2}))
			netcode.Replicate[bandPlace](p)
		},
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				text := fmt.Sprint(recover())
				require.Contains(t, text, want)
				require.Contains(t, text, "netcode: ")
			}()
			register(netcode.NewProtocol())
			t.Error("nothing panicked")
		})
	}
}

// TestBandsAreInTheHash: both ends must have the same steps. Distances and rates are the server's alone.
func TestBandsAreInTheHash(t *testing.T) {
	hash := func(bands ...netcode.Band) uint64 {
		p := netcode.NewProtocol()
		if bands == nil {
			netcode.Replicate[bandPlace](p)
		} else {
			netcode.Replicate[bandPlace](p, netcode.Bands(bands...))
		}
		return p.Hash()
	}
	one := hash(netcode.Band{Beyond: 10, Scale: 4})
	require.NotEqual(t, hash(), one)
	require.NotEqual(t, hash(netcode.Band{Beyond: 10, Scale: 8}), one)
	require.NotEqual(t, hash(netcode.Band{Beyond: 10, Scale: 4}, netcode.Band{Beyond: 20, Scale: 8}), one)
	require.Equal(t, hash(netcode.Band{Beyond: 30, Scale: 4, Every: 3}), one)

	p := netcode.NewProtocol()
	netcode.Replicate[bandPlace](p, netcode.Bands(netcode.Band{Beyond: 10, Scale: 4}))
	q := netcode.NewProtocol()
	netcode.Replicate[bandPlace](q)
	netcode.Replicate[bandPlaceAlike](q, netcode.Named("bandPlace~1"))
	require.NotEqual(t, p.Hash(), q.Hash(), "a component of the same fields is no band")
}

// bandPlaceAlike has the fields of the band of bandPlace with Scale 4.
type bandPlaceAlike struct {
	X, Y float32 `net:"min=-512,max=512,step=0.04"`
}
