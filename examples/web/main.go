package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/site"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/systems"
)

func main() {
	address := flag.String("listen", "127.0.0.1:8080", "`address` of the page; with :8080 other machines of the local network play, too")
	loss := flag.Float64("loss", 0, "share of the datagrams that is lost, for each direction, from 0 to 1: 0.05 is 5 %")
	url := flag.String("headless", "", "be a native client of the host with this URL, as http://127.0.0.1:8080/")
	client := flag.String("client", "client", "folder of the page's client: ../ebiten is another one")
	page := flag.String("inspect", "", "show the server, or with -headless the client, in another page, at this `address` of this machine, as 127.0.0.1:6060")
	flag.Parse()
	ctx, stop := systems.Interrupt(context.Background())
	defer stop()
	if err := run(ctx, *address, *loss, *url, *client, *page); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, loss float64, url, client, page string) error {
	if url != "" {
		return headless(ctx, url, page, printer())
	}
	wasm, err := site.Build(client, os.Stdout)
	if err != nil {
		return err
	}
	h, err := listen(options(wasm, address), loss, game.Bodies)
	if err != nil {
		return err
	}
	group, stop, err := live.Show(h.match.Group, page, os.Stdout)
	if err != nil {
		return err
	}
	defer stop()
	h.match.Group = group
	fmt.Printf("open %s  (the client is %d kB, compressed)\n", h.URLs()[0], len(wasm)/1000)
	for _, other := range h.URLs()[1:] {
		fmt.Println("on another machine of this network:", other)
	}
	return h.run(ctx)
}
