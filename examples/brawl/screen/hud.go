package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/ebitenutil"
	"github.com/hajimehoshi/ebiten/v2/inpututil"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/view"
	"github.com/arche-netcode/netcode/wire"
)

const (
	newsLines  = 7
	newsFrames = 60 * 8
)

// hud draws scores, news and chat over the arena.
type hud struct {
	news   []newsLine
	chat   []string
	typing bool
	text   []rune
	ready  bool
	goal   int // Frames for which a goal is shown.
	scorer uint8
}

type newsLine struct {
	text   string
	colour uint32
	left   int
}

// told takes news of the server.
func (h *hud) told(n *rules.News) {
	who, colour := n.Who.String(), teamColour(n.Team)
	text := ""
	switch n.Kind {
	case rules.Chat:
		text = who + ": " + n.Text.String()
		h.chat = append(h.chat, text)
	case rules.Joined:
		text, colour = who+" is here", white
	case rules.Left:
		text, colour = who+" has left", white
	case rules.Killed:
		text = who + " > " + n.Whom.String()
	case rules.Goal:
		text = "goal for " + []string{"red", "blue"}[n.Team%2]
		h.goal, h.scorer = 120, n.Team
	}
	h.news = append(h.news, newsLine{text, colour, newsFrames})
	if len(h.news) > newsLines {
		h.news = h.news[1:]
	}
	if len(h.chat) > newsLines {
		h.chat = h.chat[1:]
	}
}

// lines are the newest lines of chat.
func (h *hud) lines() []string { return slices.Clone(h.chat) }

// update reads the keys of chat and of the lobby.
func (h *hud) update(g *Game) {
	h.goal = max(h.goal-1, 0)
	for i := range h.news {
		h.news[i].left--
	}
	h.news = slices.DeleteFunc(h.news, func(n newsLine) bool { return n.left <= 0 })
	client := g.config.Player.Client
	switch enter := inpututil.IsKeyJustPressed(ebiten.KeyEnter); {
	case h.typing && inpututil.IsKeyJustPressed(ebiten.KeyEscape):
		h.typing, h.text = false, nil
	case h.typing && enter:
		if len(h.text) > 0 {
			_ = netcode.Send(client, netcode.ToServer(), &rules.Say{Text: wire.NewText[[128]byte](string(h.text))}) // Who is away says nothing.
		}
		h.typing, h.text = false, nil
	case h.typing:
		if inpututil.IsKeyJustPressed(ebiten.KeyBackspace) && len(h.text) > 0 {
			h.text = h.text[:len(h.text)-1]
		}
		h.text = ebiten.AppendInputChars(h.text)
		h.text = h.text[:min(len(h.text), 100)]
	case enter:
		h.typing = true
	case inpututil.IsKeyJustPressed(ebiten.KeyR) || g.controls.touch && len(g.controls.fresh) > 0 && !h.ready || g.config.Auto && !h.ready && g.frames%30 == 0:
		_ = netcode.Send(client, netcode.ToServer(), &rules.Ready{Is: !h.ready}) // Who is away is not ready.
	}
	s := g.view.Scene()
	h.ready = s.Own >= 0 && s.Avatars[s.Own].Ready
}

func (h *hud) draw(to *ebiten.Image, g *Game, s *view.Scene) {
	drawText(to, fmt.Sprint(s.Score.Red), width/2-110, 6, 2, redTeam)
	drawText(to, fmt.Sprint(s.Score.Blue), width/2+90, 6, 2, blueTeam)
	drawText(to, clockText(s.Clock.Ticks), width/2-24, 6, 2, white)
	level := g.config.Player.Rules.Levels[int(s.Clock.Level)%len(g.config.Player.Rules.Levels)]
	drawText(to, level.Name, width-float32(len(level.Name))*6-12, 14, 1, 0x8b98a5)
	for i, n := range h.news {
		drawText(to, n.text, 52, float32(top+46+18*i), 1, n.colour)
	}
	if s.Own >= 0 {
		h.drawOwn(to, &s.Avatars[s.Own])
	}
	if h.typing {
		fillRect(to, 50, height-76, 560, 24, 0, 200)
		drawText(to, "say: "+string(h.text)+"_", 58, height-72, 1, white)
	}
	h.drawPhase(to, g, s)
	if s.Clock.Phase == rules.End || ebiten.IsKeyPressed(ebiten.KeyTab) {
		h.drawTable(to, s)
	}
}

// drawOwn shows the health and the weapons of the own player.
func (h *hud) drawOwn(to *ebiten.Image, a *view.Shown) {
	bar := func(x float32, part float32, colour uint32, name string) {
		fillRect(to, x, 14, 92, 16, 0x1b242e, 255)
		fillRect(to, x, 14, 92*min(max(part, 0), 1), 16, colour, 255)
		drawText(to, name, x+4, 13, 1, white)
	}
	bar(12, float32(a.Points)/100, 0x2f9e5b, fmt.Sprint("health ", a.Points))
	bar(112, 1-float32(a.Kit.Rail)/80, 0x3b6ea5, "rail  E")
	bar(212, 1-float32(a.Kit.Dash)/80, 0x3b6ea5, "dash  space")
	if a.Quad > 0 {
		drawText(to, fmt.Sprintf("QUAD %.0f", float32(a.Quad)/10), 316, 13, 1, 0xd8b4ff)
	}
}

// drawPhase writes what to do.
func (h *hud) drawPhase(to *ebiten.Image, g *Game, s *view.Scene) {
	big, small, colour := "", "", uint32(white)
	switch s.Clock.Phase {
	case rules.Lobby:
		small = "warm-up.  R: ready.  WASD, mouse, right button or E: rail, space: dash, Enter: chat, F1: network"
		if h.ready {
			small = "ready.  waiting for the others"
		}
		if s.Clock.Ticks > 0 {
			big, small = "get ready", ""
		}
		if g.config.Note != "" {
			drawCentred(to, g.config.Note, height-48, 1, 0x8b98a5)
		}
	case rules.Loading:
		big = "loading"
	case rules.Countdown:
		big = strings.TrimPrefix(clockText(s.Clock.Ticks), "0:0")
	case rules.End:
		big = "a draw"
		if s.Score.Red != s.Score.Blue {
			winner := uint8(rules.Blue)
			if s.Score.Red > s.Score.Blue {
				winner = rules.Red
			}
			big, colour = []string{"red wins", "blue wins"}[winner], teamColour(winner)
		}
	}
	if g.config.Player.Client.State() != netcode.Connected {
		big, small = "connecting", ""
	}
	if h.goal > 0 && s.Clock.Phase == rules.Play {
		big, colour = "GOAL", teamColour(h.scorer)
	}
	drawCentred(to, big, 130, 4, colour)
	drawCentred(to, small, height-68, 1, white)
}

// drawTable is the table of players.
func (h *hud) drawTable(to *ebiten.Image, s *view.Scene) {
	order := make([]*view.Shown, 0, len(s.Avatars))
	for i := range s.Avatars {
		order = append(order, &s.Avatars[i])
	}
	slices.SortStableFunc(order, func(a, b *view.Shown) int { return int(b.Kills) - int(a.Kills) })
	fillRect(to, width/2-190, 236, 380, float32(40+20*len(order)), 0x0c1014, 225)
	drawText(to, fmt.Sprintf("%-18s%8s%8s", "", "kills", "deaths"), width/2-150, 246, 1, 0x8b98a5)
	for i, a := range order {
		drawText(to, fmt.Sprintf("%-18s%8d%8d", a.Name.String(), a.Kills, a.Deaths), width/2-150, float32(266+20*i), 1, teamColour(a.Team))
	}
}

// letters has each text as a white picture: it is drawn in any size and colour.
var letters = map[string]*ebiten.Image{}

// drawText writes a line. The letters are those of Ebitengine's debug print, 6 by 16 pixels: no font needs to be loaded.
func drawText(to *ebiten.Image, text string, x, y, size float32, colour uint32) {
	if text == "" {
		return
	}
	picture := letters[text]
	if picture == nil {
		if len(letters) > 400 {
			for _, old := range letters {
				old.Deallocate()
			}
			clear(letters)
		}
		picture = ebiten.NewImage(len(text)*6+2, 16)
		ebitenutil.DebugPrint(picture, text)
		letters[text] = picture
	}
	var o ebiten.DrawImageOptions
	o.GeoM.Scale(float64(size), float64(size))
	o.GeoM.Translate(float64(x), float64(y))
	o.ColorScale.ScaleWithColor(paint(colour, 255))
	to.DrawImage(picture, &o)
}

func drawCentred(to *ebiten.Image, text string, y, size float32, colour uint32) {
	drawText(to, text, width/2-float32(len(text))*3*size, y, size, colour)
}
