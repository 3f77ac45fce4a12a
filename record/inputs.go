package record

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Inputs records the actions of players: joins and leaves, the inputs of package input as the server used them, and
// client messages in the order of their handlers. Replay replays a deterministic game from them; input.Recorded returns
// the inputs in a playback. For a replay, call Start with it before the first frame of the server.
func Inputs() Option {
	return func(r *recording) {
		r.players.on = true
		r.features = append(r.features, "input")
	}
}

// Collections records the lists, sets and maps of package collections. A playback shows them on its entities.
func Collections() Option { return Feature("collection") }

// Feature records the data of a feature (extend.ServerRecord), by its name.
func Feature(name string) Option {
	return func(r *recording) { r.features = append(r.features, name) }
}

// featuresOf returns the features of a server whose recorded data it can read: the descriptions are equal.
func (h *Header) featuresOf(s *netcode.Server) (features []*extend.ServerRecord) {
	own := s.Protocol().Description()
	for _, feature := range extend.OfServer(s).Records() {
		if slices.Equal(entriesOf(h.Entries, feature.Name), entriesOf(own, feature.Name)) {
			features = append(features, feature)
		}
	}
	return features
}

// writeFeatures adds the notes of all recorded features.
func (r *recording) writeFeatures() {
	begins := r.writer.Begins()
	for _, feature := range extend.OfServer(r.server).Records() {
		if !slices.Contains(r.features, feature.Name) {
			continue
		}
		r.note = append(wire.AppendVarint(r.note[:0], uint64(len(feature.Name))), feature.Name...)
		head := len(r.note)
		if r.note = feature.Write(r.note, begins); len(r.note) > head || begins {
			r.writer.Note(noteFeature, r.note)
		}
	}
}

// readFeatures passes the notes of a tick to their features, and reports whether they are legal.
func readFeatures(features []*extend.ServerRecord, r *Reader) bool {
	for _, n := range r.Notes() {
		if n.Kind != noteFeature {
			continue
		}
		b := noteReader{left: n.Body, ok: true}
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

// Events of players.
const (
	playerCame   = iota
	playerClosed // in order: its messages are handled first
	playerLost
)

// players records joins, leaves and client messages.
type players struct {
	on, hooked bool
	events     []byte // of the tick that is written next
	later      []byte // of the tick after it
	written    tick.Tick
}

// begin installs the hooks in the server and records the present clients.
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
	extend.OfServer(r.server).Extend(extend.ServerHooks{
		Opened: func(c extend.Session) any {
			if !first {
				p.note(r.server, playerCame, c.ID())
			}
			return nil
		},
		Closed:  func(c extend.Session) { p.closed(r.server, c) },
		Handled: func(from netcode.ClientID, m *extend.Posted) { p.said(r, from, m) },
	})
	first = false
}

// note adds an event. Once the tick of this frame is captured the event belongs to the next tick, where game code sees
// it.
func (p *players) note(s *netcode.Server, event byte, client netcode.ClientID) {
	if !p.on {
		return
	}
	to := &p.events
	if p.captured(s) && event != playerClosed {
		to = &p.later
	}
	*to = wire.AppendVarint(append(*to, event), uint64(client))
}

// captured reports whether the tick of this frame is captured and its note is not yet written.
func (p *players) captured(s *netcode.Server) bool {
	return s.TickDue() && s.Store().Tick() == s.Tick() && p.written < s.Tick()
}

// closed records the end of a client, unless game code ends it; that also happens in a replay.
func (p *players) closed(s *netcode.Server, c extend.Session) {
	switch {
	case c.EndedByGame():
	case !c.Connected() && p.captured(s): // it closed in this frame, after its messages were handled
		p.note(s, playerClosed, c.ID())
	default:
		p.note(s, playerLost, c.ID())
	}
}

// said records a message of a client.
func (p *players) said(r *recording, from netcode.ClientID, m *extend.Posted) {
	if r.writer == nil || !p.on {
		return
	}
	stage := m.Stage
	if !r.server.TickDue() {
		stage = tick.Initialization // handled before the tick began
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
