package transport

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
)

// The model is a slice that is sorted, stably, each time.
func TestFlightAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			due  time.Duration
			data []byte
		}
		var f inFlight
		var model []entry
		most := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				e := entry{
					due:  time.Duration(rapid.IntRange(0, 10).Draw(t, "due")),
					data: rapid.SliceOfN(rapid.Byte(), 1, 16).Draw(t, "data"),
				}
				f.push(e.due, Addr{}, e.data)
				model = append(model, e)
				most = max(most, len(model))
			},
			"pop": func(t *rapid.T) {
				slices.SortStableFunc(model, func(a, b entry) int { return int(a.due - b.due) })
				now := time.Duration(rapid.IntRange(-1, 10).Draw(t, "now"))
				if len(model) == 0 || model[0].due > now {
					require.False(t, f.ready(now))
					return
				}
				require.True(t, f.ready(now))
				buf := make([]byte, 16)
				n, _ := f.pop(buf)
				require.Equal(t, model[0].data, buf[:n])
				model = model[1:]
			},
			"": func(t *rapid.T) {
				require.Equal(t, most, len(f.heap)+len(f.free), "a buffer for each that was ever on its way at once")
			},
		})
	})
}

func TestReserve(t *testing.T) {
	var f inFlight
	f.push(1, Addr{}, []byte{1})
	f.reserve(8)
	alloctest.Zero(t, 10, func() {
		for range 7 {
			f.push(2, Addr{}, []byte{2})
		}
		for range 7 {
			f.pop(nil)
		}
	})
	require.Len(t, f.free, 7)
}
