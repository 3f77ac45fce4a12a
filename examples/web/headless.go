package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/transport/queued"
	"github.com/arche-netcode/netcode/transport/websocket"
	"github.com/arche-netcode/netcode/transport/webtransport"
)

// dial connects to a host as a page does: by WebTransport, and if that fails or is slow, by WebSocket.
func dial(ctx context.Context, url string) (socket game.Socket, by string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"settings", nil)
	if err != nil {
		return nil, "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	var o settings
	if err := json.NewDecoder(answer.Body).Decode(&o); err != nil {
		return nil, "", err
	}
	var hash [32]byte
	if _, err := hex.Decode(hash[:], []byte(o.Hash)); err != nil {
		return nil, "", err
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(o.Wait)*time.Millisecond)
	defer cancel()
	wt, fault := webtransport.Dial(limited, o.WebTransport, webtransport.Pin(hash), queued.Config{})
	if fault == nil {
		return wt, "WebTransport", nil
	}
	ws, err := websocket.Dial(ctx, o.WebSocket, queued.Config{})
	if err != nil {
		return nil, "", errors.Join(fault, err)
	}
	return ws, "WebSocket", nil
}

// headless plays without a screen: the avatar runs in circles. show is called in each frame.
func headless(ctx context.Context, url string, show func(by string, p *game.Panel)) error {
	socket, by, err := dial(ctx, url)
	if err != nil {
		return err
	}
	player, err := game.NewPlayer(socket)
	if err != nil {
		return err
	}
	began := time.Now()
	player.Stick = func() game.Stick {
		y, x := math.Sincos(time.Since(began).Seconds())
		return game.Stick{X: float32(x), Y: float32(y)}
	}
	player.Draw = func(_ []game.Body, p *game.Panel) { show(by, p) }
	return player.Run(ctx)
}

// printer prints the panel once a second.
func printer() func(by string, p *game.Panel) {
	last := time.Time{}
	return func(by string, p *game.Panel) {
		if now := time.Now(); now.Sub(last) >= time.Second {
			last = now
			fmt.Printf("%s  round trip %.1f ms  loss %.1f %%  %.1f kB/s  %d ticks replayed  %d bodies  tick %d  hash %s\n",
				by, p.RTT, 100*p.Loss, p.Rate, p.Replayed, p.Bodies, p.Tick, p.Hash)
		}
	}
}
