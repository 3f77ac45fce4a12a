package record

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ErrReplay means that the recording was not started before the first frame of a server like this one.
var ErrReplay = errors.New("record: the recording cannot be replayed on this server")

// Replay runs a deterministic game again with the recorded actions of its players. Requirements:
//   - The recording was started with Inputs before the first frame of its server.
//   - s is a new server of the same game with the same Config.TickRate and FirstTick, and the same initial world.
//   - frame runs one frame of the game's server, from BeginFrame to Send, at a clock time that starts at 0.
//
// In each tick players join, act and leave as recorded, and the captured state is compared with the recorded one.
// Replay returns the first difference, nil if there is none: A is the recording, B the replay.
//
// A game is deterministic if its captured state depends only on ticks, inputs, messages, joins and leaves: it seeds its
// random numbers, and its systems run in frames with a network tick. Components written by clients, calls, and absent
// players are not replayed. The errors are ErrReplay, ErrProtocol and those of the reader; damage is an error too. A
// file that was cut off ends the replay.
func Replay(s *netcode.Server, file io.Reader, frame func(now time.Duration)) (*Difference, error) {
	plans := plansOf(s.Protocol().Schema())
	r, err := NewReader(file, plans...)
	if err != nil {
		return nil, err
	}
	if err := sameComponents(r.plans, plans); err != nil {
		return nil, err
	}
	p := &replay{server: s, reader: r, types: r.header.messageTypes(s.Protocol()), features: r.header.featuresOf(s)}
	extend.OfServer(s).Extend(extend.ServerHooks{BeginFrame: p.begin})
	for first := tick.None; ; {
		now, err := r.Next()
		switch {
		case err == io.EOF || errors.Is(err, ErrCut):
			return nil, nil
		case err != nil:
			return nil, err
		case first == tick.None:
			first = now
		}
		if p.due = true; s.TickRate() != r.header.TickRate {
			return nil, fmt.Errorf("%w: it has %d ticks a second: give the server this Config.TickRate", ErrReplay, r.header.TickRate)
		}
		frame(time.Duration(now-first) * time.Second / time.Duration(s.TickRate()))
		switch {
		case p.failed != nil:
			return nil, p.failed
		case s.Store().Tick() != now:
			return nil, fmt.Errorf("%w: it has tick %d where the server captured tick %d: begin it before the first frame, with this Config.FirstTick", ErrReplay, now, s.Store().Tick())
		}
		indexes := 0
		for id := range s.Store().All {
			indexes = int(id.Index) + 1
		}
		if d := differ(r, captured{s.Store()}, indexes); d != nil {
			return d, nil
		}
	}
}

// replay replays recorded players on a server.
type replay struct {
	server *netcode.Server
	reader *Reader
	types  []wire.MessageType

	features []*extend.ServerRecord

	due    bool // the notes of the reader's tick were not yet replayed
	failed error
}

// begin replays the players' actions of the tick that begins.
func (p *replay) begin() {
	if !p.due || !p.server.TickDue() || p.failed != nil {
		return
	}
	p.due = false
	for _, n := range p.reader.Notes() {
		b, ok := noteReader{left: n.Body, ok: true}, true
		switch n.Kind {
		case notePlayers:
			ok = p.move(&b)
		case noteSaid:
			ok = p.say(&b)
		}
		if !ok || !b.ok {
			p.failed = p.reader.within(p.reader.now-1, "its notes are none")
			return
		}
	}
	if !readFeatures(p.features, p.reader) {
		p.failed = p.reader.within(p.reader.now-1, "its notes are none")
	}
}

// move replays joins and leaves.
func (p *replay) move(b *noteReader) bool {
	for b.ok && len(b.left) > 0 {
		event, client := b.byte(), b.client()
		c := extend.OfServer(p.server).Session(client)
		switch {
		case !b.ok || event > playerLost:
			return false
		case event == playerCame:
			if _, err := extend.OfServer(p.server).AddRecordedPlayer(client); err != nil {
				p.failed = fmt.Errorf("%w: tick %d: %w", ErrReplay, p.reader.now, err)
				return true
			}
		case c != nil && c.Recorded():
			c.EndRecorded(event == playerClosed)
		}
	}
	return true
}

// say replays a message of a player.
func (p *replay) say(b *noteReader) bool {
	c := extend.OfServer(p.server).Session(b.client())
	of := int(b.byte())
	var m extend.Posted
	m.Stage, m.Channel = tick.Stage(b.byte()), wire.Channel(b.byte())
	m.Entity = b.id()
	m.Body = b.left
	if !b.ok || of >= len(p.types) {
		return false
	}
	if m.Type = p.types[of]; m.Type == 0 || c == nil {
		return true
	}
	return c.Say(&m) == nil
}
