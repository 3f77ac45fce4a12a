package live_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/inspect/live"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// drift moves a body in each step, at the server faster than a client predicts.
type drift struct{ by float32 }

func (d *drift) Step(s *predict.Step) {
	for query := generic.NewFilter2[components.Simulate, place]().Query(s.World); query.Next(); {
		_, at := query.Get()
		at.Y += d.by
	}
}

// The page of a client tells its lead, its delay and what it mispredicted, by field.
func TestThePageOfAClient(t *testing.T) {
	now := time.Duration(0)
	clock := func() time.Duration { return now }
	network, protocol := memory.NewNetwork(), netcode.NewProtocol()
	netcode.Replicate[place](protocol)
	netcode.Replicate[components.Owner](protocol)
	input.Register[steer](protocol)
	predict.Register[place](protocol)
	listen := func(port uint16) *transport.Conditioner {
		socket, err := network.Listen(transport.AddrOf(address(port)))
		require.NoError(t, err)
		return transport.Condition(socket, transport.Link{Delay: 40 * time.Millisecond}, uint64(port), clock)
	}
	there, here := ecs.New(), ecs.New()
	server, err := netcode.NewServer(protocol, netcode.Config{})
	require.NoError(t, err)
	group := systems.NewServer(server, listen(1), clock)
	predict.Simulate(group, predict.Config{}, &drift{1})
	loop := systems.NewRunner(there, group, 60)
	server.OnConnect(func(id netcode.ClientID) {
		build := generic.NewMap3[components.Replicated, components.Owner, place](there)
		build.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &place{})
	})
	client, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)
	player := systems.NewClient(client, listen(2), clock)
	simulation := predict.Simulate(player, predict.Config{}, &drift{0.5})
	page := live.NewClientPage(player, simulation)
	play := systems.NewRunner(here, player, 60)
	require.NoError(t, client.Connect(transport.AddrOf(address(1))))
	for range 240 {
		now += time.Second / 60
		loop.Step()
		play.Step()
	}
	get := func(method, host, path string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, path, nil), httptest.NewRecorder()
		r.Host = host
		page.ServeHTTP(w, r)
		return w
	}
	answer := get(http.MethodGet, "127.0.0.1:6061", "/client")
	var f live.ClientFigures
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &f))
	require.Equal(t, "Connected", f.State)
	require.EqualValues(t, 1, f.ID)
	require.InDelta(t, 110, f.RTT, 60)
	require.Positive(t, f.Lead)
	require.Positive(t, f.Delay)
	require.True(t, f.Sent > 0 && f.Received > 0 && f.Tick > 0)
	require.NotZero(t, f.Predicts.Rollbacks)
	require.NotZero(t, f.Predicts.Mispredictions)
	require.Equal(t, f.Predicts.Mispredictions, f.Fields["place.Y"], "%v", f.Fields)
	require.Contains(t, f.Newest, "place.Y")
	require.Contains(t, get(http.MethodGet, "localhost", "/").Body.String(), "Mispredictions by field")
	require.Equal(t, http.StatusForbidden, get(http.MethodGet, "evil.example", "/client").Code)
	require.Equal(t, http.StatusMethodNotAllowed, get(http.MethodPost, "localhost", "/client").Code)
	require.Equal(t, http.StatusNotFound, get(http.MethodGet, "localhost", "/x").Code)

	var out strings.Builder
	quiet, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)
	other := systems.NewClient(quiet, listen(3), clock)
	_, err = live.ShowClient(other, nil, "0.0.0.0:0", &out)
	require.ErrorContains(t, err, "open to others")
	stop, err := live.ShowClient(other, nil, "127.0.0.1:0", &out)
	require.NoError(t, err)
	require.Contains(t, out.String(), "look inside at http://127.0.0.1:")
	require.NoError(t, stop())
}
