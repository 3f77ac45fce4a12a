package quantize

import (
	"github.com/arche-netcode/netcode/wire"

	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

type plainWords struct {
	A float32
	B struct {
		C uint32
		D [2]float32
	}
}

func TestPlainRowsAreMemory(t *testing.T) {
	p := mustCompile[plainWords](t, "Words")
	require.True(t, p.Plain())
	v := plainWords{A: -1.5}
	v.B.C, v.B.D = 1<<31|7, [2]float32{3e30, -0.25}
	lanes := make([]uint32, p.Lanes())
	require.Zero(t, p.Quantise(unsafe.Pointer(&v), lanes))
	require.Equal(t, unsafe.Slice((*uint32)(unsafe.Pointer(&v)), 4), lanes)
}

func TestWhatIsNotPlain(t *testing.T) {
	for name, p := range map[string]*Plan{
		"no field": mustCompile[struct{}](t, "None"),
		"signed":   mustCompile[struct{ N int32 }](t, "Signed"),
		"quantised": mustCompile[struct {
			F float32 `net:"min=0,max=1,step=0.5"`
		}](t, "Fixed"),
		"short": mustCompile[struct{ A, B uint16 }](t, "Short"),
		"wide":  mustCompile[struct{ F float64 }](t, "Wide"),
		"local at last": mustCompile[struct {
			A, B float32
			C    int32 `net:"-"`
		}](t, "Local"),
		"local between": mustCompile[struct {
			A float32
			C int32 `net:"-"`
			B float32
		}](t, "Between"),
		"boolean": mustCompile[struct {
			A float32
			B bool
		}](t, "Boolean"),
		"entity": mustCompile[struct {
			N wire.NetworkID `net:"entity"`
		}](t, "Entity"),
	} {
		require.False(t, p.Plain(), name)
	}
}
