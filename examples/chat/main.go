// Command chat is a chat in the terminal over UDP, with names, rooms and a bot: the shortest real use of messages.
//
//	go run ./examples/chat -listen 127.0.0.1:9000
//	go run ./examples/chat -connect 127.0.0.1:9000 -name ana -room lobby
//
// Whatever is typed goes to the room. /join ROOM, /nick NAME and /who [ROOM] do what they say, and the bot answers who
// writes to it: @bot count, @bot echo TEXT. The end of the input, or Ctrl-C, says goodbye.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
)

const framesPerSecond = 30

func main() {
	ctx, stop := systems.Interrupt(context.Background())
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

// run is the whole command.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("chat", flag.ContinueOnError)
	listen := flags.String("listen", "", "serve at this `address`")
	connect := flags.String("connect", "", "talk to the server at this `address`")
	name := flags.String("name", "guest", "who you are")
	room := flags.String("room", "lobby", "where you go first")
	silence := flags.Duration("silence", 10*time.Second, "how long an end may be unheard of before it is taken for gone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config := netcode.Config{TickRate: framesPerSecond, SilenceTimeout: *silence, KeepAlive: *silence / 4}
	switch {
	case *listen != "" && *connect == "":
		return serve(ctx, *listen, config, out)
	case *connect != "" && *listen == "":
		return talk(ctx, *connect, Enter{Name: word(*name), Room: word(*room)}, config, in, out)
	}
	return errors.New("-listen or -connect, one of the two; -help")
}
