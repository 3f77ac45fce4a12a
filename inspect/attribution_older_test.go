package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
)

type (
	alarm struct{ Level uint8 } // Its type is before that of cry.
	cry   struct{ Volume uint16 }
	aegis struct{ Left uint8 } // Its row is before that of health.
)

// builds returns the protocol of a build, and that of one with more that supports it.
func builds() (older, newer *netcode.Protocol) {
	common := func() *netcode.Protocol {
		p := rig.Protocol()
		netcode.Handle(p, func(*netcode.Context, *cry) {}, netcode.FromServer())
		return p
	}
	older, newer = common(), common()
	netcode.Replicate[aegis](newer)
	netcode.Handle(newer, func(*netcode.Context, *alarm) {}, netcode.FromServer())
	newer.Support(common().Description())
	return older, newer
}

// A client of an older build has other numbers for messages and rows. The account has them by this build's, to the last byte.
func TestAnAccountKnowsTheTypesOfAnOlderBuild(t *testing.T) {
	older, newer := builds()
	r := rig.New(t, newer, netcode.Config{})
	r.Joined(older, netcode.Config{})
	a := inspect.New(newer).CountEntities()
	inspect.CountState(r.Server.Server, true)
	r.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == r.Server.Conn.LocalAddr() {
			a.AddSent(extend.OfServer(r.Server).Session(1), packet)
		}
		return packet
	}
	r.Change(func(s *snapshot.Store) { r.Set(s, s.Spawn(), 3) })
	require.NoError(t, netcode.Send(r.Server, netcode.ToAll(), &cry{7}))
	r.Run(time.Second)
	a.TakeState(r.Server.Server)
	require.Equal(t, 8*a.Bytes, a.Total())
	require.Zero(t, a.Unreadable+a.State.Unknown)
	require.NotEmpty(t, a.State.Entities)
	for _, m := range a.Types {
		want := uint64(0)
		if m.Name == "cry" {
			want = 2
		}
		require.Equal(t, want, m.Bytes, m.Name)
	}
	for _, c := range a.State.Components {
		require.Equal(t, c.Name == "Position", c.Spawn > 0, c.Name)
	}
}
