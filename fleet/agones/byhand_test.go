package agones_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/agones"
)

// The same against Agones' own local SDK server, by hand: build cmd/sdk-server of its repository, and run
//
//	sdk-server --local -f testdata/gameserver.yaml --http-port 19358 --feature-gates PlayerTracking=true
//	NETCODE_AGONES_SDK=http://127.0.0.1:19358 go test ./fleet/agones -run TestByHand -v
//
// In another shell, sed -i s/first/second/ on the file allocates another match.
func TestByHand(t *testing.T) {
	url := os.Getenv("NETCODE_AGONES_SDK")
	if url == "" {
		t.Skip("NETCODE_AGONES_SDK names no sidecar")
	}
	ctx, s := t.Context(), &agones.SDK{URL: url}
	l, err := agones.Open(ctx, agones.Config{SDK: *s, Port: "game", Counter: "players", List: "players", Players: true})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7654", l.Address())
	require.NoError(t, l.Ready(ctx))
	require.NoError(t, l.Health(ctx))
	require.NoError(t, l.Report(ctx, fleet.Status{Players: 2, Places: 64, Users: []string{"ann", "bob"}}))
	require.NoError(t, l.Report(ctx, fleet.Status{Players: 1, Places: 64, Users: []string{"bob"}}))
	require.NoError(t, s.AddListValue(ctx, "players", "carl"))
	require.NoError(t, s.RemoveListValue(ctx, "players", "carl"))
	c, err := s.Counter(ctx, "players")
	require.NoError(t, err)
	require.Equal(t, agones.Counter{Count: 1, Capacity: 64}, c)
	users, err := s.List(ctx, "players")
	require.NoError(t, err)
	require.Equal(t, agones.List{Capacity: 64, Values: []string{"bob"}}, users)
	require.NoError(t, s.SetList(ctx, "players", agones.List{Capacity: 64}))
	users, err = s.List(ctx, "players")
	require.NoError(t, err)
	require.Empty(t, users.Values)
	players, err := s.ConnectedPlayers(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"bob"}, players)
	require.NoError(t, s.SetLabel(ctx, "map", "sand"))
	require.NoError(t, s.SetAnnotation(ctx, "mode", "duel"))
	require.NoError(t, s.Reserve(ctx, time.Second))
	require.NoError(t, s.Allocate(ctx))
	require.Equal(t, "first", next(t, l).Match.ID)
	g, err := s.GameServer(ctx)
	require.NoError(t, err)
	require.Equal(t, "Allocated", g.Status.State)
	require.Equal(t, "sand", g.ObjectMeta.Labels["agones.dev/sdk-map"])
	require.NoError(t, l.Shutdown(ctx))
	require.Equal(t, fleet.Drain, next(t, l).Kind)
}
