// Command firstgame is a small game as two programs in one: with -listen its server, with -connect one of its clients.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/arche-netcode/netcode/systems"
)

func main() {
	listen := flag.String("listen", "", "be the server, at this `address`, such as 127.0.0.1:9000")
	connect := flag.String("connect", "", "be a client of the server at this `address`, such as 127.0.0.1:9000")
	page := flag.String("inspect", "", "show the server in a browser, at this `address`, such as 127.0.0.1:6060")
	flag.Parse()
	ctx, stop := systems.Interrupt(context.Background()) // done at Ctrl-C
	defer stop()
	var err error
	switch {
	case *listen != "":
		err = serve(ctx, *listen, *page)
	case *connect != "":
		err = play(ctx, *connect)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		log.Fatal(err)
	}
}
