package agones_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/agones"
)

// patience ends a test that hangs.
const patience = time.Minute

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), what)
	}
}

func next(t *testing.T, l fleet.Lifecycle) fleet.Event {
	t.Helper()
	select {
	case e := <-l.Events():
		return e
	case <-time.After(patience):
		require.Fail(t, "no event came")
		return fleet.Event{}
	}
}

// Each route of the SDK does at the sidecar what it says.
func TestTheRoutesOfTheSidecar(t *testing.T) {
	f, ctx := newFake(t), t.Context()
	s := &agones.SDK{URL: f.server.URL + "/"}
	for state, call := range map[string]func(context.Context) error{"Ready": s.Ready, "Allocated": s.Allocate, "Shutdown": s.Shutdown} {
		require.NoError(t, call(ctx))
		require.Equal(t, state, f.state)
	}
	require.NoError(t, s.Health(ctx))
	require.NoError(t, s.Reserve(ctx, 90*time.Second))
	require.EqualValues(t, 90, f.reserved)
	require.NoError(t, s.SetLabel(ctx, "map", "sand"))
	require.NoError(t, s.SetAnnotation(ctx, "mode", "duel"))
	require.NoError(t, s.SetCounter(ctx, "players", agones.Counter{Count: 3, Capacity: 8}))
	c, err := s.Counter(ctx, "players")
	require.NoError(t, err)
	require.Equal(t, agones.Counter{Count: 3, Capacity: 8}, c)
	require.NoError(t, s.SetList(ctx, "players", agones.List{Capacity: 3, Values: []string{"ann", "bob"}}))
	require.NoError(t, s.AddListValue(ctx, "players", "carl"))
	require.Error(t, s.AddListValue(ctx, "players", "dora"), "full")
	require.NoError(t, s.RemoveListValue(ctx, "players", "ann"))
	l, err := s.List(ctx, "players")
	require.NoError(t, err)
	require.Equal(t, agones.List{Capacity: 3, Values: []string{"bob", "carl"}}, l)
	require.NoError(t, s.SetList(ctx, "players", agones.List{Capacity: 3}))
	require.NoError(t, s.SetPlayerCapacity(ctx, 2))
	require.NoError(t, s.PlayerConnect(ctx, "ann"))
	require.NoError(t, s.PlayerConnect(ctx, "bob"))
	require.NoError(t, s.PlayerDisconnect(ctx, "ann"))
	players, err := s.ConnectedPlayers(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"bob"}, players)
	g, err := s.GameServer(ctx)
	require.NoError(t, err)
	require.Equal(t, "game-1", g.ObjectMeta.Name)
	require.Equal(t, map[string]string{"agones.dev/sdk-map": "sand"}, g.ObjectMeta.Labels)
	require.Equal(t, "duel", g.ObjectMeta.Annotations["agones.dev/sdk-mode"])
	require.Equal(t, agones.Counter{Count: 3, Capacity: 8}, g.Status.Counters["players"])
	require.Empty(t, g.Status.Lists["players"].Values)
	err = s.SetCounter(ctx, "no such", agones.Counter{})
	var e *agones.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 404, e.Status)
	require.Equal(t, "PATCH /v1beta1/counters/no%20such", e.Route)
}

// A server is ready, allocated with a match, allocated again with another one, and deleted.
func TestTheLifeOfAGameServer(t *testing.T) {
	f := newFake(t)
	l, err := agones.Open(t.Context(), agones.Config{SDK: agones.SDK{URL: f.server.URL}, Port: "game", Counter: "players", List: "players", Players: true})
	require.NoError(t, err)
	require.Equal(t, "203.0.113.7:7654", l.Address())
	require.NoError(t, l.Ready(t.Context()))
	require.NoError(t, l.Health(t.Context()))
	f.set("Allocated", map[string]string{agones.AnnotationMatch: "m1", agones.AnnotationData: "sand"})
	require.Equal(t, fleet.Event{Match: fleet.Match{ID: "m1", Data: []byte("sand")}}, next(t, l))

	require.NoError(t, l.Report(t.Context(), fleet.Status{Players: 2, Places: 8, Users: []string{"ann", "bob"}}))
	require.NoError(t, l.Report(t.Context(), fleet.Status{Players: 2, Places: 8, Users: []string{"bob", "carl"}}))
	require.Equal(t, counter{2, 8}, f.counters["players"])
	require.Equal(t, []string{"bob", "carl"}, f.lists["players"].Values)
	require.Equal(t, []string{"bob", "carl"}, f.players)
	require.Equal(t, 1, f.called("POST /alpha/player/disconnect"))

	f.set("Allocated", nil) // A label changed: the match is the same one.
	require.NoError(t, l.Ready(t.Context()))
	f.set("Allocated", map[string]string{agones.AnnotationMatch: "m2"})
	require.Equal(t, "m2", next(t, l).Match.ID)
	f.set("Allocated", map[string]string{"agones.dev/last-allocated": "2026-01-01"})
	require.Equal(t, "1234/2026-01-01", next(t, l).Match.ID, "an allocation without a match is one")
	f.mu.Lock()
	f.deleted = 1
	f.mu.Unlock()
	f.set("Allocated", nil)
	require.Equal(t, fleet.Drain, next(t, l).Kind)
	require.NoError(t, l.Shutdown(t.Context()))
	require.Equal(t, "Shutdown", f.state)
}

// The sidecar comes after the game; and it may be slow, broken or gone, and come back.
func TestFaultsOfTheSidecar(t *testing.T) {
	f := newFake(t)
	f.fail("500", "GET /gameserver")
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := agones.Open(limited, agones.Config{SDK: agones.SDK{URL: f.server.URL}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	opened := make(chan *agones.Lifecycle)
	go func() {
		l, _ := agones.Open(t.Context(), agones.Config{SDK: agones.SDK{URL: f.server.URL}})
		opened <- l
	}()
	eventually(t, "it asks again", func() bool { return f.called("GET /gameserver") >= 2 })
	f.fail("")
	l := <-opened
	require.Equal(t, "203.0.113.7:7001", l.Address(), "the first port")

	var e *agones.Error
	f.fail("500")
	require.ErrorAs(t, l.Ready(t.Context()), &e)
	require.Equal(t, 500, e.Status)
	require.Contains(t, e.Error(), "the API server is away")
	f.fail("gone")
	require.ErrorContains(t, l.Health(t.Context()), "the sidecar")
	f.fail("nonsense")
	_, err = (&agones.SDK{URL: f.server.URL}).GameServer(t.Context())
	require.ErrorContains(t, err, "invalid character")
	f.fail("endless")
	_, err = (&agones.SDK{URL: f.server.URL}).GameServer(t.Context())
	require.ErrorContains(t, err, "more than")
	f.fail("slow")
	short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	require.ErrorIs(t, l.Shutdown(short), context.DeadlineExceeded)

	f.fail("500", "GET /watch/gameserver")
	f.breakWatches() // The watch breaks, and fails for some time.
	before := f.called("GET /watch/gameserver")
	eventually(t, "it watches again", func() bool { return f.called("GET /watch/gameserver") >= before+2 })
	f.fail("")
	f.set("Allocated", map[string]string{agones.AnnotationMatch: "m1"})
	require.Equal(t, "m1", next(t, l).Match.ID)
	f.breakWatches()
	f.set("Unhealthy", nil)
	require.Equal(t, fleet.Drain, next(t, l).Kind)
}

// A report goes on after the error of a part, and repeats what failed.
func TestAReportIsRepeated(t *testing.T) {
	f := newFake(t)
	l, err := agones.Open(t.Context(), agones.Config{SDK: agones.SDK{URL: f.server.URL}, Counter: "no such", List: "players", Players: true})
	require.NoError(t, err)
	f.fail("500", "POST /alpha/player/connect")
	s := fleet.Status{Players: 1, Places: 8, Users: []string{"ann"}}
	require.Error(t, l.Report(t.Context(), s))
	require.Equal(t, []string{"ann"}, f.lists["players"].Values)
	require.Empty(t, f.players)
	f.fail("")
	f.counters["no such"] = counter{}
	require.NoError(t, l.Report(t.Context(), s))
	require.Equal(t, []string{"ann"}, f.players)
}

func TestAGameServerWithoutThePort(t *testing.T) {
	sidecar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("{}")) }))
	defer sidecar.Close()
	l, err := agones.Open(t.Context(), agones.Config{SDK: agones.SDK{URL: sidecar.URL}})
	require.NoError(t, err)
	require.Empty(t, l.Address())
	_, err = agones.Open(t.Context(), agones.Config{SDK: agones.SDK{URL: newFake(t).server.URL}, Port: "voice"})
	require.ErrorContains(t, err, `no port "voice"`)
}

func TestTheAddressOfTheSidecar(t *testing.T) {
	f := newFake(t)
	t.Setenv("AGONES_SDK_HTTP_PORT", f.server.URL[strings.LastIndex(f.server.URL, ":")+1:])
	require.NoError(t, new(agones.SDK).Health(t.Context()))
}

// FuzzWatch reads streams: none makes it panic or take more than its bound.
func FuzzWatch(f *testing.F) {
	for _, seed := range []string{
		`{"result":{"status":{"state":"Allocated","counters":{"p":{"count":"1"}}}}}` + "\n", `{"error":{"message":"no"}}` + "\n", "\n\n", `{"result":null}`, `{"result":{"object_meta":{"deletion_timestamp":"x"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		err := agones.ReadWatch(bytes.NewReader(b), func(g *agones.GameServer) bool {
			agones.EventOf(g)
			n++
			return true
		})
		require.Error(t, err, "every stream ends")
		require.LessOrEqual(t, n, bytes.Count(b, []byte("\n"))+1)
	})
}

func TestIntsAreTexts(t *testing.T) {
	b, err := json.Marshal(agones.Counter{Count: 1 << 60})
	require.NoError(t, err)
	require.Equal(t, `{"count":"1152921504606846976","capacity":"0"}`, string(b))
	var c agones.Counter
	require.NoError(t, json.Unmarshal([]byte(`{"count":7,"capacity":"8"}`), &c))
	require.Equal(t, agones.Counter{Count: 7, Capacity: 8}, c)
	require.Error(t, json.Unmarshal([]byte(`{"count":"7.5"}`), &c))
}
