package screen

import (
	"fmt"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/inpututil"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/line"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/predict"
)

const (
	overlayX, overlayY = 600, top + 10
	overlayWidth       = 350
)

// overlay is F1: what the netcode does, and what a player does to it.
type overlay struct {
	shown   bool
	counts  *line.Counts
	list    []line.Count
	rates   [4]float64 // Of the last second: bytes, replayed ticks, rollbacks, mispredictions.
	before  predict.Stats
	read    uint64
	counted time.Time
	sliders []slider
	buttons []button
	held    *slider
	moves   int
}

// slider sets a number.
type slider struct {
	name string
	y    int
	part float64 // From 0 to 1.
	text func(part float64) string
	set  func(l *line.Line, part float64)
}

// button does something to the player.
type button struct {
	name string
	x, y int
	do   func(g *Game)
}

const buttonWidth, buttonHeight = 108, 26

func (o *overlay) init(g *Game) {
	o.counted = time.Now()
	l := g.config.Line
	if l != nil {
		o.counts = line.NewCounts(g.config.Player.Client)
		l.Seen = func(datagram []byte) {
			if o.shown {
				o.counts.Add(datagram)
			}
		}
		ms := func(most float64) func(float64) string {
			return func(part float64) string { return fmt.Sprintf("%.0f ms", part*most) }
		}
		span := func(part, most float64) time.Duration { return time.Duration(part * most * float64(time.Millisecond)) }
		o.sliders = []slider{
			{"delay each way", 0, float64(l.Delay) / float64(300*time.Millisecond), ms(300), func(l *line.Line, part float64) { l.Delay = span(part, 300) }},
			{"jitter", 0, 0, ms(100), func(l *line.Line, part float64) { l.Jitter = span(part, 100) }},
			{"loss each way", 0, l.Loss * 2, func(part float64) string { return fmt.Sprintf("%.0f %%", part*50) }, func(l *line.Line, part float64) { l.Loss = part / 2 }},
		}
		o.buttons = append(o.buttons, button{name: "new address", do: func(g *Game) { g.config.Line.Move(); o.moves++ }})
	}
	o.buttons = append(o.buttons,
		button{name: "nap of 3 s", do: func(g *Game) { g.asleep = time.Now().Add(3 * time.Second) }},
		button{name: "stall server", do: func(g *Game) {
			_ = netcode.Send(g.config.Player.Client, netcode.ToServer(), &rules.Trouble{Milliseconds: 1000})
		}})
	for i := range o.sliders {
		o.sliders[i].y = overlayY + 120 + 30*i
	}
	for i := range o.buttons {
		o.buttons[i].x, o.buttons[i].y = overlayX+8+114*i, overlayY+214
	}
}

// busy reports whether the mouse is for the overlay.
func (o *overlay) busy() bool {
	x, y := ebiten.CursorPosition()
	return o.shown && (o.held != nil || x >= overlayX && x < overlayX+overlayWidth && y >= overlayY && y < overlayY+440)
}

// update reads F1, and the mouse over sliders and buttons.
func (o *overlay) update(g *Game) {
	if inpututil.IsKeyJustPressed(ebiten.KeyF1) {
		o.shown = !o.shown
	}
	if time.Since(o.counted) >= time.Second {
		o.measure(g)
	}
	x, y := ebiten.CursorPosition()
	if !o.shown || !ebiten.IsMouseButtonPressed(ebiten.MouseButtonLeft) {
		o.held = nil
		return
	}
	if inpututil.IsMouseButtonJustPressed(ebiten.MouseButtonLeft) {
		for i := range o.sliders {
			if s := &o.sliders[i]; x >= overlayX+120 && x < overlayX+280 && y >= s.y && y < s.y+24 {
				o.held = s
			}
		}
		for _, b := range o.buttons {
			if x >= b.x && x < b.x+buttonWidth && y >= b.y && y < b.y+buttonHeight {
				b.do(g)
			}
		}
	}
	if o.held != nil {
		o.held.part = min(max(float64(x-overlayX-130)/140, 0), 1)
		o.held.set(g.config.Line, o.held.part)
	}
}

// measure takes the figures of the last second.
func (o *overlay) measure(g *Game) {
	seconds := time.Since(o.counted).Seconds()
	o.counted = time.Now()
	now, read := g.config.Player.Sim.Stats(), g.config.Player.Client.Stats().Packets.BytesReceived
	o.rates = [4]float64{float64(read-o.read) / seconds, float64(now.Replayed-o.before.Replayed) / seconds, float64(now.Rollbacks-o.before.Rollbacks) / seconds,
		float64(now.Mispredictions-o.before.Mispredictions) / seconds}
	o.before, o.read = now, read
	if o.counts != nil {
		o.list = o.counts.Since()
	}
}

func (o *overlay) draw(to *ebiten.Image, g *Game) {
	if !o.shown {
		return
	}
	fillRect(to, overlayX, overlayY, overlayWidth, 440, 0x0c1014, 225)
	c := g.config.Player.Client
	rtt, jitter := c.RTT()
	stats := g.config.Player.Sim.Stats()
	for i, text := range []string{
		fmt.Sprintf("%s   %.0f frames/s", g.config.By, ebiten.ActualFPS()),
		fmt.Sprintf("round trip %d ms, jitter %d ms, loss %.0f %%", rtt.Milliseconds(), jitter.Milliseconds(), 100*c.Loss()),
		fmt.Sprintf("prediction ahead by %.1f ticks", c.Lead().Float()),
		fmt.Sprintf("others shown %d ms behind the newest", c.PresentDelay().Duration(rules.TickRate).Milliseconds()),
		fmt.Sprintf("rollbacks %.0f/s, replayed ticks %.0f/s", o.rates[2], o.rates[1]),
		fmt.Sprintf("mispredictions %d, inputs corrected %d", stats.Mispredictions, stats.Corrected),
		fmt.Sprintf("received %.1f kB/s", o.rates[0]/1000),
	} {
		drawText(to, text, overlayX+10, float32(overlayY+6+16*i), 1, white)
	}
	for _, s := range o.sliders {
		drawText(to, s.name, overlayX+10, float32(s.y+4), 1, white)
		fillRect(to, overlayX+130, float32(s.y+11), 140, 3, edge, 255)
		fillDisc(to, float32(overlayX+130+140*s.part), float32(s.y+12), 8, gold, 255)
		drawText(to, s.text(s.part), overlayX+288, float32(s.y+4), 1, white)
	}
	for _, b := range o.buttons {
		fillRect(to, float32(b.x), float32(b.y), buttonWidth, buttonHeight, stone, 255)
		drawText(to, b.name, float32(b.x+10), float32(b.y+5), 1, white)
	}
	for i, n := range o.list[:min(len(o.list), 11)] {
		drawText(to, fmt.Sprintf("%-18s %7.0f bytes/s", n.Name, n.Bytes), overlayX+10, float32(overlayY+254+16*i), 1, 0xaab6c2)
	}
}
