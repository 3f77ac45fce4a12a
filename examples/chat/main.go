// Command chat is a chat in the terminal over UDP, with names, rooms and a bot: the shortest real use of messages.
//
//	go run ./examples/chat -listen 127.0.0.1:9000                            with -inspect 127.0.0.1:6060, in a browser too
//	go run ./examples/chat -connect 127.0.0.1:9000 -name ana -room lobby
//
// A typed line goes to the room. /join ROOM, /nick NAME and /who [ROOM] do what they say. The bot answers a player that writes
// to it, after the room has seen the line: @bot count, @bot echo TEXT. The end of the input, or Ctrl-C, says goodbye.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

// Limits in bytes. Longer text is refused before it is sent, and by its receiver.
const maxName, maxText, maxShown = 24, 400, 4096

// Line is a line of a client: its name, the room that it enters, and its text for that room. An empty field changes nothing.
type Line struct{ Name, Room, Text string }

// Shown is a line for the terminals of a room.
type Shown struct{ Text string }

// A Who asks for the names in a room, or in one's own; the answer is shown.
type Who struct{ Room string }

// Names is the answer.
type Names struct{ Text string }

// Serialize reads, writes and measures: messages with strings need it, others travel field by field without any code.
func (m *Line) Serialize(s *wire.Serializer) {
	s.String(&m.Name, maxName)
	s.String(&m.Room, maxName)
	s.String(&m.Text, maxText)
}

// Serialize of the others is as short as they are.
func (m *Shown) Serialize(s *wire.Serializer) { s.String(&m.Text, maxShown) }
func (m *Who) Serialize(s *wire.Serializer)   { s.String(&m.Room, maxName) }
func (m *Names) Serialize(s *wire.Serializer) { s.String(&m.Text, maxShown) }

// newProtocol is the same on both sides: what is sent, how, and in which direction. A side gives nil for what never comes to it.
func newProtocol(hear func(*netcode.Context, *Line), show func(*netcode.Context, *Shown), who func(*netcode.Context, *Who, *Names) error) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Handle(p, hear, netcode.Over(netcode.ReliableOrdered), netcode.FromClient())
	netcode.Handle(p, show, netcode.Over(netcode.ReliableOrdered), netcode.FromServer())
	netcode.Answer(p, who, netcode.Over(netcode.ReliableOrdered), netcode.FromClient())
	return p
}

const framesPerSecond = 30

func main() {
	ctx, stop := systems.Interrupt(context.Background())
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if status := usage.Status(err); status != 0 {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(status)
	}
}

// run is the whole command.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("chat", flag.ContinueOnError)
	listen := flags.String("listen", "", "serve at this `address`")
	connect := flags.String("connect", "", "talk to the server at this `address`")
	name := flags.String("name", "guest", "who you are")
	room := flags.String("room", "lobby", "where you go first")
	page := flags.String("inspect", "", "show this end in a browser, at this `address` of this machine, as 127.0.0.1:6060")
	silence := flags.Duration("silence", 10*time.Second, "how long an end may be unheard of before it is taken for gone")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Usage of chat: what is typed goes to the room; /join ROOM, /nick NAME, /who [ROOM]; @bot count, @bot echo TEXT")
		flags.PrintDefaults()
	}
	takes := usage.Takes{
		"silence": "a time from 1s to 1h, as 10s", "listen": "an address, as 127.0.0.1:9000", "connect": "an address, as 127.0.0.1:9000",
		"name": "a word", "room": "a word", "inspect": "an address, as 127.0.0.1:6060",
	}
	err := usage.Parse(flags, args, takes)
	switch {
	case err != nil:
		return err
	case (*listen == "") == (*connect == ""):
		return usage.Errorf("-listen or -connect, one of the two; -help")
	case *silence < time.Second || *silence > time.Hour:
		return takes.Wrong("silence", *silence)
	}
	socket, err := udp.Listen(cmp.Or(*listen, ":0"), udp.Config{})
	if err != nil {
		return err
	}
	defer socket.Close()
	config := netcode.Config{TickRate: framesPerSecond, HandshakeTimeout: *silence, SilenceTimeout: *silence, KeepAlive: *silence / 4}
	if *listen != "" {
		return serve(ctx, socket, config, *page, out)
	}
	return talk(ctx, socket, *connect, config, &Line{Name: word(*name), Room: word(*room)}, *page, in, out)
}

// clean makes of text what is safe to print on a terminal, at most so many bytes of it.
func clean(text string, limit int) string {
	text = strings.ToValidUTF8(text[:min(len(text), limit)], "")
	return strings.TrimSpace(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), ""))
}

// word is clean for a name, which has no spaces.
func word(text string) string { return clean(strings.ReplaceAll(text, " ", ""), maxName) }
