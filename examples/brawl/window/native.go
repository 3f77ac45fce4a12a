//go:build !js

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/screen"
	"github.com/arche-netcode/netcode/examples/brawl/serve"
	"github.com/arche-netcode/netcode/examples/web/site"
	"github.com/arche-netcode/netcode/transport/lan"
)

func main() {
	url := flag.String("join", "", "`URL` of a host, as http://127.0.0.1:8080/; empty: be the host and play")
	find := flag.Bool("find", false, "join the first game that is found in the local network")
	name := flag.String("name", os.Getenv("USER"), "of the player")
	watch := flag.Bool("watch", false, "watch, without an avatar")
	auto := flag.Bool("auto", false, "let a bot play")
	listen := flag.String("listen", ":8080", "address at which others join a host")
	bots := flag.Int("bots", 4, "avatars that a host plays beside its player")
	page := flag.Bool("page", false, "a host serves the page, too: it builds it")
	seconds := flag.Int("seconds", 0, "end after so many seconds of frames; 0: when the window is closed")
	skip := flag.Int("skip", 0, "seconds of frames before a GIF begins")
	delay := flag.Duration("delay", 0, "of the line, each way, as 150ms; F1 has a slider for it")
	loss := flag.Float64("loss", 0, "of the line, each way, in percent")
	f1 := flag.Bool("f1", false, "begin with the figures of F1")
	shot := flag.String("shot", "", "write a picture of the last frame to this `file`, or a GIF of all if it ends in .gif")
	flag.Parse()
	c := choice{url: *url, name: *name, watch: *watch, auto: *auto, f1: *f1, delay: *delay, loss: *loss / 100, secret: secret()}
	c.shots = screen.Shots{File: *shot, Frames: 60 * *seconds, GIF: strings.HasSuffix(*shot, ".gif"), Every: 6, Shrink: 2, Skip: 60 * *skip}
	err := error(nil)
	if *find {
		c.url, err = findGame()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "brawl:", err)
		os.Exit(1)
	}
	if c.url == "" {
		err = host(c, *listen, *bots, *page)
	} else {
		err = play(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "brawl:", err)
		os.Exit(1)
	}
}

// host plays in the server's process.
func host(c choice, listen string, bots int, page bool) error {
	o := serve.Options{Listen: listen, LAN: c.name + "'s Brawl", Match: rules.Options{Bots: bots, Stall: time.Sleep}, Payload: rules.Payload(c.secret, c.name, c.watch)}
	if page {
		var err error
		if o.WASM, err = site.Build("window", os.Stdout); err != nil {
			return err
		}
	}
	h, err := serve.New(o)
	if err != nil {
		return err
	}
	go h.Serve()
	c.note = "others join by " + strings.Join(h.URLs(), " or ")
	fmt.Println(c.note)
	game := screen.New(screen.Config{
		Player: h.Player, Loop: h.Loop, By: "the host", Note: c.note, Auto: c.auto, F1: c.f1, Shots: c.shots, Ended: func() error { return nil },
	})
	err = screen.Run(game, "Brawl, a host")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = h.Loop.Close(ctx) // It tells the others; who does not hear it finds out.
	_ = h.Close()
	return err
}

// findGame returns the URL of the first game of this protocol in the local network.
func findGame() (url string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	hash := rules.Protocol().Hash()
	err = lan.Find(ctx, serve.LANPort, func(g lan.Game) {
		fmt.Printf("%s: %d of %d players, %s\n", g.Name, g.Players, g.Places, g.Join)
		if g.Protocol == hash && url == "" {
			url = g.Join
			cancel()
		}
	})
	if err == nil && url == "" {
		err = errors.New("no game is found in the local network")
	}
	return url, err
}

// secret is the identity of the players of this machine: after a crash one is the same player. Two windows at once need two names.
func secret() string {
	fresh := rand.Text()
	dir, err := os.UserConfigDir()
	if err != nil {
		return fresh
	}
	file := filepath.Join(dir, "brawl.secret")
	if text, err := os.ReadFile(file); err == nil && len(text) == len(fresh) {
		return string(text)
	}
	_ = os.MkdirAll(dir, 0o700) // Without the file the player is another one the next time.
	_ = os.WriteFile(file, []byte(fresh), 0o600)
	return fresh
}
