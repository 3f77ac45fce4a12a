package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
)

// heldNote is a message beside state that is held back.
type heldNote struct{ N uint32 }

func TestStateThatIsHeldBackWaits(t *testing.T) {
	for name, row := range map[string]struct {
		hold    bool
		reserve int // Bytes.
		moves   bool
		notes   bool
	}{
		"nothing is held":                       {false, 0, true, true},
		"state is held, messages leave":         {true, 0, false, true},
		"all of the budget is kept for state":   {true, math.MaxInt, false, false},
		"more than is saved up is kept":         {true, 1 << 20, false, false},
		"messages leave what is kept for state": {true, 64, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, got := protocol(), 0
			netcode.Handle(p, func(*netcode.Context, *heldNote) { got++ }, netcode.FromServer())
			r := rig.New(t, p, netcode.Config{})
			c := r.Joined(p, netcode.Config{})
			hold, waited := false, 0
			extend.OfServer(r.Server).Extend(extend.ServerHooks{
				HoldState: func(extend.Session, int) (bool, int) {
					if !hold {
						return false, 0
					}
					return row.hold, row.reserve
				},
				StateSent: func(_ extend.Session, _ int, waits bool) {
					if waits {
						waited++
					}
				},
			})
			mover, x := r.Spawn(0), float32(0)
			r.Server.Game = func(store *snapshot.Store) { x++; r.Set(store, mover, x) }
			r.Run(time.Second)
			before, _ := r.X(c, mover)
			require.Positive(t, before)
			hold, got = true, 0
			r.Run(200 * time.Millisecond) // What was on its way arrives.
			before, _ = r.X(c, mover)
			require.NoError(t, netcode.Send(r.Server.Server, netcode.ToAll(), &heldNote{N: 1}))
			r.Run(500 * time.Millisecond)
			after, _ := r.X(c, mover)
			require.Equal(t, row.moves, after > before)
			require.Equal(t, row.notes, got == 1)
			require.Zero(t, waited, "state that an extension holds back does not wait for the budget")
			hold = false
			r.Until(func() bool { now, _ := r.X(c, mover); return got == 1 && now > x-10 })
		})
	}
}

type holder struct{}

func (holder) Client(extend.Client) extend.ClientHooks {
	return extend.ClientHooks{HoldState: func([]byte, uint64) {}}
}

func TestOneExtensionHoldsTheStateOfAClient(t *testing.T) {
	p := protocol()
	for _, name := range []string{"one", "other"} {
		extend.OfProtocol(p).Extend(extend.Extension{Name: name, Client: holder{}})
	}
	require.PanicsWithValue(t, "netcode: Extend: two extensions hold the state of one client back: register one of them", func() {
		_, _ = netcode.NewClient(p, netcode.Config{})
	})
}
