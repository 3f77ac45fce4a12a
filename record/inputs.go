package record

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Inputs makes a recording have all that players do: who comes and goes, the inputs of package input as the server used them, and the messages
// of clients in the order of their handlers. Replay plays a deterministic game from them, and input.Recorded has the inputs in a playback. Give it to
// Start before the first frame of the server, if the game is to be replayed.
func Inputs() Option {
	return func(r *recording) {
		r.players.on = true
		r.features = append(r.features, "input")
	}
}

// Collections makes a recording have the lists, sets and maps of package collections. A playback has them on its entities.
func Collections() Option { return Feature("collection") }

// Feature makes a recording have what a feature adds to it (netcode.ServerRecord), by its name.
func Feature(name string) Option {
	return func(r *recording) { r.features = append(r.features, name) }
}

// featuresOf returns the features of a server whose parts of a recording it can read: both describe them alike.
func (h *Header) featuresOf(s *netcode.Server) (features []*netcode.ServerRecord) {
	own := s.Protocol().Description()
	for _, feature := range s.Records() {
		if slices.Equal(entriesOf(h.Entries, feature.Name), entriesOf(own, feature.Name)) {
			features = append(features, feature)
		}
	}
	return features
}

// recordFeatures tells features whether they are recorded.
func (r *recording) recordFeatures() {
	for _, feature := range r.server.Records() {
		feature.Recorded = slices.Contains(r.features, feature.Name)
	}
}

// writeFeatures adds the notes of features.
func (r *recording) writeFeatures() {
	begins := r.writer.Begins()
	for _, feature := range r.server.Records() {
		if !feature.Recorded {
			continue
		}
		r.note = append(wire.AppendVarint(r.note[:0], uint64(len(feature.Name))), feature.Name...)
		head := len(r.note)
		if r.note = feature.Write(r.note, begins); len(r.note) > head || begins {
			r.writer.Note(noteFeature, r.note)
		}
	}
}

// readFeatures gives the notes of a tick to the features that have them, and reports whether they are legal.
func readFeatures(features []*netcode.ServerRecord, r *Reader) bool {
	for _, n := range r.Notes() {
		if n.Kind != noteFeature {
			continue
		}
		b := noteReader{n.Body, true}
		size, _ := b.varint(uint64(len(n.Body)))
		if !b.ok || size > uint64(len(b.left)) {
			return false
		}
		for _, feature := range features {
			if feature.Name == string(b.left[:size]) && !feature.Read(b.left[size:], r.Fresh()) {
				return false
			}
		}
	}
	return true
}

// Events of a player.
const (
	playerCame   = iota
	playerClosed // In order: its messages are handled first.
	playerLost
)

// players records who comes and goes, and what clients say.
type players struct {
	on, hooked bool
	events     []byte // Of the tick that is written next.
	later      []byte // Of the one behind it.
	written    tick.Tick
}

// begin hooks the server, and tells of the clients that there are.
func (p *players) begin(r *recording) {
	if !p.on {
		return
	}
	p.events, p.later, p.written = p.events[:0], p.later[:0], r.server.Store().Tick()
	for client := range r.server.Clients {
		p.note(r.server, playerCame, client)
	}
	if p.hooked {
		return
	}
	p.hooked = true
	first := true
	r.server.Extend(netcode.ServerHooks{
		Opened: func(c *netcode.Session) any {
			if !first && p.on {
				p.note(r.server, playerCame, c.ID())
			}
			return nil
		},
		Closed:  func(c *netcode.Session) { p.closed(r.server, c) },
		Handled: func(from netcode.ClientID, m *netcode.Posted) { p.said(r, from, m) },
	})
	first = false
}

// note adds an event. One that comes when the tick is captured is of the next tick: game code sees it there.
func (p *players) note(s *netcode.Server, event byte, client netcode.ClientID) {
	to := &p.events
	if p.captured(s) && event != playerClosed {
		to = &p.later
	}
	*to = wire.AppendVarint(append(*to, event), uint64(client))
}

// captured reports whether the tick of this frame is captured and its note is not written.
func (p *players) captured(s *netcode.Server) bool {
	return s.TickDue() && s.Store().Tick() == s.Tick() && p.written < s.Tick()
}

// closed adds the end of a client, unless game code ends it, which it does in a replay too.
func (p *players) closed(s *netcode.Server, c *netcode.Session) {
	switch {
	case !p.on, c.EndedByGame():
	case !c.Connected() && p.captured(s): // It closed in this frame, and its messages were handled.
		p.note(s, playerClosed, c.ID())
	default:
		p.note(s, playerLost, c.ID())
	}
}

// said adds a message of a client.
func (p *players) said(r *recording, from netcode.ClientID, m *netcode.Posted) {
	if !p.on {
		return
	}
	stage := m.Stage
	if !r.server.TickDue() {
		stage = tick.Initialization // It was handled before the tick began.
	}
	b := wire.AppendVarint(r.note[:0], uint64(from))
	b = append(b, byte(m.Type-wire.FirstUserMessage), byte(stage), byte(m.Channel))
	r.note = append(appendID(b, m.Entity), m.Body...)
	r.writer.Note(noteSaid, r.note)
}

// write adds the note of a tick.
func (p *players) write(r *recording) {
	if !p.on {
		return
	}
	p.written = r.server.Tick()
	if len(p.events) > 0 {
		r.writer.Note(notePlayers, p.events)
	}
	p.events, p.later = append(p.events[:0], p.later...), p.later[:0]
}
