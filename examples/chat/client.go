package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
)

// talker is the client.
type talker struct {
	client *netcode.Client
	typed  chan string
	out    io.Writer
	leave  context.CancelFunc
}

// talk runs the client until ctx is done, its input ends, or the server is gone.
func talk(ctx context.Context, address string, hello Enter, config netcode.Config, in io.Reader, out io.Writer) error {
	server, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return err
	}
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return err
	}
	defer socket.Close()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	t := &talker{typed: make(chan string, 64), out: out, leave: leave}
	if t.client, err = netcode.NewClient(newProtocol(handlers{line: t.show}), config); err != nil {
		return err
	}
	var lost error
	t.client.OnConnect(func(netcode.ClientID) { t.tell(netcode.Send(t.client, netcode.ToServer(), &hello)) })
	t.client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
		if ctx.Err() == nil { // not of our own will
			lost = reason
		}
		leave()
	})
	if err := t.client.Connect(server.AddrPort()); err != nil {
		return err
	}
	go t.read(ctx, in)
	group := systems.NewClient(t.client, socket, systems.WallClock())
	group.Add(netcode.StageUpdate, t)
	world := ecs.NewWorld()
	if err := systems.NewRunner(&world, group, framesPerSecond).Run(ctx); lost == nil {
		return err
	}
	return lost
}

// read passes on what is typed: only the frame may touch the client.
func (t *talker) read(ctx context.Context, in io.Reader) {
	defer close(t.typed)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		select {
		case t.typed <- lines.Text():
		case <-ctx.Done():
			return
		}
	}
}

// Initialize, Update and Finalize make the talker a system of the frame.
func (t *talker) Initialize(*ecs.World) {}

// Update sends what was typed.
func (t *talker) Update(*ecs.World) {
	for t.client.State() == netcode.Connected {
		select {
		case line, more := <-t.typed:
			if !more {
				t.leave() // what was sent is delivered before the goodbye
				return
			}
			t.tell(t.send(line))
		default:
			return
		}
	}
}

// Finalize does nothing.
func (t *talker) Finalize(*ecs.World) {}

// send turns a typed line into a message.
func (t *talker) send(line string) error {
	command, rest, _ := strings.Cut(line, " ")
	switch command {
	case "/join":
		return netcode.Send(t.client, netcode.ToServer(), &Enter{Room: word(rest)})
	case "/nick":
		return netcode.Send(t.client, netcode.ToServer(), &Enter{Name: word(rest)})
	case "/who":
		return netcode.Call(context.Background(), t.client, 0, &Who{Room: word(rest)}, t.names)
	}
	if strings.HasPrefix(line, "/") {
		return fmt.Errorf("there are /join ROOM, /nick NAME and /who [ROOM]")
	}
	if line = clean(line, maxText); line == "" {
		return nil
	}
	return netcode.Send(t.client, netcode.ToServer(), &Say{Text: line})
}

// names shows the answer to /who.
func (t *talker) names(r *Names, err error) {
	if err == nil {
		fmt.Fprintf(t.out, "* in %s: %s\n", r.Room, r.List)
	}
	t.tell(err)
}

// show prints a line of the room.
func (t *talker) show(_ *netcode.Context, m *Line) {
	room, from, text := clean(m.Room, maxName), clean(m.From, maxName), clean(m.Text, maxText)
	if from == "" {
		fmt.Fprintf(t.out, "* %s\n", text)
		return
	}
	fmt.Fprintf(t.out, "[%s] %s: %s\n", room, from, text)
}

// tell prints what went wrong.
func (t *talker) tell(err error) {
	if err != nil {
		fmt.Fprintln(t.out, "!", err)
	}
}
