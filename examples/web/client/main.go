//go:build js && wasm

// Command client is the game's client in a browser: it draws on the canvas of index.html.
package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"syscall/js"
	"time"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/transport/web"
)

const scale = 10 // Pixels per metre.

// screen draws, and reads the keys.
type screen struct {
	canvas, panel js.Value
	down          map[string]bool // Keys.
	by            string
	last          string // Of the panel.
}

func main() {
	document := js.Global().Get("document")
	s := &screen{down: map[string]bool{}, panel: document.Call("getElementById", "panel")}
	s.canvas = document.Call("getElementById", "field").Call("getContext", "2d")
	if err := s.play(); err != nil {
		s.panel.Set("textContent", "ended: "+err.Error())
		js.Global().Set("netcodeError", err.Error())
	}
}

// play reads the settings that the server wrote into the page, and plays.
func (s *screen) play() error {
	settings := js.Global().Get("netcodeSettings")
	hash, err := hex.DecodeString(settings.Get("Hash").String())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	socket, err := web.Dial(ctx, web.Config{
		WebTransport: settings.Get("WebTransport").String(), WebSocket: settings.Get("WebSocket").String(), Hashes: [][]byte{hash},
		Wait: time.Duration(settings.Get("Wait").Int()) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	s.by = socket.By()
	player, err := game.NewPlayer(socket)
	if err != nil {
		return err
	}
	s.keys()
	player.Stick, player.Draw = s.stick, s.draw
	return player.Run(context.Background())
}

// keys notes which keys are down.
func (s *screen) keys() {
	for event, down := range map[string]bool{"keydown": true, "keyup": false} {
		js.Global().Call("addEventListener", event, js.FuncOf(func(_ js.Value, args []js.Value) any {
			s.down[args[0].Get("key").String()] = down
			return nil
		}))
	}
}

func (s *screen) stick() (stick game.Stick) {
	axis := func(less, more string) (v float32) {
		if s.down[less] {
			v--
		}
		if s.down[more] {
			v++
		}
		return v
	}
	return game.Stick{X: axis("ArrowLeft", "ArrowRight"), Y: axis("ArrowUp", "ArrowDown")}
}

func (s *screen) draw(bodies []game.Body, p *game.Panel) {
	s.canvas.Set("fillStyle", "#101418")
	s.canvas.Call("fillRect", 0, 0, 2*game.HalfWidth*scale, 2*game.HalfHeight*scale)
	for _, b := range bodies {
		size := 6
		s.canvas.Set("fillStyle", fmt.Sprintf("hsl(%d 70%% 60%%)", int(b.Hue)*360/256))
		if b.Own {
			size = 14
			s.canvas.Set("fillStyle", "#ffffff")
		}
		s.canvas.Call("fillRect", int((b.X+game.HalfWidth)*scale)-size/2, int((b.Y+game.HalfHeight)*scale)-size/2, size, size)
	}
	text := fmt.Sprintf("%s   round trip %.0f ms   loss %.1f %%   %.1f kB/s   %d ticks replayed   %d bodies   tick %d",
		s.by, p.RTT, 100*p.Loss, p.Rate, p.Replayed, p.Bodies, p.Tick)
	if text != s.last {
		s.panel.Set("textContent", text)
		js.Global().Set("netcodePanel", map[string]any{ // for tests, and for the curious at the console
			"by": s.by, "connected": p.Connected, "tick": p.Tick, "hash": p.Hash, "entities": p.Entities, "bodies": p.Bodies,
			"replayed": p.Replayed, "ownX": p.OwnX, "ownY": p.OwnY,
		})
		s.last = text
	}
}
