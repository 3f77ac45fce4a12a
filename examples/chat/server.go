package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
)

const botName = "bot"

// hall is the server: who is in which room.
type hall struct {
	server  *netcode.Server
	members map[netcode.ClientID]*member
}

type member struct{ name, room string }

// serve runs the server until ctx is done.
func serve(ctx context.Context, address string, config netcode.Config, out io.Writer) error {
	socket, err := udp.Listen(address, udp.Config{})
	if err != nil {
		return err
	}
	defer socket.Close()
	h := &hall{members: map[netcode.ClientID]*member{}}
	if h.server, err = netcode.NewServer(newProtocol(handlers{enter: h.enter, say: h.say, who: h.who}), config); err != nil {
		return err
	}
	h.server.OnDisconnect(h.left)
	fmt.Fprintln(out, "listening on", socket.LocalAddr())
	world := ecs.NewWorld() // nothing is replicated: a chat is messages alone
	return systems.NewRunner(&world, systems.NewServer(h.server, socket, systems.WallClock()), framesPerSecond).Run(ctx)
}

// enter names a client and moves it to a room.
func (h *hall) enter(ctx *netcode.Context, m *Enter) {
	who, name, room := h.members[ctx.Sender], word(m.Name), word(m.Room)
	if who == nil {
		who = &member{name: h.free(name)}
		h.members[ctx.Sender] = who
	} else if name != "" && name != who.name {
		before := who.name
		who.name = h.free(name)
		h.show(who.room, "", before+" is now "+who.name)
	}
	if room == "" && who.room == "" {
		room = "lobby"
	}
	if room == "" || room == who.room {
		return
	}
	if who.room != "" {
		h.show(who.room, "", who.name+" went to "+room)
	}
	who.room = room
	h.show(room, "", who.name+" joined "+room)
}

// free is a name that nobody has yet.
func (h *hall) free(name string) string {
	if name == "" {
		name = "guest"
	}
	for n, tried := 2, name; ; n++ {
		taken := tried == botName
		for _, m := range h.members {
			taken = taken || m.name == tried
		}
		if !taken {
			return tried
		}
		tried = fmt.Sprint(clean(name, maxName-4), n)
	}
}

// say shows a line to the sender's room, and what the bot answers.
func (h *hall) say(ctx *netcode.Context, m *Say) {
	who := h.members[ctx.Sender]
	if who == nil {
		return
	}
	h.show(who.room, who.name, m.Text)
	if question, asked := strings.CutPrefix(m.Text, "@"+botName); asked {
		h.show(who.room, botName, h.answer(who, strings.TrimSpace(question)))
	}
}

// answer is the bot.
func (h *hall) answer(who *member, question string) string {
	command, rest, _ := strings.Cut(question, " ")
	switch command {
	case "count":
		return fmt.Sprintf("%d in %s", len(h.in(who.room)), who.room)
	case "echo":
		return rest
	}
	return "hello " + who.name + ", ask me: count, echo TEXT"
}

// in lists who is in a room, in the order in which they came.
func (h *hall) in(room string) (ids []netcode.ClientID) {
	for id := range h.server.Clients {
		if m := h.members[id]; m != nil && m.room == room {
			ids = append(ids, id)
		}
	}
	return ids
}

// show sends a line to a room.
func (h *hall) show(room, from, text string) {
	line := Line{Room: room, From: from, Text: clean(text, maxText)}
	if err := netcode.Send(h.server, netcode.ToMany(h.in(room)), &line); err != nil {
		h.server.Report(err)
	}
}

// who answers /who; an error is told to the one who asked.
func (h *hall) who(ctx *netcode.Context, q *Who, r *Names) error {
	if r.Room = word(q.Room); r.Room == "" && h.members[ctx.Sender] != nil {
		r.Room = h.members[ctx.Sender].room
	}
	var names []string
	for _, id := range h.in(r.Room) {
		names = append(names, h.members[id].name)
	}
	if len(names) == 0 {
		return fmt.Errorf("nobody is in %q", r.Room)
	}
	slices.Sort(names)
	r.List = clean(strings.Join(names, ", "), maxList)
	return nil
}

// left tells the room, whether somebody said goodbye or fell silent.
func (h *hall) left(id netcode.ClientID, reason *netcode.CloseError) {
	if who := h.members[id]; who != nil {
		delete(h.members, id)
		h.show(who.room, "", fmt.Sprintf("%s left (%v)", who.name, reason))
	}
}
