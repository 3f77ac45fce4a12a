package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/join"
)

// headless plays without a screen: the avatar runs in circles. show is called in each frame.
func headless(ctx context.Context, url, page string, show func(by string, p *game.Panel)) error {
	socket, by, err := join.Dial(ctx, url)
	if err != nil {
		return err
	}
	player, err := game.NewPlayer(socket)
	if err != nil {
		return err
	}
	stop, err := join.Show(player, page)
	if err != nil {
		return err
	}
	defer stop()
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
