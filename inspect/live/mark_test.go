package live_test

import (
	"bytes"
	"context"
	"regexp"
	"runtime/pprof"
	"runtime/trace"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// The loop has the label of its phase in each phase, as profiles of the processor have it, beside the label that it had, which alone is left
// behind a frame. Without Label it has none.
func TestProfilesKnowThePhases(t *testing.T) {
	for _, labelled := range []bool{false, true} {
		r := newRig(t, 1)
		own := pprof.WithLabels(context.Background(), pprof.Labels("loop", t.Name()))
		pprof.SetGoroutineLabels(own)
		defer pprof.SetGoroutineLabels(context.Background())
		if labelled {
			r.inspector.Label(own)
		}
		seen := map[string]string{}
		look := func(where string) func() {
			return func() {
				var all bytes.Buffer
				require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
				text := regexp.MustCompile(`# labels: (.*"loop".*)`).FindStringSubmatch(all.String())
				require.NotNil(t, text)
				seen[where] = text[1]
			}
		}
		r.group.Add(tick.Update, systems.Func(func(*ecs.World) { look("game")() }))
		r.group.OnSpawn(func(ecs.Entity, netcode.NetworkID) { look("capture")() })
		extend.OfServer(r.server).Extend(extend.ServerHooks{BeforeSend: look("encode")})
		r.onSend, r.onReceive = look("send"), look("receive")
		r.bodies(1)
		r.step(60)
		look("outside")()
		for _, phase := range []string{"receive", "game", "capture", "encode", "send", "outside"} {
			want := `{"loop":"` + t.Name() + `"}`
			if labelled && phase != "outside" {
				want = `{"loop":"` + t.Name() + `", "netcode":"` + phase + `"}`
			}
			require.Equal(t, want, seen[phase], phase)
		}
	}
}

// An execution trace has a region for each phase.
func TestTracesKnowThePhases(t *testing.T) {
	r := newRig(t, 1)
	r.step(60)
	var all bytes.Buffer
	require.NoError(t, trace.Start(&all))
	r.step(4)
	trace.Stop()
	for _, phase := range []string{"receive", "apply", "game", "capture", "encode", "send"} {
		require.Contains(t, all.String(), "netcode "+phase)
	}
}
