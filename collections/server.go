package collections

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// waitingMost is the maximum number of bytes that wait for a client. Beyond it, changed collections are sent whole
	// later; those of entities that the client has stopped seeing by then are never sent.
	waitingMost = 16 << 10
	// waitingPieces is the number of waiting packets up to which pieces of whole collections are added.
	waitingPieces = 2
	// besideBody is the room in a packet for headers, message number and entity.
	besideBody = 24
)

// Server implements extend.ServerSide.
func (of ends) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	e := newEnd(of.types)
	e.server, e.origin = s, newOrigin(of.defs)
	e.recording = newRecording(e)
	return extend.ServerHooks{
		State: e,
		Opened: func(c extend.Session) any {
			r := &receiver{end: e, session: c, reader: newReader()}
			r.amend = func(body []byte) int { return r.reader.Amend(e.all.defs, body, r) }
			e.clients = append(e.clients, r)
			return r
		},
		Closed: func(c extend.Session) {
			e.clients = slices.DeleteFunc(e.clients, func(r *receiver) bool { return r.session == c })
		},
		BeforeSend: e.send,
		Record:     e.recording.record(),
	}
}

// send queues for each client the operations that it lacks, once a frame.
func (e *end) send() {
	store := e.server.Store()
	for _, id := range store.Ended() {
		e.origin.Drop(id)
	}
	store.ClearEnded()
	e.dirty = e.origin.Dirty()
	for _, r := range e.clients {
		if r.session.Connected() {
			r.serve()
		}
	}
	e.recording.follow()
	e.dirty = nil
	e.origin.Settle()
}

// receiver is the state of a client: its collections and their progress. It implements link.
type receiver struct {
	end     *end
	session extend.Session
	view    *snapshot.View // Nil before the first serve.
	reader  *reader
	amend   func(body []byte) int
	sights  uint64 // Of the view, at the last recall.
	handed  int    // Bytes that were handed to a host's player in this frame.
}

// serve queues the operations that one client lacks.
func (r *receiver) serve() {
	r.handed = 0
	r.view = r.session.View()
	if now := r.view.Sights(); r.sights != now {
		// Fill, called next, sends the elements again that lost a name.
		r.sights = now
		r.end.all.raw.Recall(r.session, r.amend)
	}
	for _, c := range r.end.dirty {
		r.reader.Follow(c, r)
	}
	for _, id := range r.view.Met() {
		for number := range r.end.all.defs {
			if c := r.end.origin.Find(number, id); c != nil {
				r.reader.Meet(c, r)
			}
		}
	}
	r.view.ClearMet()
	r.reader.Fill(r)
}

// Life implements link.
func (r *receiver) Life(id netcode.NetworkID) (tick.Tick, bool) { return r.view.Life(id) }

// Held implements link.
func (r *receiver) Held(id netcode.NetworkID) bool { return r.view.Held(id) }

// Names implements link.
func (r *receiver) Names(id netcode.NetworkID) bool { return r.view.Visible(id) }

// Sights implements link.
func (r *receiver) Sights() uint64 { return r.view.Sights() }

// Room implements link.
func (r *receiver) Room() bool {
	if r.session.Local() {
		return r.handed < waitingMost
	}
	return r.session.Waiting() < waitingPieces*r.session.PacketSize()
}

// Limit implements link.
func (r *receiver) Limit() int {
	return peer.MaxPayload(min(r.session.PacketSize(), peer.BasePacketSize)) - besideBody // a larger one would be fragmented, and fragments cannot be taken back
}

// Push implements link.
func (r *receiver) Push(id netcode.NetworkID, body []byte) error {
	if r.session.Waiting() > waitingMost || r.handed > waitingMost {
		return errBusy
	}
	if r.session.Local() {
		r.handed += len(body)
	}
	return r.end.all.raw.Send(r.session, id, body)
}
