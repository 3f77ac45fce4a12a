package systems_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// serverSteps returns the steps of a server's frame in order, clientSteps those of a client's.
func serverSteps() []systems.Step {
	steps := []systems.Step{systems.StepReceive}
	for stage := range tick.Stage(tick.NumStages) {
		steps = append(steps, systems.StepDispatch(stage))
		if stage == tick.PreLateUpdate {
			steps = append(steps, systems.StepTick)
		}
	}
	return append(steps, systems.StepSend)
}

func clientSteps() []systems.Step {
	steps := slices.DeleteFunc(serverSteps(), func(s systems.Step) bool { return s == systems.StepTick })
	return slices.Insert(steps, slices.Index(steps, systems.StepDispatch(tick.EarlyUpdate)), systems.StepApply)
}

// reported runs two frames of steps on a server and returns the reported errors.
func reported(t *testing.T, steps []systems.Step) []systems.OrderError {
	return reportedIn(t, steps, steps)
}

// reportedIn is reported for any frames.
func reportedIn(t *testing.T, frames ...[]systems.Step) []systems.OrderError {
	s, err := netcode.NewServer(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	var got []systems.OrderError
	s.OnError(func(err error) {
		var order *systems.OrderError
		require.True(t, errors.As(err, &order))
		require.NotEmpty(t, order.Error())
		got = append(got, *order)
	})
	for _, steps := range frames {
		for _, step := range steps {
			systems.Enter(s, step)
		}
	}
	return got
}

func TestRightOrderIsSilent(t *testing.T) {
	require.Empty(t, reported(t, serverSteps()))
	again := slices.Insert(serverSteps(), 4, systems.StepDispatch(tick.FixedUpdate))
	require.Equal(t, systems.StepDispatch(tick.FixedUpdate), again[3])
	require.Empty(t, reported(t, again), "FixedUpdate may come any number of times")

	c, err := netcode.NewClient(netcode.NewProtocol(), netcode.Config{})
	require.NoError(t, err)
	c.OnError(func(err error) { require.NoError(t, err) })
	for _, step := range clientSteps() {
		systems.Enter(c, step)
	}
}

func TestMissingStepIsReportedInTheFirstFrame(t *testing.T) {
	for i, missing := range serverSteps() {
		if missing == systems.StepDispatch(tick.FixedUpdate) {
			continue
		}
		steps := slices.Delete(serverSteps(), i, i+1)
		require.Equal(t, []systems.OrderError{{Step: missing, Gone: true}}, reported(t, steps), missing.String())
	}
}

func TestStepOutOfPlaceIsReportedInTheFirstFrame(t *testing.T) {
	steps := serverSteps()
	capture := slices.Index(steps, systems.StepTick)
	steps[capture], steps[capture+1] = steps[capture+1], steps[capture]
	got := reported(t, steps)
	require.Equal(t, []systems.OrderError{{Step: systems.StepTick, After: systems.StepDispatch(tick.PostLateUpdate)}}, got)
	require.ErrorContains(t, &got[0], "Tick runs after Dispatch(PostLateUpdate)")

	steps = serverSteps()
	steps[capture], steps[capture+2] = steps[capture+2], steps[capture] // Send before capture.
	require.Contains(t, reported(t, steps), systems.OrderError{Step: systems.StepTick, Gone: true})
}

// A game whose frames are shorter than its fixed steps may have no fixed step in many frames. A game that never has one
// gets an error, once.
func TestFixedStepsMayBeginLater(t *testing.T) {
	fixed := systems.StepDispatch(tick.FixedUpdate)
	without := slices.DeleteFunc(serverSteps(), func(s systems.Step) bool { return s == fixed })
	require.Empty(t, reportedIn(t, without, without, serverSteps()))
	late := append(slices.Repeat([][]systems.Step{without}, 999), serverSteps(), without)
	require.Empty(t, reportedIn(t, late...))
	never := slices.Repeat([][]systems.Step{without}, 3000)
	got := reportedIn(t, never...)
	require.Equal(t, []systems.OrderError{{Step: fixed, Gone: true}}, got)
	require.ErrorContains(t, &got[0], "has not run in the first 1000 frames")

	broken := slices.DeleteFunc(slices.Clone(without), func(s systems.Step) bool { return s == systems.StepTick })
	require.Equal(t, []systems.OrderError{{Step: systems.StepTick, Gone: true}}, reportedIn(t, broken, broken, serverSteps()))
}

// A loop that runs each system twice in a row gets one error, which names the first.
func TestASystemTwiceInARowIsReportedOnce(t *testing.T) {
	var steps []systems.Step
	for _, s := range serverSteps() {
		steps = append(steps, s, s)
	}
	got := reported(t, steps)
	require.Equal(t, []systems.OrderError{{Step: systems.StepReceive, Twice: true}}, got)
	require.ErrorContains(t, &got[0], "Receive ran twice in one frame")
}

// A loop that runs one system alone, once a frame, is told of the steps that it lacks.
func TestOneSystemAloneIsNotTwice(t *testing.T) {
	only := []systems.Step{systems.StepReceive}
	for _, problem := range reportedIn(t, only, only, only) {
		require.True(t, problem.Gone, problem.Error())
	}
	require.NotEmpty(t, reportedIn(t, only, only, only))
}

func TestStepNames(t *testing.T) {
	require.Equal(t, "Step(200)", systems.Step(200).String())
	require.Equal(t, "Dispatch(Update)", systems.StepDispatch(tick.Update).String())
}

type aim struct{ N uint32 }

type armour struct{ N uint32 }

// ownGame has a client that writes its armour, sets its input and sends a message about its entity in every frame. Its
// server compares the three when it handles the message.
type ownGame struct {
	ends
	server  *systems.ServerSystems
	client  *systems.ClientSystems
	how     []netcode.Option
	id      netcode.NetworkID
	sending bool

	sent, handled            int
	beforeState, beforeInput int
}

func newOwnGame(t *testing.T, how ...netcode.Option) *ownGame {
	g := &ownGame{ends: newEnds(), how: how}
	p := netcode.NewProtocol()
	netcode.Replicate[hitPoints](p)
	netcode.Replicate[armour](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[components.Owner](p)
	input.Register[aim](p)
	netcode.Handle(p, g.handle, netcode.FromClient())
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 30})
	require.NoError(t, err)
	g.server = systems.NewServer(server, g.listen(t, serverAddress), g.clock)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	g.client = systems.NewClient(client, g.listen(t, transport.Addr{}), g.clock)
	require.NoError(t, client.Connect(serverAddress))
	server.OnError(g.report)
	client.OnError(g.report)
	w := g.world()
	server.OnConnect(func(id netcode.ClientID) {
		bodies := generic.NewMap4[components.Replicated, components.Owner, armour, hitPoints](w)
		bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &armour{}, &hitPoints{})
	})
	g.client.OnSpawn(func(_ ecs.Entity, id netcode.NetworkID) { g.id = id })
	g.client.Add(tick.Update, systems.Func(g.act))
	g.run(w, g.server)
	g.run(g.world(), g.client)
	g.until(t, func() bool { return !g.id.IsZero() && !authority.Rights(client, g.id).IsZero() })
	for range 120 { // The input clock settles.
		g.step()
	}
	return g
}

// act is the client's system of stage Update.
func (g *ownGame) act(w *ecs.World) {
	if !g.sending {
		return
	}
	g.sent++
	e, _ := g.client.Entity(g.id)
	armours := generic.NewMap1[armour](w)
	armours.Get(e).N = uint32(g.sent)
	if err := input.Set(g.client.Client, &aim{uint32(g.sent)}); err != nil {
		g.report(err)
	}
	if err := netcode.Send(g.client.Client, netcode.ToServer(), &hitMessage{uint32(g.sent)}, append(g.how, netcode.About(g.id))...); err != nil {
		g.report(err)
	}
}

// handle is the server's handler.
func (g *ownGame) handle(ctx *netcode.Context, m *hitMessage) {
	g.handled++
	e, _ := g.server.Entity(ctx.Entity)
	armours := generic.NewMap1[armour](g.worlds[0])
	if armours.Get(e).N < m.N {
		g.beforeState++
	}
	if in, _ := input.Of[aim](g.server.Server, ctx.Sender); in.N < m.N {
		g.beforeInput++
	}
}

func (g *ownGame) play(frames int) {
	for i := range 2 * frames {
		g.sending = i < frames
		g.step()
	}
}

// A client's message is handled after the client's writes of the same frame, and not before the tick of its input.
func TestMessageOfClientWaitsForItsStateAndInput(t *testing.T) {
	for name, how := range map[string][]netcode.Option{
		"unreliable": nil,
		"ordered":    {netcode.Over(netcode.ReliableOrdered)},
		"all state":  {netcode.AfterAllState()},
	} {
		t.Run(name, func(t *testing.T) {
			g := newOwnGame(t, how...)
			g.play(120)
			require.Empty(t, g.errors)
			require.Equal(t, 120, g.sent)
			require.Equal(t, g.sent, g.handled)
			require.Zero(t, g.beforeState, "messages handled before what their sender wrote, of %d", g.handled)
			require.Zero(t, g.beforeInput, "messages handled before the tick of their input, of %d", g.handled)
		})
	}
	g := newOwnGame(t, netcode.AtOnce())
	g.play(120)
	require.Equal(t, g.sent, g.handled)
	require.Positive(t, g.beforeState, "AtOnce overtakes")
	require.Positive(t, g.beforeInput, "AtOnce overtakes")
}

type hitPoints struct{ N uint32 }

type hitMessage struct{ N uint32 }

// hitGame has a server that changes an entity's hit points in every frame and sends a message about them. Its client
// compares both when it handles the message.
type hitGame struct {
	ends
	server *systems.ServerSystems
	client *systems.ClientSystems
	how    func(id netcode.NetworkID) []netcode.Option

	compare   func(m *hitMessage) // Also called by the handler, if set.
	moved     []float32           // By message: the X of all movers when it was sent.
	target    ecs.Entity
	id        netcode.NetworkID
	sending   bool
	sent      int
	handled   int
	overtaken int
	frames    int
}

// newHitGame runs both loops at a frame rate, with 30 network ticks per second.
func newHitGame(t *testing.T, frames, movers, budget int, how func(id netcode.NetworkID) []netcode.Option) *hitGame {
	g := &hitGame{ends: newEnds(), how: how, frames: frames}
	p := netcode.NewProtocol()
	netcode.Replicate[hitPoints](p)
	netcode.Replicate[position](p)
	netcode.Handle(p, g.handle, netcode.FromServer())
	server, err := netcode.NewServer(p, netcode.Config{TickRate: 30, SendBudget: budget})
	require.NoError(t, err)
	g.server = systems.NewServer(server, g.listen(t, serverAddress), g.clock)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	g.client = systems.NewClient(client, g.listen(t, transport.Addr{}), g.clock)
	require.NoError(t, client.Connect(serverAddress))
	server.OnError(g.report)
	client.OnError(g.report)
	w := g.world()
	things := generic.NewMap2[components.Replicated, position](w)
	for range movers {
		things.NewWith(&components.Replicated{}, &position{})
	}
	targets := generic.NewMap2[components.Replicated, hitPoints](w)
	g.target = targets.NewWith(&components.Replicated{}, &hitPoints{})
	g.server.Add(tick.Update, &move{}, systems.Func(g.hit))
	g.loops = append(g.loops, systems.NewRunner(w, g.server, frames), systems.NewRunner(g.world(), g.client, frames))
	g.until(t, func() bool {
		_, there := g.client.Entity(g.id)
		return there && client.State() == netcode.Connected && server.Stats().Connected == 1
	})
	return g
}

// hit is the server's system of stage Update.
func (g *hitGame) hit(w *ecs.World) {
	g.id, _ = g.server.ID(g.target)
	if !g.sending {
		return
	}
	g.sent++
	first := generic.NewFilter1[position]()
	if query := first.Query(w); query.Next() {
		g.moved = append(g.moved, query.Get().X)
		query.Close()
	}
	points := generic.NewMap1[hitPoints](w)
	points.Get(g.target).N = uint32(g.sent)
	if err := netcode.Send(g.server.Server, netcode.ToAll(), &hitMessage{uint32(g.sent)}, g.how(g.id)...); err != nil {
		g.report(err)
	}
}

// handle is the client's handler.
func (g *hitGame) handle(_ *netcode.Context, m *hitMessage) {
	g.handled++
	e, ok := g.client.Entity(g.id)
	points := generic.NewMap1[hitPoints](g.worlds[1])
	if !ok || points.Get(e).N < m.N {
		g.overtaken++
	}
	if g.compare != nil {
		g.compare(m)
	}
}

// play sends in a number of frames, and then waits for as many.
func (g *hitGame) play(frames int) {
	for i := range 2 * frames {
		g.sending = i < frames
		g.now += time.Second / time.Duration(g.frames)
		for _, loop := range g.loops {
			loop.Step()
		}
	}
}

// A message about an entity is handled after the entity's state at its send, although messages are sent in each frame and
// state in each tick.
func TestMessageWaitsForStateOfItsFrame(t *testing.T) {
	var g *hitGame
	ways := map[string]func(id netcode.NetworkID) []netcode.Option{
		"about": func(id netcode.NetworkID) []netcode.Option { return []netcode.Option{netcode.About(id)} },
		"NotBefore": func(id netcode.NetworkID) []netcode.Option {
			return []netcode.Option{netcode.About(id), netcode.NotBefore(g.server.Server.Tick() + 1)}
		},
		"reliable": func(id netcode.NetworkID) []netcode.Option {
			return []netcode.Option{netcode.About(id), netcode.Over(netcode.Reliable)}
		},
		"ordered": func(id netcode.NetworkID) []netcode.Option {
			return []netcode.Option{netcode.About(id), netcode.Over(netcode.ReliableOrdered)}
		},
		"sequenced": func(id netcode.NetworkID) []netcode.Option {
			return []netcode.Option{netcode.About(id), netcode.Over(netcode.UnreliableSequenced)}
		},
	}
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			g = newHitGame(t, 60, 0, 0, how)
			g.play(162)
			require.Empty(t, g.errors)
			require.Equal(t, 162, g.sent)
			require.Equal(t, g.sent, g.handled)
			require.Zero(t, g.overtaken, "messages handled before the state of their frame, of %d", g.handled)
		})
	}
}

// With a small budget, the state of an entity is sent many ticks after its change, and messages about it wait.
func TestMessageWaitsForStateUnderShortBudget(t *testing.T) {
	g := newHitGame(t, 30, 1500, 6000, func(id netcode.NetworkID) []netcode.Option { return []netcode.Option{netcode.About(id)} })
	g.play(170)
	require.Empty(t, g.errors)
	require.Equal(t, 170, g.sent)
	require.Equal(t, g.sent, g.handled)
	require.Zero(t, g.overtaken, "messages handled before the state of their frame, of %d", g.handled)
}

// AtOnce disables the wait: messages between two ticks are handled with the state of the earlier tick.
func TestMessageAtOnceOvertakesState(t *testing.T) {
	g := newHitGame(t, 60, 0, 0, func(id netcode.NetworkID) []netcode.Option {
		return []netcode.Option{netcode.About(id), netcode.AtOnce()}
	})
	g.play(162)
	require.Equal(t, g.sent, g.handled)
	require.Equal(t, 81, g.overtaken)
}

// A message after all state is handled when every entity has the state of its frame, even with a budget that takes many
// ticks for it.
func TestMessageAfterAllState(t *testing.T) {
	for name, how := range map[string][]netcode.Option{"unreliable": nil, "ordered": {netcode.Over(netcode.ReliableOrdered)}} {
		t.Run(name, func(t *testing.T) {
			g := newHitGame(t, 30, 300, 12000, func(netcode.NetworkID) []netcode.Option { return append(how, netcode.AfterAllState()) })
			behind := 0
			movers := generic.NewFilter1[position]()
			g.compare = func(m *hitMessage) {
				query := movers.Query(g.worlds[1])
				for query.Next() {
					if query.Get().X < g.moved[m.N-1] {
						behind++
					}
				}
			}
			g.play(120)
			require.Empty(t, g.errors)
			require.Equal(t, g.sent, g.handled)
			require.Zero(t, g.overtaken+behind, "entities behind the frame of a message, of %d messages", g.handled)
		})
	}
}
