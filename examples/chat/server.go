package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

const botName = "bot"

// hall is the server: who is in which room.
type hall struct {
	server  *netcode.Server
	members map[netcode.ClientID]*member
}

type member struct{ name, room string }

// serve runs the server until ctx is done, and shows it in a browser at page unless that is empty. Nothing is replicated, so it has no world: a
// chat is messages alone.
func serve(ctx context.Context, socket transport.Conn, config netcode.Config, page string, out io.Writer) (err error) {
	h := &hall{members: map[netcode.ClientID]*member{}}
	if h.server, err = netcode.NewServer(newProtocol(h.hear, nil, h.who), config); err != nil {
		return err
	}
	if err := h.server.MayListen(socket); err != nil {
		return err
	}
	h.server.OnDisconnect(h.left)
	fmt.Fprintln(out, "listening on", socket.LocalAddr())
	group, stop, err := live.Show(systems.NewServer(h.server, socket, systems.WallClock()), page, out)
	if err != nil {
		return err
	}
	defer stop()
	return systems.NewRunner(nil, group, framesPerSecond).Run(ctx)
}

// hear takes in what a client says: who it is, where it goes, and what it tells the room.
func (h *hall) hear(ctx *netcode.Context, m *Line) {
	who, name, room := h.members[ctx.Sender], word(m.Name), word(m.Room)
	if who == nil {
		who, room = &member{name: h.free(name)}, cmp.Or(room, "lobby")
	} else if name != "" && name != who.name {
		name = h.free(name)
		h.show(who.room, "* "+who.name+" is now "+name)
		who.name = name
	}
	if room != "" && room != who.room {
		h.show(who.room, "* "+who.name+" went to "+room)
		who.room, h.members[ctx.Sender] = room, who
		h.show(room, "* "+who.name+" joined "+room)
	}
	if m.Text != "" {
		h.show(who.room, fmt.Sprintf("[%s] %s: %s", who.room, who.name, clean(m.Text, maxText)))
	}
	if question, asked := strings.CutPrefix(m.Text, "@"+botName); asked {
		h.show(who.room, fmt.Sprintf("[%s] %s: %s", who.room, botName, h.answer(who, strings.TrimSpace(question))))
	}
}

// free is a name that nobody has yet.
func (h *hall) free(name string) string {
	taken := map[string]bool{botName: true}
	for _, m := range h.members {
		taken[m.name] = true
	}
	name = cmp.Or(name, "guest")
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprint(clean(name, maxName-4), n)
	}
	return free
}

// answer is the bot.
func (h *hall) answer(who *member, question string) string {
	switch command, rest, _ := strings.Cut(question, " "); command {
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
func (h *hall) show(room, text string) {
	if err := netcode.Send(h.server, netcode.ToMany(h.in(room)), &Shown{Text: text}); err != nil {
		h.server.Report(err)
	}
}

// who answers /who; an error is told to the one who asked.
func (h *hall) who(ctx *netcode.Context, q *Who, r *Names) error {
	room := word(q.Room)
	if who := h.members[ctx.Sender]; who != nil {
		room = cmp.Or(room, who.room)
	}
	var names []string
	for _, id := range h.in(room) {
		names = append(names, h.members[id].name)
	}
	if len(names) == 0 {
		return fmt.Errorf("nobody is in %q", room)
	}
	r.Text = clean("* in "+room+": "+strings.Join(names, ", "), maxShown)
	return nil
}

// left tells the room, whether somebody said goodbye or fell silent.
func (h *hall) left(id netcode.ClientID, reason *netcode.CloseError) {
	if who := h.members[id]; who != nil {
		delete(h.members, id)
		h.show(who.room, fmt.Sprintf("* %s left (%v)", who.name, reason))
	}
}
