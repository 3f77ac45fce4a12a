package metrics

import (
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/snapshot"
)

// copyEvery is the time between two copies of the server's figures.
const copyEvery = time.Second

// Collector collects the figures of one server. It implements prometheus.Collector.
type Collector struct {
	fields []field
	newest atomic.Pointer[copied]

	clients, entities, tick *prometheus.Desc
	bytes, rows             *prometheus.Desc

	ticks    prometheus.Histogram
	phases   [live.Inspect]prometheus.Observer
	byPhase  *prometheus.HistogramVec
	trips    prometheus.Histogram
	sentRate prometheus.Histogram

	// The loop owns all fields below.
	server    *netcode.Server
	copiedAt  netcode.Tick
	clientIDs []netcode.ClientID // As of copiedAt.
	sampled   int                // Index of the client sampled last.
	before    map[netcode.ClientID]sample
	sent      []componentSums
	places    []int // By row: index in sent.
}

// componentSums counts the bits and rows of a component in the datagrams that were read.
type componentSums struct {
	name       string
	bits, rows uint64
}

// field is one counter of Stats.
type field struct {
	path  []int
	desc  *prometheus.Desc
	gauge bool
}

// copied is an immutable copy of the server's figures.
type copied struct {
	stats             netcode.Stats
	clients, entities int
	tick              netcode.Tick
	sent              []componentSums
}

// sample is the number of bytes sent to a client up to a tick.
type sample struct {
	at   netcode.Tick
	sent uint64
}

// New makes a collector for the server of an inspector. It uses Inspector.OnFrame and Inspector.OnRead. Call it before the first
// frame.
func New(inspector *live.Inspector) *Collector {
	c := &Collector{
		fields: fieldsOf(reflect.TypeFor[netcode.Stats](), nil, ""), server: inspector.Server(), before: map[netcode.ClientID]sample{},
		clients:  prometheus.NewDesc("netcode_clients", "Clients that are connected.", nil, nil),
		entities: prometheus.NewDesc("netcode_entities", "Entities that are alive.", nil, nil),
		tick:     prometheus.NewDesc("netcode_tick", "The newest network tick.", nil, nil),
		bytes:    prometheus.NewDesc("netcode_component_sent_bytes_total", "Bytes of rows of a component that were sent.", []string{"component"}, nil),
		rows:     prometheus.NewDesc("netcode_component_sent_rows_total", "Rows of a component that were sent.", []string{"component"}, nil),
		ticks:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "netcode_tick_seconds", Help: "Time of frames with a network tick, game included.", Buckets: prometheus.ExponentialBuckets(50e-6, 2, 12)}),
		byPhase: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "netcode_phase_seconds", Help: "Time of the phases of frames with a network tick.", Buckets: prometheus.ExponentialBuckets(5e-6, 2, 14),
		}, []string{"phase"}),
		trips:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "netcode_round_trip_seconds", Help: "Smoothed round trips, the client's wait for its next tick included.", Buckets: prometheus.ExponentialBuckets(5e-3, 1.5, 14)}),
		sentRate: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "netcode_client_sent_bytes_per_second", Help: "Bytes a second to a client, without the headers of UDP and IP.", Buckets: prometheus.ExponentialBuckets(500, 2, 12)}),
	}
	for p := range c.phases {
		c.phases[p] = c.byPhase.WithLabelValues(live.Phase(p).String())
	}
	c.nameComponents(c.server.Store().Schema())
	c.copy()
	inspector.OnFrame(c.frame)
	inspector.OnRead(c.noteRead)
	return c
}

// noteRead adds up an account of datagrams. The loop calls it.
func (c *Collector) noteRead(a *inspect.Attribution) {
	for n := range a.State.Components {
		of := &a.State.Components[n]
		sum := &c.sent[c.places[n]]
		sum.bits += of.Spawn + of.Whole + of.Delta
		sum.rows += of.Rows[0] + of.Rows[1] + of.Rows[2]
	}
}

// nameComponents makes the sums. A component and its distance bands are rows with one name and share a sum.
func (c *Collector) nameComponents(schema *snapshot.Schema) {
	for row := range schema.Rows() {
		name := schema.Plan(row).Name()
		at := slices.IndexFunc(c.sent, func(s componentSums) bool { return s.name == name })
		if at < 0 {
			at = len(c.sent)
			c.sent = append(c.sent, componentSums{name: name})
		}
		c.places = append(c.places, at)
	}
}

// fieldsOf lists the counters of a struct, including nested structs.
func fieldsOf(t reflect.Type, path []int, prefix string) (all []field) {
	for n := range t.NumField() {
		f := t.Field(n)
		at := append(path[:len(path):len(path)], n)
		if f.Type.Kind() == reflect.Struct {
			of := prefix + f.Name + "."
			if f.Anonymous {
				of = prefix
			}
			all = append(all, fieldsOf(f.Type, at, of)...)
			continue
		}
		one := field{path: at, gauge: isGauge(prefix + f.Name)}
		one.desc = prometheus.NewDesc(NameOf(prefix+f.Name), "Stats."+prefix+f.Name+" of package netcode.", nil, nil)
		all = append(all, one)
	}
	return all
}

// isGauge reports whether a counter can decrease.
func isGauge(path string) bool { return path == "HistoryBytes" }

// NameOf returns the metric's name for a counter of netcode.Stats: netcode_packets_sent_bytes_total for the path
// Packets.BytesSent.
func NameOf(path string) string {
	var words []string
	for _, part := range strings.Split(path, ".") {
		split := wordsOf(part)
		if len(split) > 1 && split[0] == "bytes" { // The unit comes last.
			split = append(split[1:], "bytes")
		}
		words = append(words, split...)
	}
	name := "netcode_" + strings.Join(words, "_")
	if isGauge(path) {
		return name
	}
	return name + "_total"
}

// wordsOf splits a camel-case name into words in lower case.
func wordsOf(name string) (words []string) {
	from := 0
	for n, r := range name {
		if n > 0 && unicode.IsUpper(r) && !unicode.IsUpper(rune(name[n-1])) {
			words, from = append(words, strings.ToLower(name[from:n])), n
		}
	}
	return append(words, strings.ToLower(name[from:]))
}

// frame observes a frame. The loop calls it.
func (c *Collector) frame(times *[live.NumPhases]time.Duration, tick bool) {
	if !tick {
		return
	}
	c.look()
	sum := time.Duration(0)
	for p, observer := range c.phases {
		observer.Observe(times[p].Seconds())
		sum += times[p]
	}
	c.ticks.Observe(sum.Seconds())
	if now := c.server.Tick(); time.Duration(now-c.copiedAt)*c.server.Interval() >= copyEvery {
		c.copy()
	}
}

// copy publishes a copy of the server's figures.
func (c *Collector) copy() {
	now := &copied{stats: c.server.Stats(), entities: c.server.Store().Len(), tick: c.server.Tick(), sent: slices.Clone(c.sent)}
	c.clientIDs = slices.AppendSeq(c.clientIDs[:0], c.server.Clients)
	now.clients = len(c.clientIDs)
	c.newest.Store(now)
	c.copiedAt = now.tick
	for id := range c.before {
		if extend.OfServer(c.server).Session(id) == nil {
			delete(c.before, id)
		}
	}
}

// look samples so many clients that each is sampled once a second.
func (c *Collector) look() {
	for range min(len(c.clientIDs)/c.server.TickRate()+1, len(c.clientIDs)) {
		c.sampled = (c.sampled + 1) % len(c.clientIDs)
		c.sample(c.clientIDs[c.sampled])
	}
}

// sample samples the connection of a client, if it still exists.
func (c *Collector) sample(next netcode.ClientID) {
	stats, ok := c.server.ClientStats(next)
	if !ok {
		return
	}
	if stats.RTT > 0 {
		c.trips.Observe(stats.RTT.Seconds())
	}
	before, now := c.before[next], sample{c.server.Tick(), stats.Packets.BytesSent}
	if gone := time.Duration(now.at-before.at) * c.server.Interval(); before.at == 0 || gone >= copyEvery {
		if before.at > 0 && now.sent >= before.sent { // Otherwise it is a new session of the same player.
			c.sentRate.Observe(float64(now.sent-before.sent) / gone.Seconds())
		}
		c.before[next] = now
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for n := range c.fields {
		to <- c.fields[n].desc
	}
	to <- c.clients
	to <- c.entities
	to <- c.tick
	to <- c.bytes
	to <- c.rows
	c.ticks.Describe(to)
	c.byPhase.Describe(to)
	c.trips.Describe(to)
	c.sentRate.Describe(to)
}

// Collect implements prometheus.Collector. It may be called from any goroutine.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	now := c.newest.Load()
	stats := reflect.ValueOf(now.stats)
	for n := range c.fields {
		kind := prometheus.CounterValue
		if c.fields[n].gauge {
			kind = prometheus.GaugeValue
		}
		to <- prometheus.MustNewConstMetric(c.fields[n].desc, kind, float64(stats.FieldByIndex(c.fields[n].path).Uint()))
	}
	to <- prometheus.MustNewConstMetric(c.clients, prometheus.GaugeValue, float64(now.clients))
	to <- prometheus.MustNewConstMetric(c.entities, prometheus.GaugeValue, float64(now.entities))
	to <- prometheus.MustNewConstMetric(c.tick, prometheus.GaugeValue, float64(now.tick))
	for _, of := range now.sent {
		to <- prometheus.MustNewConstMetric(c.bytes, prometheus.CounterValue, float64(of.bits)/8, of.name)
		to <- prometheus.MustNewConstMetric(c.rows, prometheus.CounterValue, float64(of.rows), of.name)
	}
	c.ticks.Collect(to)
	c.byPhase.Collect(to)
	c.trips.Collect(to)
	c.sentRate.Collect(to)
}
