package screen

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/line"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
)

const (
	scale  = 20 // Pixels per metre.
	top    = 44 // Pixels of the scores.
	width  = rules.Width * scale
	height = rules.Height*scale + top

	reportEvery = 100 * time.Millisecond
)

// Config has the settings of a Game.
type Config struct {
	Player *rules.Player
	Loop   *systems.Runner
	Line   *line.Line // Nil at a host.
	By     string     // The transport.
	Note   string     // Shown in the lobby, such as the address for others.
	Auto   bool       // A bot plays.
	F1     bool       // The figures are shown from the beginning.
	Seed   uint64     // Of the bot.
	// Ended is asked once a frame: why the game is over, nil: it is not.
	Ended func() error
	// Panel gets figures a few times a second, for tests; may be nil.
	Panel func(Panel)
	Shots Shots
}

// Panel has the figures that tests of a page read.
type Panel struct {
	By        string
	Connected bool
	Phase     int
	X, Y      float32 // Of the own avatar.
	Names     []string
	Own       string
	Shots     int // Of the own player.
	Chat      []string
	Steps     uint64
	Replayed  uint64
	RTT       float64 // In milliseconds.
	Address   int     // How often the client has moved to another address.
	Frames    int     // Of the screen.
	Delay     float64 // Of the line, as the sliders say: milliseconds each way,
	Jitter    float64
	Loss      float64 // and a share.
	Goals     int     // Replays of goals that were begun,
	Kills     int     // and killcams.
	FirstMs   int     // From the start of the program to the first frame with the own avatar.
}

// Game is the ebiten.Game.
type Game struct {
	config Config
	began  time.Time
	panel  Panel

	reported time.Time

	mu      sync.Mutex // A page that is not seen has no frames of the screen: idle steps the loop.
	stepped time.Time
	asleep  time.Time // Until then this client stands still.

	view     *view.View
	controls controls
	sparks   sparks
	replay   replay
	hud      hud
	overlay  overlay
	sound    sound
	walls    *ebiten.Image
	level    *rules.Level
	frames   int
}

// New makes the game. The loop of the player belongs to it from now on.
func New(c Config) *Game {
	g := &Game{config: c, began: time.Now(), stepped: time.Now(), view: view.New(c.Player)}
	p := c.Player
	if c.Auto {
		p.Act = p.Decide(rules.NewBrain(c.Seed))
	} else {
		p.Act = g.controls.act
	}
	p.Sim.OnEffect(g.heard)
	netcode.On(p.Client, func(_ *netcode.Context, n *rules.News) { g.told(n) })
	netcode.On(p.Client, func(*netcode.Context, *rules.Mark) {
		g.sparks.mark = 12
		g.sound.play(hitSound)
	})
	loading.Of(p.Client).OnLevel(func(level uint32, done func()) { // Its picture is drawn now and not in the middle of a match.
		g.level = nil
		g.drawWalls(p.Rules.Levels[int(level)%len(p.Rules.Levels)])
		done()
	})
	g.overlay.shown = c.F1
	g.overlay.init(g)
	g.sound.init()
	go g.idle()
	return g
}

// Run shows a game until it ends.
func Run(g *Game, title string) error {
	ebiten.SetWindowTitle(title)
	ebiten.SetWindowSize(width, height)
	ebiten.SetWindowResizingMode(ebiten.WindowResizingModeEnabled)
	ebiten.SetRunnableOnUnfocused(true)
	ebiten.SetTPS(ebiten.SyncWithFPS)
	return ebiten.RunGame(g)
}

// idle steps the loop while no frames of the screen come, as in a tab that nobody looks at.
func (g *Game) idle() {
	for range time.Tick(100 * time.Millisecond) {
		g.mu.Lock()
		if time.Since(g.stepped) > 200*time.Millisecond {
			g.step()
		}
		g.mu.Unlock()
	}
}

// step is a frame of the netcode, unless the player asked for a nap.
func (g *Game) step() {
	if time.Now().Before(g.asleep) {
		return
	}
	g.config.Loop.Step()
	g.stepped = time.Now()
}

// Update implements ebiten.Game. What a player does is in the step of the same frame, and on the screen.
func (g *Game) Update() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.frames++
	g.hud.update(g)
	g.overlay.update(g)
	g.controls.read(g)
	g.step()
	s := g.view.Scene()
	g.sparks.update(s)
	g.replay.update(time.Since(g.began), s)
	if time.Since(g.reported) > reportEvery {
		g.reported = time.Now()
		g.report()
	}
	if err := g.config.Ended(); err != nil {
		return err
	}
	if g.config.Shots.done() {
		return ebiten.Termination
	}
	return nil
}

// Layout implements ebiten.Game.
func (g *Game) Layout(int, int) (int, int) { return width, height }

// heard shows an effect of the simulation: each comes once.
func (g *Game) heard(e predict.Effect) {
	g.sparks.heard(e)
	g.sound.play(e.Kind)
	if (e.Kind == rules.Muzzle || e.Kind == rules.Beam) && g.config.Player.Owns(e.Entity) {
		g.panel.Shots++
	}
}

// told shows news of the server.
func (g *Game) told(n *rules.News) {
	g.hud.told(n)
	if n.Kind == rules.Goal {
		g.sound.play(goalSound)
		g.replay.tape.Goal(time.Since(g.began))
	}
}

// report renews the figures for tests.
func (g *Game) report() {
	if g.config.Panel == nil {
		return
	}
	p, s := &g.panel, g.view.Scene()
	p.By, p.Connected, p.Phase, p.Chat = g.config.By, g.config.Player.Client.State() == netcode.Connected, int(s.Clock.Phase), g.hud.lines()
	p.Names = p.Names[:0]
	for i := range s.Avatars {
		p.Names = append(p.Names, s.Avatars[i].Name.String())
	}
	if s.Own >= 0 {
		own := &s.Avatars[s.Own]
		p.X, p.Y, p.Own = own.X, own.Y, own.Name.String()
		if p.FirstMs == 0 {
			p.FirstMs = int(time.Since(g.began).Milliseconds())
		}
	}
	stats := g.config.Player.Sim.Stats()
	p.Steps, p.Replayed = stats.Steps, stats.Replayed
	rtt, _ := g.config.Player.Client.RTT()
	p.RTT, p.Address = math.Round(float64(rtt)/1e5)/10, g.overlay.moves
	p.Frames = g.frames
	if l := g.config.Line; l != nil {
		p.Delay, p.Jitter, p.Loss = l.Delay.Seconds()*1000, l.Jitter.Seconds()*1000, l.Loss
	}
	p.Goals, p.Kills = g.replay.begun[view.LastGoal], g.replay.begun[view.LastKill]
	g.config.Panel(*p)
}

// at is the pixel of a place.
func at(b rules.Body) (x, y float32) { return b.X * scale, b.Y*scale + top }

// clockText returns the time left of a phase.
func clockText(ticks uint16) string {
	s := (int(ticks) + rules.TickRate - 1) / rules.TickRate
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
