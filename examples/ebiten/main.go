package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/join"
)

func main() {
	url := flag.String("host", "http://127.0.0.1:8080/", "URL of a host: cd examples/web && go run .")
	seconds := flag.Float64("seconds", 0, "end after so many seconds; 0: when the window is closed")
	page := flag.String("inspect", "", "show the client in a browser, at this `address` of this machine, as 127.0.0.1:6061")
	shot := flag.String("shot", "", "write a picture of the window to this file at the end of -seconds")
	flag.Parse()
	if err := play(*url, *page, time.Duration(*seconds*float64(time.Second)), *shot); err != nil {
		join.Fail(err)
		fmt.Fprintln(os.Stderr, "ebiten:", err)
		os.Exit(1)
	}
}

// play connects, and plays in a window.
func play(url, page string, limit time.Duration, shot string) error {
	connecting, connected := context.WithTimeout(context.Background(), time.Minute)
	defer connected()
	socket, by, err := join.Dial(connecting, url)
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
	s := newScreen(by, limit, shot)
	player.Stick, player.Draw = s.stick, s.show
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { // The game has its own clock: a slow picture slows nothing down.
		err := player.Run(ctx)
		s.end(err)
		done <- err
	}()
	ebiten.SetWindowTitle("arche-netcode by " + by)
	ebiten.SetWindowSize(width, height)
	ebiten.SetRunnableOnUnfocused(true)
	err = ebiten.RunGame(s)
	cancel()
	return errors.Join(err, <-done)
}
