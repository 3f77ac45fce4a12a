package live_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

type place struct {
	X, Y float32 `net:"min=-256,max=256,step=0.01"`
}

type health struct{ Points int16 }

type ping struct{ N uint32 }

type steer struct{ X int8 }

// rig is a server with an inspector, and clients, on a virtual clock. Its loop belongs to the test's goroutine.
type rig struct {
	t         testing.TB
	now       time.Duration
	clock     func() time.Duration
	protocol  *netcode.Protocol
	network   *memory.Network
	link      transport.Link // Of each client, in both directions, from its join on.
	line      *transport.Conditioner
	group     *systems.ServerSystems
	server    *netcode.Server
	inspector *live.Inspector
	world     *ecs.World
	loop      *systems.Runner
	clients   []*systems.Runner
	sum       traffic
	totals    []traffic           // By frame.
	asks      chan chan []traffic // Of another goroutine, for totals.
	each      func()              // After each frame of the server; nil: nothing.

	onSend, onReceive func() // In the server's socket; nil: nothing.
}

// traffic is the count of a tap at a moment.
type traffic struct {
	at                           float64
	out, in, outPieces, inPieces uint64
}

// counter counts the datagrams of a socket.
type counter struct {
	*transport.Conditioner
	rig *rig
}

func (c *counter) Send(to transport.Addr, datagram []byte) error {
	if c.rig.onSend != nil {
		c.rig.onSend()
	}
	c.rig.sum.out += uint64(len(datagram))
	c.rig.sum.outPieces++
	return c.Conditioner.Send(to, datagram)
}

func (c *counter) Receive(buf []byte) (int, transport.Addr, error) {
	if c.rig.onReceive != nil {
		c.rig.onReceive()
	}
	n, from, err := c.Conditioner.Receive(buf)
	if n > 0 {
		c.rig.sum.in += uint64(n)
		c.rig.sum.inPieces++
	}
	return n, from, err
}

func newRig(t testing.TB, clients int) *rig {
	r := &rig{t: t, world: ecs.New(), asks: make(chan chan []traffic)}
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	netcode.Replicate[health](p)
	netcode.Handle(p, func(*netcode.Context, *ping) {}, netcode.FromServer())
	input.Register[steer](p)
	predict.Report(p)
	r.protocol, r.network = p, memory.NewNetwork()
	r.clock = func() time.Duration { r.now += time.Microsecond; return r.now }
	socket, err := r.network.Listen(transport.AddrOf(address(1)))
	require.NoError(t, err)
	r.server, err = netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	r.line = transport.Condition(socket, transport.Link{}, 1, func() time.Duration { return r.now })
	group := systems.NewServer(r.server, &counter{r.line, r}, func() time.Duration { return r.clock() })
	r.group = group
	moving := generic.NewFilter1[place]()
	group.Add(tick.Update, systems.Func(func(w *ecs.World) {
		for query := moving.Query(w); query.Next(); {
			query.Get().X += 0.01
		}
		_ = netcode.Send(r.server, netcode.ToAll(), &ping{1})
		for client := range r.server.Clients {
			_, _ = input.Of[steer](r.server, client)
		}
	}))
	r.inspector = live.New(group)
	r.loop = systems.NewRunner(r.world, r.inspector, 60)
	for n := range clients {
		r.join(uint16(n+2), nil)
	}
	return r
}

// join adds a client at an address.
func (r *rig) join(port uint16, payload []byte) {
	end, err := r.network.Listen(transport.AddrOf(address(port)))
	require.NoError(r.t, err)
	r.line.SetLinkFrom(transport.AddrOf(address(port)), r.link)
	client, err := netcode.NewClient(r.protocol, netcode.Config{})
	require.NoError(r.t, err)
	world := ecs.New()
	line := transport.Condition(end, r.link, uint64(port), func() time.Duration { return r.now })
	group := systems.NewClient(client, line, func() time.Duration { return r.clock() })
	told := false
	group.Add(tick.PreUpdate, systems.Func(func(*ecs.World) { // It plays, and tells of mispredictions as a simulation would.
		if client.State() == netcode.Connected && client.TickDue() {
			_ = input.Set(client, &steer{1})
			if told {
				return
			}
			told = true
			_ = netcode.Send(client, netcode.ToServer(), &predict.Reported{Stats: predict.Stats{Mispredictions: 21}, Newest: "tick 9, entity 3v1: <b>place.X"})
		}
	}))
	r.clients = append(r.clients, systems.NewRunner(world, group, 60))
	require.NoError(r.t, client.ConnectWith(transport.AddrOf(address(1)), payload))
}

// totalAt is the traffic up to the end of the frame of a moment.
func totalAt(totals []traffic, at float64) traffic {
	n, _ := slices.BinarySearchFunc(totals, at, func(t traffic, at float64) int { return cmp.Compare(t.at, at) })
	return totals[n]
}

// bodies adds entities of two components, and places of one.
func (r *rig) bodies(n int) {
	build := generic.NewMap3[components.Replicated, place, health](r.world)
	build.NewBatch(n)
}

func (r *rig) places(n int) {
	build := generic.NewMap2[components.Replicated, place](r.world)
	build.NewBatch(n)
}

// step runs some frames of all.
func (r *rig) step(frames int) {
	for range frames {
		r.loop.Step()
		if r.each != nil {
			r.each()
		}
		r.sum.at = r.now.Seconds()
		r.totals = append(r.totals, r.sum)
		r.rest()
		select {
		case to := <-r.asks:
			to <- slices.Clone(r.totals)
		default:
		}
	}
}

// rest ends a frame: the clients have theirs.
func (r *rig) rest() {
	for _, c := range r.clients {
		c.Step()
	}
	r.now += time.Second / 60
}

// useBare leaves the inspector out of the server's loop.
func (r *rig) useBare() { r.loop = systems.NewRunner(r.world, r.group, 60) }

// get asks the page, while the frames go on in this goroutine.
func (r *rig) get(path string) (status int, body string) {
	request := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	answer := httptest.NewRecorder()
	done := make(chan bool)
	go func() { defer close(done); r.inspector.ServeHTTP(answer, request) }()
	for {
		select {
		case <-done:
			return answer.Code, answer.Body.String()
		default:
			r.step(1)
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// patience is the longest time that a test waits; it is no limit of speed.
const patience = 60 * time.Second

// stream runs frames until so many snapshots came, and returns them.
func (r *rig) stream(path string, count int) (all []live.Snapshot) {
	page := httptest.NewServer(r.inspector)
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page.URL+path, nil)
	require.NoError(r.t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(r.t, err)
	came := make(chan live.Snapshot)
	go func() {
		defer close(came)
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var s live.Snapshot
				if json.Unmarshal([]byte(text), &s) == nil {
					came <- s
				}
			}
		}
	}()
	for end := time.Now().Add(patience); len(all) < count; {
		require.True(r.t, time.Now().Before(end), "%d of %d snapshots", len(all), count)
		select {
		case s := <-came:
			all = append(all, s)
		case <-time.After(200 * time.Microsecond): // So that the reader keeps up, and little is missed.
			r.step(1)
		}
	}
	cancel()
	for range came { // So that the reader ends.
		continue
	}
	page.Close()
	return all
}

// Each snapshot has the bytes and datagrams that a tap below the inspector counted since the one before, and its parts are all of the
// bits of them, to the last one.
func TestSnapshotsAddUpToTheDatagrams(t *testing.T) {
	r := newRig(t, 3)
	r.step(30)
	r.bodies(20)
	all := r.stream("/events?client=1", 40)
	compared, sent, came := 0, 0, 0
	parts := map[string]uint64{}
	for n := 1; n < len(all); n++ {
		if all[n].Number != all[n-1].Number+1 {
			continue
		}
		s, from, to := &all[n], totalAt(r.totals, all[n-1].At), totalAt(r.totals, all[n].At)
		require.Equal(t, live.Bandwidth{
			Out: to.out - from.out, OutPieces: to.outPieces - from.outPieces, In: to.in - from.in, InPieces: to.inPieces - from.inPieces, Parts: s.Bandwidth.Parts, Fields: s.Bandwidth.Fields,
			Entities: s.Bandwidth.Entities, Owners: s.Bandwidth.Owners,
		}, s.Bandwidth)
		for _, by := range []map[string]uint64{s.Bandwidth.Entities, s.Bandwidth.Owners} {
			of := uint64(0)
			for _, b := range by {
				of += b
			}
			require.Equal(t, 8*s.Bandwidth.Out, of)
		}
		sum, rows, fields := uint64(0), uint64(0), uint64(0)
		for name, b := range s.Bandwidth.Parts {
			sum += b
			parts[name] += b
			if strings.HasPrefix(name, "place ") || strings.HasPrefix(name, "health ") {
				rows += b
			}
		}
		for name, b := range s.Bandwidth.Fields {
			fields += b
			parts[name] += b
		}
		require.Equal(t, 8*s.Bandwidth.Out, sum)
		require.Equal(t, rows, fields, "the fields are all of their components")
		for _, p := range s.Packets {
			if sent++; !p.Out {
				sent--
				came += len(p.Acked)
			}
		}
		compared++
	}
	require.Positive(t, compared, "of %d snapshots", len(all))
	for _, name := range []string{"headers", "checksums", "which components", "place delta", "message ping", "place.X", "place: which fields"} {
		require.NotZero(t, parts[name], "%s of %v", name, parts)
	}
	require.Positive(t, sent)
	require.Positive(t, came)
	last := all[len(all)-1]
	require.Len(t, last.Clients, 3)
	require.True(t, last.Clients[2].Sent > 0 && last.Clients[2].RTT > 0 && last.Clients[2].Known == 20, "%+v", last.Clients)
	require.NotEmpty(t, last.Ticks)
	if runtime.GOOS == "linux" {
		require.Positive(t, last.Times.Processor)
	}
	for p := live.Receive; p < live.NumPhases; p++ {
		require.Positive(t, last.Ticks[0].Phases[p], p) // The virtual clock goes on with each look at it.
	}
}

func TestEntitiesAreFound(t *testing.T) {
	r := newRig(t, 2)
	r.step(30)
	r.bodies(250)
	r.places(2)
	r.step(30)
	var found live.Entities
	ask := func(find string) live.Entities {
		status, text := r.get("/entities?find=" + find)
		require.Equal(t, http.StatusOK, status, text)
		found = live.Entities{}
		require.NoError(t, json.Unmarshal([]byte(text), &found))
		return found
	}
	require.Len(t, ask("").Found, 100)
	require.True(t, found.More)
	e := ask("7").Found
	require.Len(t, e, 1)
	require.True(t, strings.HasPrefix(e[0].ID, "7v"))
	require.Len(t, e[0].Components, 2)
	require.Equal(t, 2, e[0].SeenBy)
	require.True(t, e[0].Seers[0].Held)
	require.Equal(t, e[0].ID, ask(e[0].ID).Found[0].ID)
	require.Empty(t, ask("7v99").Found)
	require.Len(t, ask("health%20251").Found, 0)
	require.Empty(t, ask("owner:9").Found)
	require.NotEmpty(t, ask("seen:1%20place").Found)
	r.server.Hide(1, netcode.NetworkID{Index: 7, Generation: 1})
	r.step(10)
	require.Equal(t, 1, ask("7").Found[0].SeenBy)
	require.Empty(t, ask("7%20seen:1").Found)
	for _, wrong := range []string{"owner:x", "7vx", "8x", "color:1"} {
		status, _ := r.get("/entities?find=" + wrong)
		require.Equal(t, http.StatusBadRequest, status, wrong)
	}
}

// An entity is shown as it is at the chosen client: with the value that the server had at the tick that it has acknowledged, in whatever order
// acknowledgements come, and with the policies by which it sees it.
func TestEntitiesAsAClientHasThem(t *testing.T) {
	r := newRig(t, 2)
	owners, own := interest.NewOwnerOnly(interest.OwnerConfig{}), interest.NewExplicit()
	r.server.SetInterest(interest.New(interest.Any(owners, own), interest.Despawn))
	r.step(30)
	r.bodies(3)
	r.step(2)
	id := netcode.NetworkID{Index: 1, Generation: 1}
	was := map[int64]string{} // The place by tick.
	look := func(client string) (e live.Entity, tick int64) {
		var found live.Entities
		_, text := r.get("/entities?find=1&client=" + client)
		require.NoError(t, json.Unmarshal([]byte(text), &found))
		require.Len(t, found.Found, 1)
		return found.Found[0], found.Tick
	}
	r.each = func() {
		store := r.server.Store()
		if row := store.Row(id, 1); row != nil {
			was[int64(store.Tick())] = string(store.Schema().Plan(1).AppendValues(nil, row))
		}
	}
	require.Equal(t, "place", r.server.Store().Schema().Plan(1).Name())
	e, _ := look("1")
	require.Empty(t, e.Why)
	require.Nil(t, e.Components[1].Held, "it is not seen")
	require.Zero(t, e.Weight)
	own.Show(1, id)
	old := 0
	for range 40 {
		r.step(3)
		e, now := look("1")
		require.Equal(t, []string{"Explicit"}, e.Why)
		require.Equal(t, 1.0, e.Weight)
		held := e.Components[1].Held
		if held == nil {
			continue
		}
		require.LessOrEqual(t, held.Tick, now)
		require.Equal(t, was[held.Tick], held.Value, "tick %d of %d", held.Tick, now)
		if held.Value != e.Components[1].Value {
			old++
		}
		require.Equal(t, e.Components[0].Value, e.Components[0].Held.Value, "health does not change")
	}
	require.Positive(t, old, "it was never behind")
	e, _ = look("2")
	require.Empty(t, e.Why)
	require.Nil(t, e.Components[1].Held)
}

// Inputs are counted at the server, and mispredictions are what clients report.
func TestInputsAndMispredictionsOfClients(t *testing.T) {
	r := newRig(t, 2)
	r.step(60)
	_, text := r.get("/snapshot")
	var s live.Snapshot
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	require.Len(t, s.Clients, 2)
	for _, key := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(text, -1) {
		require.Equal(t, strings.ToLower(key[1]), key[1], "%s", text)
	}
	for _, c := range s.Clients {
		require.Greater(t, c.Inputs.Taken, uint64(20))
		require.NotNil(t, c.Predicts)
		require.EqualValues(t, 21, c.Predicts.Mispredictions)
		require.Contains(t, c.Predicts.Newest, "3v1")
	}
}

// Each counter of Stats is there by its path, and one that moved is in the next snapshot.
func TestCountersThatMove(t *testing.T) {
	r := newRig(t, 1)
	names := map[string]bool{}
	for _, s := range r.stream("/events", 8) {
		for _, c := range s.Counters {
			names[c.Name] = true
		}
	}
	for _, name := range []string{"Packets.Acked", "Packets.Sent", "Packets.BytesReceived"} {
		require.True(t, names[name], "%s of %v", name, names)
	}
	require.False(t, names["Malformed"])
}

// A player who connects anew has the id of before and is the last of the clients: the table has the new connection's row.
func TestAPlayerWhoConnectsAnewHasARow(t *testing.T) {
	r := newRig(t, 0)
	r.server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	var last live.Snapshot
	for n, name := range []string{"Ada", "Bob", "Cid", "Ada"} {
		r.join(uint16(n+2), []byte(name))
		r.step(60)
		_, text := r.get("/snapshot")
		require.NoError(t, json.Unmarshal([]byte(text), &last))
	}
	require.Len(t, last.Clients, 3)
	require.Equal(t, uint32(1), last.Clients[2].ID)
	require.Equal(t, address(5).String(), last.Clients[2].Address)
}

// A host has no address: it is named so.
func TestTheAddressOfAHost(t *testing.T) {
	r := newRig(t, 1)
	socket, err := r.network.Listen(transport.AddrOf(address(9)))
	require.NoError(t, err)
	server, err := netcode.NewServer(r.protocol, netcode.Config{})
	require.NoError(t, err)
	client, err := netcode.NewClient(r.protocol, netcode.Config{})
	require.NoError(t, err)
	host, err := systems.NewHost(server, client, socket, r.clock)
	require.NoError(t, err)
	r.inspector = live.New(host)
	r.loop = systems.NewRunner(r.world, r.inspector, 60)
	r.step(60)
	_, text := r.get("/snapshot")
	var s live.Snapshot
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	require.Len(t, s.Clients, 1)
	require.Equal(t, "host", s.Clients[0].Address)
}

func TestTheHandlerIsReadOnlyAndLocal(t *testing.T) {
	r := newRig(t, 0)
	for _, c := range []struct {
		method, host, path string
		want               int
	}{
		{http.MethodGet, "127.0.0.1:6060", "/", 200}, {http.MethodGet, "localhost", "/", 200}, {http.MethodGet, "[::1]:6060", "/", 200},
		{http.MethodPost, "localhost", "/", 405}, {http.MethodDelete, "localhost", "/entities", 405}, {http.MethodGet, "localhost", "/other", 404},
		{http.MethodGet, "game.example:6060", "/", 403}, {http.MethodGet, "10.0.0.1", "/snapshot", 403}, {http.MethodGet, "", "/", 403},
	} {
		request := httptest.NewRequest(c.method, "http://localhost"+c.path, nil)
		request.Host = c.host
		answer := httptest.NewRecorder()
		r.inspector.ServeHTTP(answer, request)
		require.Equal(t, c.want, answer.Code, "%v", c)
		if c.path == "/" && c.want == 200 {
			require.NotContains(t, answer.Body.String(), "http", "the page loads nothing")
		}
	}
	_, _, err := r.inspector.Listen("0.0.0.0:0")
	require.ErrorContains(t, err, "open to others")
	url, stop, err := r.inspector.Listen("127.0.0.1:0")
	require.NoError(t, err)
	answer, err := http.Get(url)
	require.NoError(t, err)
	text, _ := io.ReadAll(answer.Body)
	require.NoError(t, answer.Body.Close())
	require.Contains(t, string(text), "<title>")
	require.NoError(t, stop())
}

// Show does nothing without an address, and refuses those that Listen refuses.
func TestShow(t *testing.T) {
	group, out := newRig(t, 0).group, bytes.Buffer{}
	shown, stop, err := live.Show(group, "", &out)
	require.NoError(t, err)
	require.Same(t, group, shown)
	require.NoError(t, stop())
	require.Empty(t, out.String())
	_, _, err = live.Show(group, "0.0.0.0:0", &out)
	require.ErrorContains(t, err, "open to others")
	shown, stop, err = live.Show(group, "127.0.0.1:0", &out)
	require.NoError(t, err)
	require.IsType(t, &live.Inspector{}, shown)
	require.Regexp(t, `^look inside at http://127.0.0.1:\d+/\n$`, out.String())
	require.NoError(t, stop())
}

// A request for /ticks alone is told of ticks, and makes the loop measure nothing else: a page that opens then begins with its first snapshot.
func TestTicksAloneAreMeasured(t *testing.T) {
	r := newRig(t, 1)
	r.bodies(5)
	r.step(60)
	looks := func() (least time.Duration) { // By the clock, which goes on with each look at it.
		least = time.Hour
		for range 8 {
			from := r.now
			r.step(2)
			least = min(least, r.now-from)
		}
		return least
	}
	before := looks()
	for range 2 { // Each after a pause, in which the measurement stopped.
		from := r.now
		_, body := r.get("/ticks")
		require.Regexp(t, `"p50":[1-9].*"p99":[1-9]`, body)
		if runtime.GOOS == "linux" {
			require.Regexp(t, `"processor":[1-9]`, body)
		}
		require.Greater(t, r.now-from, 250*time.Millisecond)
		require.Greater(t, looks(), before)
		r.step(60 * 4)
		require.Equal(t, before, looks())
	}
	require.EqualValues(t, 1, r.stream("/events", 1)[0].Number)
}

// A request for /snapshot alone has a row of each client and ticks, however long the pause before it, and lists in place of null.
func TestOneSnapshotTellsAll(t *testing.T) {
	for _, clients := range []int{0, 1, 13} {
		r := newRig(t, clients)
		r.step(120)
		for range 2 {
			_, body := r.get("/snapshot")
			require.NotContains(t, strings.ReplaceAll(body, `"predicts":null`, ""), "null")
			var s live.Snapshot
			require.NoError(t, json.Unmarshal([]byte(body), &s))
			require.Len(t, s.Clients, clients)
			require.Zero(t, s.Missing)
			require.Greater(t, len(s.Ticks), 1)
			require.Positive(t, s.Times.P50)
			require.Positive(t, s.Bandwidth.Out+uint64(1-min(clients, 1)))
			r.step(60 * 4)
		}
	}
}

// Where the rows of clients take long, one comes in each tick, and the request waits for the last one.
func TestASnapshotWaitsForSlowRows(t *testing.T) {
	r := newRig(t, 20)
	r.step(120)
	r.clock = func() time.Duration { r.now += 200 * time.Microsecond; return r.now } // More than the inspector may take, with each look.
	_, body := r.get("/snapshot")
	var s live.Snapshot
	require.NoError(t, json.Unmarshal([]byte(body), &s))
	require.Len(t, s.Clients, 20)
	require.Greater(t, s.Number, uint64(1))
	require.Regexp(t, "client 20 connected", s.Log, "of the snapshots that were not enough")
}

// A page of another site takes no place and gets no answer, whatever it asks for, but may link to the page.
func TestAnotherSiteIsRefused(t *testing.T) {
	r := newRig(t, 0)
	for _, c := range []struct {
		host, site, origin string
		public, refused    bool
	}{
		{host: "localhost:6060"}, // a program, or an old browser
		{host: "localhost:6060", site: "same-origin"},
		{host: "127.0.0.1:6060", site: "none"},
		{host: "127.0.0.1:6060", origin: "http://127.0.0.1:6060"},
		{host: "localhost:6060", site: "cross-site", refused: true},
		{host: "localhost:6060", site: "cross-site", origin: "https://evil.example", refused: true},
		{host: "localhost:6060", site: "same-site", refused: true}, // another server of this machine
		{host: "localhost:6060", origin: "https://evil.example", refused: true},
		{host: "localhost:6060", origin: "null", refused: true},
		{host: "localhost:6060", origin: "http://localhost:3000", refused: true},
		{host: "inspector.example", site: "cross-site", public: true, refused: true},
		{host: "10.0.0.7:6060", origin: "https://inspector.example", public: true}, // behind a proxy
	} {
		if c.public {
			r.inspector.AllowOthers()
		}
		ask := func(path string) int {
			gone, leave := context.WithCancel(t.Context())
			leave() // nobody waits for an answer
			request := httptest.NewRequest(http.MethodGet, path, nil).WithContext(gone)
			request.Host = c.host
			for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
				if value != "" {
					request.Header.Set(name, value)
				}
			}
			answer := httptest.NewRecorder()
			r.inspector.ServeHTTP(answer, request)
			return answer.Code
		}
		want := http.StatusOK
		if c.refused {
			want = http.StatusForbidden
		}
		require.Equal(t, http.StatusOK, ask("/"), "%+v", c)
		for _, path := range []string{"/events", "/events?client=1", "/snapshot", "/ticks", "/entities?find=1"} {
			require.Equal(t, want, ask(path), "%s %+v", path, c)
		}
	}
}

// While nobody looks, a loop with an inspector allocates nothing.
func TestNobodyLooks(t *testing.T) {
	r := newRig(t, 1)
	r.step(120)
	r.places(10)
	r.step(3000)
	alloctest.Zero(t, 60, func() {
		r.loop.Step()
		r.clients[0].Step() // Takes its datagrams.
		r.now += time.Second / 60
	})
}

func address(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
}

// knowing is a socket that knows how long datagrams waited.
type knowing struct {
	*memory.Conn
	closed bool
}

func (k *knowing) Waited() time.Duration                                        { return 7 * time.Millisecond }
func (k *knowing) SendAll(_ []transport.Addr, _ [][]byte, _ []int) (int, error) { return 5, nil }
func (k *knowing) Close() error                                                 { k.closed = true; return nil }

// An inspector changes nothing: the loop asks its socket for all that it asked the one inside.
func TestTheSocketKeepsWhatItKnows(t *testing.T) {
	group := func(socket systems.Socket) *systems.ServerSystems {
		server, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
		require.NoError(t, err)
		g := systems.NewServer(server, socket, systems.WallClock())
		live.New(g)
		return g
	}
	inside, err := memory.NewNetwork().Listen(transport.AddrOf(address(1)))
	require.NoError(t, err)
	k := &knowing{Conn: inside}
	socket := group(k).Receive.Socket
	require.Equal(t, 7*time.Millisecond, transport.WaitedOf(socket))
	failed, err := socket.(transport.BatchSender).SendAll(nil, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 5, failed)
	require.NoError(t, socket.(io.Closer).Close())
	require.True(t, k.closed)

	socket = group(inside).Receive.Socket
	require.Zero(t, transport.WaitedOf(socket))
	require.NotImplements(t, (*transport.BatchSender)(nil), socket)
}

// A socket that Attach opens later has the tap too.
func TestASocketThatIsAttachedLater(t *testing.T) {
	r := newRig(t, 0)
	r.step(1)
	r.group.Detach()
	r.step(2)
	socket, err := r.network.Listen(transport.AddrOf(address(1)))
	require.NoError(t, err)
	require.NoError(t, r.group.Attach(socket))
	r.step(2)
	require.NoError(t, r.group.Attach(socket), "it stays open")
	r.step(2)
	r.join(2, nil)
	in, out := uint64(0), uint64(0)
	for range 5 {
		var s live.Snapshot
		_, text := r.get("/snapshot")
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		in, out = in+s.Bandwidth.In, out+s.Bandwidth.Out
	}
	require.Positive(t, in)
	require.Positive(t, out)
}

func TestAFigureThatIsNoNumberIsTold(t *testing.T) {
	r := newRig(t, 0)
	r.inspector.Figure("rate", math.NaN)
	status, text := r.get("/snapshot")
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, text, "NaN")
}

// Pages and questions are bounded: the one too many is told so, and has its turn later.
func TestTooManyLookers(t *testing.T) {
	r := newRig(t, 0)
	page := httptest.NewServer(r.inspector)
	defer page.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	get := func(path string) *http.Response {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, page.URL+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		return answer
	}
	for range 16 {
		answer := get("/events")
		require.Equal(t, http.StatusOK, answer.StatusCode)
		defer answer.Body.Close()
	}
	for _, path := range []string{"/events", "/snapshot"} {
		answer := get(path)
		require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
	}
	statuses := make(chan int, 40)
	for range cap(statuses) { // The loop stands still.
		go func() {
			request := httptest.NewRequest(http.MethodGet, "http://localhost/entities", nil).WithContext(ctx)
			answer := httptest.NewRecorder()
			r.inspector.ServeHTTP(answer, request)
			statuses <- answer.Code
		}()
	}
	for range cap(statuses) - 16 {
		require.Equal(t, http.StatusServiceUnavailable, <-statuses)
	}
	r.step(60)
	for range 16 {
		require.Equal(t, http.StatusOK, <-statuses)
	}
}

// Texts of players come to the page as JSON, and the page makes no markup of any.
func TestThePageMakesNoMarkupOfTexts(t *testing.T) {
	r := newRig(t, 0)
	_, text := r.get("/")
	for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		require.NotContains(t, text, way)
	}
}
