package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/serve"
	"github.com/arche-netcode/netcode/examples/web/site"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/systems"
)

func main() {
	listen := flag.String("listen", ":8080", "`address` of the page; with 127.0.0.1: for this machine alone")
	bots := flag.Int("bots", 4, "avatars that the server plays itself, 0 to 14")
	length := flag.Duration("length", 150*time.Second, "of a match")
	trouble := flag.Bool("trouble", true, "let players make the server stand still, by a button of F1")
	page := flag.String("inspect", "", "show the server in another page, at this `address` of this machine, as 127.0.0.1:6060")
	flag.Parse()
	ctx, stop := systems.Interrupt(context.Background())
	defer stop()
	if err := run(ctx, *listen, *page, *bots, *length, *trouble); err != nil {
		fmt.Fprintln(os.Stderr, "brawl:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, page string, bots int, length time.Duration, trouble bool) error {
	if bots < 0 || bots > 14 || length < 10*time.Second || length > 15*time.Minute {
		return fmt.Errorf("-bots is 0 to 14, -length 10s to 15m")
	}
	wasm, err := site.Build("window", os.Stdout)
	if err != nil {
		return err
	}
	o := serve.Options{Listen: listen, WASM: wasm, LAN: "Brawl", Match: rules.Options{Bots: bots, Length: length}}
	if trouble {
		o.Match.Stall = time.Sleep
	}
	h, err := serve.New(o)
	if err != nil {
		return err
	}
	group, end, err := live.Show(h.Group, page, os.Stdout)
	if err != nil {
		return err
	}
	defer end()
	h.Group = group
	fmt.Printf("open %s, twice to play with yourself  (the client is %d kB, compressed)\n", h.URLs()[0], len(wasm)/1000)
	for _, url := range h.URLs()[1:] {
		fmt.Printf("on another machine of this network: %s, or in a window: cd examples/brawl && go run ./window -join %s\n", url, url)
		fmt.Printf("on a phone: %sjs/?play=1\n", url)
	}
	return h.Run(ctx)
}
