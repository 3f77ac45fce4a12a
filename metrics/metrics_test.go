package metrics_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/metrics"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

type (
	place struct{ X float32 }
	rest  struct{ X float32 } // No entity has it.
)

// rig is a server with a collector, and clients.
type rig struct {
	t         *testing.T
	now       time.Duration
	network   *memory.Network
	protocol  *netcode.Protocol
	server    *netcode.Server
	world     ecs.World
	group     *systems.ServerSystems
	collector *metrics.Collector
	loops     []*systems.Runner
}

func newRig(t *testing.T, config netcode.Config) *rig {
	r := &rig{t: t, network: memory.NewNetwork(), protocol: netcode.NewProtocol(), world: ecs.NewWorld()}
	netcode.Replicate[place](r.protocol)
	netcode.Replicate[rest](r.protocol)
	here, err := r.network.Listen(transport.Addr{Key: 1})
	require.NoError(t, err)
	r.server, err = netcode.NewServer(r.protocol, config)
	require.NoError(t, err)
	r.group = systems.NewServer(r.server, here, r.clock)
	inspector := live.New(r.group)
	r.collector = metrics.New(inspector)
	r.loops = []*systems.Runner{systems.NewRunner(&r.world, inspector, 60)}
	return r
}

// clock goes on whenever it is read.
func (r *rig) clock() time.Duration { r.now += time.Microsecond; return r.now }

// join makes a client connect.
func (r *rig) join(name string) {
	there, err := r.network.Listen(transport.Addr{Key: uint64(len(r.loops) + 1)})
	require.NoError(r.t, err)
	client, err := netcode.NewClient(r.protocol, netcode.Config{})
	require.NoError(r.t, err)
	other := ecs.NewWorld()
	r.loops = append(r.loops, systems.NewRunner(&other, systems.NewClient(client, there, r.clock), 60))
	require.NoError(r.t, client.ConnectWith(transport.Addr{Key: 1}, []byte(name)))
}

func (r *rig) step(frames int) {
	for range frames {
		for _, l := range r.loops {
			l.Step()
		}
		r.now += time.Second / 60
	}
}

// play runs a server with a collector, and a client, for some frames.
func play(t *testing.T, frames int) (*metrics.Collector, *netcode.Server) {
	r := newRig(t, netcode.Config{})
	r.join("")
	r.step(frames)
	return r.collector, r.server
}

// A player who connects anew has the id of before, with counters that begin anew, and is the last of the clients: it has its turn, and its
// rate is that of the new session.
func TestAPlayerWhoConnectsAnew(t *testing.T) {
	r := newRig(t, netcode.Config{})
	r.server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	for _, name := range []string{"Ada", "Bob", "Ada"} {
		r.join(name)
		r.step(300)
	}
	require.EqualValues(t, 1, r.server.Stats().TakenOver)
	rates := gather(t, r.collector)["netcode_client_sent_bytes_per_second"].Metric[0].GetHistogram()
	require.GreaterOrEqual(t, rates.GetSampleCount(), uint64(4+8+8), "one a second of each client")
	require.Less(t, rates.GetSampleSum(), 1e6)
}

// Each of a hundred clients is looked at once a second, whatever the rate of frames is.
func TestEachOfManyClientsHasItsTurn(t *testing.T) {
	r := newRig(t, netcode.Config{Clients: 100})
	for range 100 {
		r.join("")
	}
	sampled := func() uint64 {
		return gather(t, r.collector)["netcode_round_trip_seconds"].Metric[0].GetHistogram().GetSampleCount()
	}
	r.step(180)
	before := sampled()
	r.step(120)
	require.GreaterOrEqual(t, sampled()-before, uint64(200), "in two seconds")
}

// gather collects all metrics by name.
func gather(t *testing.T, c *metrics.Collector) map[string]*dto.MetricFamily {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	all := map[string]*dto.MetricFamily{}
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// Every counter of Stats has a metric of its own with its value, as of the newest copy.
func TestEveryCounterOfStatsHasAMetric(t *testing.T) {
	c, server := play(t, 300)
	all, names := gather(t, c), map[string]bool{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for n := range v.NumField() {
			of := v.Type().Field(n)
			name := path + of.Name
			switch {
			case of.Anonymous: // Its fields are those of Stats.
				walk(v.Field(n), path)
				continue
			case v.Field(n).Kind() == reflect.Struct:
				walk(v.Field(n), name+".")
				continue
			}
			metric := metrics.NameOf(name)
			require.False(t, names[metric], "two counters are %s", metric)
			names[metric] = true
			require.Contains(t, all, metric, name)
			m := all[metric].Metric[0]
			got := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			require.LessOrEqual(t, got, float64(v.Field(n).Uint()), name)
			require.Equal(t, name == "HistoryBytes", all[metric].GetType() == dto.MetricType_GAUGE, name)
		}
	}
	walk(reflect.ValueOf(server.Stats()), "")
	require.Greater(t, len(names), 70)
	require.Equal(t, 1.0, all["netcode_connected_total"].Metric[0].GetCounter().GetValue())
	require.Equal(t, 1.0, all["netcode_clients"].Metric[0].GetGauge().GetValue())
	require.Greater(t, all["netcode_packets_sent_bytes_total"].Metric[0].GetCounter().GetValue(), 300.0)
}

func TestHistograms(t *testing.T) {
	c, _ := play(t, 600)
	all := gather(t, c)
	ticks := all["netcode_tick_seconds"].Metric[0].GetHistogram()
	require.InDelta(t, 300, float64(ticks.GetSampleCount()), 5)
	require.Len(t, all["netcode_phase_seconds"].Metric, 6)
	sum := 0.0
	for _, m := range all["netcode_phase_seconds"].Metric {
		require.Equal(t, ticks.GetSampleCount(), m.GetHistogram().GetSampleCount(), m.Label)
		require.Positive(t, m.GetHistogram().GetSampleSum(), m.Label)
		sum += m.GetHistogram().GetSampleSum()
	}
	require.InDelta(t, ticks.GetSampleSum(), sum, 1e-9)
	require.Positive(t, all["netcode_round_trip_seconds"].Metric[0].GetHistogram().GetSampleCount())
	require.InDelta(t, 9, float64(all["netcode_client_sent_bytes_per_second"].Metric[0].GetHistogram().GetSampleCount()), 1)
}

// Each row that was sent counts once, with its bytes, for its component alone, also while no page is open.
func TestBytesAndRowsByComponent(t *testing.T) {
	const bodies, ticks = 20, 300
	r := newRig(t, netcode.Config{})
	r.join("")
	places := generic.NewMap2[components.Replicated, place](&r.world)
	var all []ecs.Entity
	r.group.Add(tick.Update, systems.Func(func(*ecs.World) {
		for n, e := range all {
			if _, at := places.Get(e); r.server.TickDue() {
				at.X += float32(n + 1)
			}
		}
	}))
	r.step(120)
	for range bodies {
		all = append(all, places.New())
	}
	r.step(2 * ticks)
	found := gather(t, r.collector)
	count := func(name, component string) float64 {
		for _, m := range found[name].Metric {
			if len(m.Label) == 0 || m.Label[0].GetValue() == component {
				return m.GetCounter().GetValue()
			}
		}
		return -1
	}
	rows := count("netcode_component_sent_rows_total", "place")
	require.InDelta(t, bodies*ticks, rows, bodies*40, "the copy is up to a second old, and the last quarter of one is not taken yet")
	require.InDelta(t, 3, count("netcode_component_sent_bytes_total", "place")/rows, 3)
	require.Zero(t, count("netcode_component_sent_rows_total", "rest"))
}

func TestNamesFollowTheConventions(t *testing.T) {
	c, _ := play(t, 10)
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
	for path, want := range map[string]string{
		"Packets.BytesSent": "netcode_packets_sent_bytes_total", "HistoryBytes": "netcode_history_bytes", "TicksSlipped": "netcode_ticks_slipped_total",
		"Messages.PerStage": "netcode_messages_per_stage_total",
	} {
		require.Equal(t, want, metrics.NameOf(path))
	}
}

// The dashboard and the alerts ask for metrics that there are.
func TestDashboardAndAlertsAskForMetricsThatThereAre(t *testing.T) {
	c, _ := play(t, 300)
	all := gather(t, c)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, file := range []string{"dashboard.json", "alerts.yml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		names := regexp.MustCompile(`netcode_[a-z_]+`).FindAllString(string(text), -1)
		require.NotEmpty(t, names)
		for _, name := range names {
			if all[name] == nil {
				name = suffix.ReplaceAllString(name, "")
			}
			require.Contains(t, all, name, file)
		}
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.Len(t, dashboard.Panels, 12)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			require.Equal(t, strings.Count(target.Expr, "("), strings.Count(target.Expr, ")"), target.Expr)
		}
	}
}
