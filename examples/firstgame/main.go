// Command firstgame is a small game as two programs in one: with -listen its server, with -connect one of its clients.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/arche-netcode/netcode/systems"
)

func main() {
	listen := flag.String("listen", "", "be the server, at this `address`, such as 127.0.0.1:9000")
	connect := flag.String("connect", "", "be a client of the server at this `address`, such as 127.0.0.1:9000")
	page := flag.String("inspect", "", "show this end in a browser, at this `address`, such as 127.0.0.1:6060")
	flag.Parse()
	if wrong := usageError(*listen, *connect); wrong != "" {
		fmt.Fprintln(flag.CommandLine.Output(), "firstgame:", wrong)
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := systems.Interrupt(context.Background()) // done at Ctrl-C
	defer stop()
	var err error
	if *listen != "" {
		err = serve(ctx, *listen, *page)
	} else {
		err = play(ctx, *connect, *page)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// usageError says which flags do not go together; "": they do.
func usageError(listen, connect string) string {
	if (listen == "") == (connect == "") {
		return "give either -listen or -connect"
	}
	return ""
}
