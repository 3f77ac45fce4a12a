package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
)

// talker is the client.
type talker struct {
	client *netcode.Client
	out    io.Writer
}

// talk runs the client until ctx is done, its input ends, or the server is gone.
func talk(ctx context.Context, socket systems.Socket, address string, config netcode.Config, hello *Line, page string, in io.Reader, out io.Writer) error {
	server, err := udp.Resolve(address)
	if err != nil {
		return err
	}
	t := &talker{out: out}
	if t.client, err = netcode.NewClient(newProtocol(nil, func(_ *netcode.Context, m *Shown) { t.show(m.Text) }, nil), config); err != nil {
		return err
	}
	group := systems.NewClient(t.client, socket, systems.WallClock())
	stop, err := live.ShowClient(group, nil, page, out)
	if err != nil {
		return err
	}
	defer stop()
	ctx, leave := context.WithCancelCause(ctx) // the first cause counts: of our own will, or the server is gone
	loop := systems.NewRunner(nil, group, framesPerSecond)
	t.client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { leave(reason) })
	t.client.OnConnect(func(netcode.ClientID) {
		t.tell(netcode.Send(t.client, netcode.ToServer(), hello))
		go func() {
			for lines := bufio.NewScanner(in); lines.Scan(); {
				loop.Do(func() { t.tell(t.say(lines.Text())) }) // only the loop may touch the client
			}
			leave(nil) // what was sent is delivered before the goodbye
		}()
	})
	if err = t.client.Connect(server); err != nil {
		return err
	}
	err = loop.Run(ctx)
	if lost := new(netcode.CloseError); errors.As(context.Cause(ctx), &lost) {
		return lost
	}
	return err
}

// say turns a typed line into a message.
func (t *talker) say(line string) error {
	command, rest, _ := strings.Cut(line, " ")
	said := Line{Text: clean(line, maxText)}
	switch {
	case command == "/who":
		return netcode.Call(context.Background(), t.client, 0, &Who{Room: word(rest)}, func(r *Names, err error) {
			if t.tell(err); err == nil {
				t.show(r.Text)
			}
		})
	case command == "/join":
		said = Line{Room: word(rest)}
	case command == "/nick":
		said = Line{Name: word(rest)}
	case strings.HasPrefix(command, "/"):
		return errors.New("there are /join ROOM, /nick NAME and /who [ROOM]; the bot answers @bot count and @bot echo TEXT")
	}
	return netcode.Send(t.client, netcode.ToServer(), &said)
}

// show prints a line of the room, or the answer to /who.
func (t *talker) show(text string) { fmt.Fprintln(t.out, clean(text, maxShown)) }

// tell prints what went wrong.
func (t *talker) tell(err error) {
	if err != nil {
		fmt.Fprintln(t.out, "!", err)
	}
}
