package load_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/load"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

type place struct{ X, Y float32 }

type steer struct {
	X int8 `net:"min=-1,max=1"`
}

// hail is a message that the server answers each new client with.
type hail struct{ Client uint32 }

// patience is the longest time that a test waits; it is no limit of speed.
const patience = 60 * time.Second

// partVariable is the environment variable with the flags of a process of bots that a test started.
const partVariable = "NETCODE_LOAD_PART"

// TestMain lets the test's own program be one of several processes, and more tests run at once than there are processors: most wait for real time.
func TestMain(m *testing.M) {
	if flags := os.Getenv(partVariable); flags != "" {
		args := append(strings.Fields(flags), os.Args[len(os.Args)-2:]...)
		os.Exit(load.Main(context.Background(), args, os.Stdout, os.Stderr, bots()))
	}
	_ = flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

func protocolOf(onHail func(*netcode.Context, *hail)) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[place](p)
	input.Register[steer](p)
	netcode.Handle(p, onHail, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	return p
}

// serve runs a server in which each client has a body that its input moves.
func serve(t *testing.T, clients int) (address transport.Addr, moved *atomic.Int64) {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no sockets here")
	}
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{ReadBuffer: 1 << 22, Queue: 1 << 14})
	require.NoError(t, err)
	server, err := netcode.NewServer(protocolOf(nil), netcode.Config{Clients: clients, SilenceTimeout: patience, HandshakesPerAddress: -1, HandshakesPerNetwork: -1})
	require.NoError(t, err)
	world := ecs.New()
	loop := systems.NewServer(server, socket, systems.WallClock())
	bodies := map[netcode.ClientID]ecs.Entity{}
	build, places := generic.NewMap2[components.Replicated, place](world), generic.NewMap1[place](world)
	server.OnConnect(func(id netcode.ClientID) {
		bodies[id] = build.New()
		_ = netcode.Send(server, netcode.To(id), &hail{Client: uint32(id)})
	})
	server.OnDisconnect(func(id netcode.ClientID, _ *netcode.CloseError) {
		world.RemoveEntity(bodies[id])
		delete(bodies, id)
	})
	moved = &atomic.Int64{}
	loop.Add(tick.Update, systems.Func(func(*ecs.World) {
		if !server.TickDue() {
			return
		}
		for id, body := range bodies {
			if in, ok := input.Of[steer](server, id); ok && in.X != 0 {
				places.Get(body).X += float32(in.X)
				moved.Add(1)
			}
		}
	}))
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = systems.NewRunner(world, loop, 60).Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-over })
	return socket.LocalAddr(), moved
}

// bots steer at random, and remember the message of the server.
func bots() load.Game {
	return load.Game{
		Protocol: protocolOf(func(ctx *netcode.Context, m *hail) { load.BotOf(ctx.End).State = m.Client }),
		Config:   netcode.Config{HandshakeTimeout: patience, SilenceTimeout: patience},
		Play: func(b *load.Bot) {
			x := int8(1)
			if b.Random.IntN(2) == 0 {
				x = -1
			}
			_ = input.Set(b.Client, &steer{X: x})
		},
	}
}

// playUntil plays until enough is true of a sample.
func playUntil(t *testing.T, game load.Game, o load.Options, enough func(s *load.Sample) bool) *load.Report {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	done := false
	o.For = patience
	o.Each = func(s *load.Sample) {
		if done = done || enough(s); done {
			stop()
		}
	}
	report, err := load.Run(ctx, game, o)
	require.NoError(t, err)
	require.True(t, done, "%s", report)
	return report
}

// Two hundred bots join over UDP and play by inputs: each is connected, moves its body and sees that, and what is told of them is there.
func TestTwoHundredBotsPlay(t *testing.T) {
	t.Parallel()
	address, moved := serve(t, 256)
	greeted := atomic.Int64{}
	game := bots()
	game.Join = func(b *load.Bot) {
		seen := generic.NewFilter1[place]()
		b.Loop.Add(tick.PostLateUpdate, systems.Func(func(w *ecs.World) {
			query := seen.Query(w)
			all := query.Count() == 200
			query.Close()
			if b.State != nil && all {
				greeted.Add(1)
				b.State = nil
			}
		}))
	}
	report := playUntil(t, game, load.Options{Servers: []transport.Addr{address}, Bots: 200, Ramp: 400, Rate: 30, Seed: 1}, func(s *load.Sample) bool {
		return s.Connected == 200 && greeted.Load() == 200 && s.State.N > 0 && s.RTT.N > 0
	})
	require.Zero(t, report.Failed, report.First)
	require.Positive(t, moved.Load())
	last := report.Samples[len(report.Samples)-1]
	require.Positive(t, last.Up)
	require.Positive(t, last.Down)
	require.Positive(t, last.Late.N)
	require.Contains(t, report.String(), "first failure   none")
}

// A bot that finds no place is the first failure, and the answer to how many the machine holds is those that did.
func TestTheFirstFailureEndsTheSearch(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, 5)
	game := bots()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	report, err := load.Run(ctx, game, load.Options{
		Servers: []transport.Addr{address}, Bots: 100, Ramp: 4, Bound: time.Hour, For: patience,
		Ticks: func() (load.TickTimes, error) { return load.TickTimes{P50: 1, P99: 2}, nil },
	})
	require.NoError(t, err)
	require.True(t, report.Full)
	require.Contains(t, report.First, "5 of 5 places are taken")
	require.Contains(t, report.String(), "this machine holds ")
	require.LessOrEqual(t, report.Holds, 5)
}

// A bad link is there in both directions, for every other bot: the client measures its round trip, and both lose packets.
func TestABadLinkIsThereInBothDirections(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, 16)
	game := bots()
	var lost [4]atomic.Int64 // Of those that were not late alone.
	game.Join = func(b *load.Bot) {
		b.Loop.Add(tick.PostLateUpdate, systems.Func(func(*ecs.World) {
			p := b.Client.Stats().Packets
			lost[b.Number].Store(int64(p.Lost) - int64(p.LateAcks))
		}))
	}
	link := transport.Link{Delay: 60 * time.Millisecond, Loss: 0.3}
	report := playUntil(t, game, load.Options{Servers: []transport.Addr{address}, Bots: 4, Ramp: 100, Link: link, Bad: 0.5, Seed: 3}, func(s *load.Sample) bool {
		const many = 5
		bad, good := min(lost[1].Load(), lost[3].Load()), max(lost[0].Load(), lost[2].Load(), 0) // A busy machine loses some of any bot.
		return bad > many+3*good && s.RTT.N == 4
	})
	last := report.Samples[len(report.Samples)-1]
	require.GreaterOrEqual(t, last.RTT.At(1), 120*time.Millisecond)
	require.GreaterOrEqual(t, last.State.At(1), 120*time.Millisecond)
}

func TestAFaultOfTheTicksIsTold(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, 8)
	report, err := load.Run(context.Background(), bots(), load.Options{
		Servers: []transport.Addr{address}, Bots: 1, Bound: time.Second, For: 1100 * time.Millisecond,
		Ticks: func() (load.TickTimes, error) { return load.TickTimes{}, errors.New("no inspector there") },
	})
	require.NoError(t, err)
	require.Contains(t, report.String(), "never known: no inspector there")
}

func TestOptionsAreChecked(t *testing.T) {
	here := []transport.Addr{{}}
	for want, o := range map[string]load.Options{
		"Servers":   {Bots: 1},
		"Bots":      {Servers: here},
		"Ramp":      {Servers: here, Bots: 1, Ramp: -1},
		"Bad is":    {Servers: here, Bots: 1, Bad: 2},
		"give Tick": {Servers: here, Bots: 1, Bound: 1},
	} {
		_, err := load.Run(context.Background(), bots(), o)
		require.ErrorContains(t, err, want)
	}
	_, err := load.Run(context.Background(), load.Game{}, load.Options{Servers: here, Bots: 1})
	require.ErrorContains(t, err, "Game.Protocol")
}

// A percentile of the histogram is at most 9 % above that of the sorted times, and never below. Two halves add up to the whole.
func TestHistogramAgainstSortedTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var all []time.Duration
		var halves [2]load.Histogram
		for i := range 1 + random.IntN(3000) {
			d := time.Duration(float64(10*time.Microsecond) * (1 + random.ExpFloat64()*float64(random.IntN(10000))))
			all = append(all, d)
			halves[i%2].Add(d)
		}
		slices.Sort(all)
		halves[0].Merge(&halves[1])
		for _, share := range []float64{0, .5, .9, .99, 1} {
			want := all[max(0, int(share*float64(len(all))+0.999999)-1)]
			got := halves[0].At(share)
			require.GreaterOrEqual(t, got+1, want, "%v of %d", share, len(all))
			require.LessOrEqual(t, float64(got), 1.0906*float64(want)+1, "%v of %d", share, len(all))
		}
	}
	require.Zero(t, new(load.Histogram).At(.5))
}

// The plot is legal XML with a curve for each figure.
func TestThePlotIsXML(t *testing.T) {
	r := &load.Report{}
	var b bytes.Buffer
	require.NoError(t, r.WriteSVG(&b), "an empty one too")
	r.Samples = []load.Sample{{At: time.Second, Connected: 3, Down: 3000}, {At: 2 * time.Second, Connected: 6, Down: 12000}}
	b.Reset()
	require.NoError(t, r.WriteSVG(&b))
	text := b.String()
	require.Equal(t, 11, strings.Count(text, "<polyline"))
	require.Contains(t, text, `points="420.0,`, "the first second is half way")
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
}

// The samples of several processes add up. A run that is over before its first sample says so.
func TestSeveralProcesses(t *testing.T) {
	address, _ := serve(t, 8)
	for span, want := range map[string]string{"1ns": "give -for 1s or more", "1s": "of 2 bots connected, over "} {
		flags := fmt.Sprintf("-addr %v -n 2 -processes 2 -for %s", address, span)
		t.Setenv(partVariable, flags)
		var out bytes.Buffer
		_ = load.Main(context.Background(), strings.Fields(flags), &out, &out, bots())
		require.Contains(t, out.String(), want)
	}
}

// A bound that cannot be checked is an error: before the bots join where the inspector does not answer, and after them where it knew no ticks.
func TestABoundThatIsNotChecked(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, 8)
	for status, want := range map[int]string{http.StatusNotFound: "answers 404", http.StatusOK: "-bound 5ms was never checked"} {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, "{}")
		}))
		defer page.Close()
		args := []string{"-addr", address.String(), "-n", "1", "-for", "1s", "-bound", "5ms", "-inspect", page.URL}
		var out, complaints bytes.Buffer
		require.Equal(t, 1, load.Main(context.Background(), args, &out, &complaints, bots()), "%d: %s", status, &out)
		require.Contains(t, complaints.String(), want)
		require.Equal(t, status == http.StatusOK, strings.Contains(out.String(), "ticks were never known: the inspector told none"), "%s", &out)
		require.Equal(t, status == http.StatusOK, out.Len() > 0, "no bot joins where nobody answers")
	}
}

// The answer tells ticks that were not known from those that were above the bound to the end.
func TestTheAnswerAboutTheBound(t *testing.T) {
	second := func(p99 time.Duration) load.Sample { return load.Sample{Ticks: load.TickTimes{P99: p99}} }
	for want, r := range map[string]load.Report{
		"never known: the run was over": {Bound: 5},
		"never known: no route":         {Bound: 5, Samples: []load.Sample{{TicksFault: "no route"}}},
		"no second was within 5ns":      {Bound: 5, Samples: []load.Sample{second(9), second(9)}},
		"holds 3 players or more":       {Bound: 5, Holds: 3, Samples: []load.Sample{second(4)}},
	} {
		require.Contains(t, r.String(), want)
	}
}

// One line names the wrong flag, before the table.
func TestWrongFlags(t *testing.T) {
	const at = "-addr 127.0.0.1:1 "
	for args, want := range map[string]string{
		"":                                "-addr is missing",
		at + "-bound 33ms":                "give -inspect",
		at + "-bound -1s":                 "-bound -1s: it must be a time",
		at + "-work -inspect 127.0.0.1:1": "-work is of -bound: give -bound",
		at + "-n 0":                       "-n 0: it must be a whole number above 0",
		at + "-n -3 -processes 2":         "-n -3: it must be",
		at + "-ramp -5":                   "-ramp -5: it must be a number above 0",
		at + "-ramp 0":                    "-ramp 0: it must be",
		at + "-ramp NaN":                  "-ramp NaN: it must be",
		at + "-for -1s":                   "-for -1s: it must be a time above 0s",
		at + "-for 0s":                    "-for 0s: it must be",
		at + "-rate 5000":                 "-rate 5000: it must be a whole number from 1 to 1000",
		at + "-rate 0":                    "-rate 0: it must be",
		at + "-jitter -1ms":               "-jitter -1ms: it must be a time",
		at + "-loss x":                    `-loss "x"`,
		at + "more":                       "unexpected argument",
		at + "-processes 0":               "-processes 0: it must be a whole number from 1 to the number of bots",
		at + "-n 2 -processes 3":          "-processes 3: it must be",
	} {
		var out, complaints bytes.Buffer
		require.Equal(t, 2, load.Main(context.Background(), strings.Fields(args), &out, &complaints, bots()), args)
		require.Contains(t, complaints.String(), want, args)
		require.Equal(t, 1, strings.Count(complaints.String(), "\n"), args)
		require.Empty(t, out.String(), args)
	}
	var out, complaints bytes.Buffer
	require.Equal(t, 1, load.Main(context.Background(), []string{"-addr", "nowhere"}, &out, &complaints, bots()))
	require.Contains(t, complaints.String(), "nowhere")
}
