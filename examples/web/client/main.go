//go:build js && wasm

// Command client is the game's client in a browser: index.html draws what it computes.
package main

import (
	"context"
	"fmt"
	"syscall/js"
	"time"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/join"
)

const scale = 10 // Pixels per metre.

// screen draws, and reads the keys.
type screen struct {
	panel js.Value
	bytes []byte          // Of the bodies, 6 each: x, y, hue, own.
	array js.Value        // The same in JavaScript,
	room  int             // and its length.
	down  map[string]bool // Keys.
	by    string
	last  string // Of the panel.
}

func main() {
	document := js.Global().Get("document")
	s := &screen{down: map[string]bool{}, panel: document.Call("getElementById", "panel")}
	if err := s.play(); err != nil {
		s.panel.Set("textContent", "ended: "+err.Error())
		join.Fail(err)
	}
}

// play reads the settings that the server wrote into the page, and plays.
func (s *screen) play() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	socket, by, err := join.Dial(ctx, "")
	if err != nil {
		return err
	}
	s.by = by
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

// draw gives the bodies to the page, which draws them when the browser shows a picture: a call for each body would cost most of the frame.
func (s *screen) draw(bodies []game.Body, p *game.Panel) {
	s.bytes = s.bytes[:0]
	for _, b := range bodies {
		own := byte(0)
		if b.Own {
			own = 1
		}
		x, y := uint16(max((b.X+game.HalfWidth)*scale, 0)), uint16(max((b.Y+game.HalfHeight)*scale, 0))
		s.bytes = append(s.bytes, byte(x), byte(x>>8), byte(y), byte(y>>8), b.Hue, own)
	}
	if len(s.bytes) >= s.room {
		s.room = 2*len(s.bytes) + 1
		s.array = js.Global().Get("Uint8Array").New(s.room)
	}
	js.CopyBytesToJS(s.array, s.bytes)
	js.Global().Call("netcodeDraw", s.array, len(bodies))
	text := fmt.Sprintf("%s   round trip %.0f ms   loss %.1f %%   %.1f kB/s   %d ticks replayed   %d bodies   tick %d",
		s.by, p.RTT, 100*p.Loss, p.Rate, p.Replayed, p.Bodies, p.Tick)
	if text != s.last {
		s.panel.Set("textContent", text)
		join.Report(s.by, p)
		s.last = text
	}
}
