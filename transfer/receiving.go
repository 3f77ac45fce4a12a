package transfer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
)

// Receiving is a transfer that this end receives.
type Receiving struct {
	end  *end
	from *peerState
	id   uint32
	name string
	size int
	data []byte
	told int // Bytes confirmed to the sender.
	over bool
}

// From returns the sender: a client, or 0 for the server.
func (r *Receiving) From() netcode.ClientID { return r.from.id }

// Name returns the name that the sender gave to Send.
func (r *Receiving) Name() string { return r.name }

// Progress returns the number of received bytes and of all bytes.
func (r *Receiving) Progress() (received, all int) { return len(r.data), r.size }

// Cancel aborts the transfer and drops the received bytes. The sender gets text, cut to 120 bytes. If the transfer is over,
// Cancel does nothing.
func (r *Receiving) Cancel(text string) {
	if r.over {
		return
	}
	r.drop()
	answer(r.end, r.from, stop{ID: r.id, Text: cut(text, textLimit)})
	r.fail(ErrCancelled)
}

// drop removes the transfer from the list of its connection.
func (r *Receiving) drop() {
	r.from.receiving = slices.DeleteFunc(r.from.receiving, func(other *Receiving) bool { return other == r })
}

// fail ends the transfer with an error, and calls Handler.Failed in the next frame.
func (r *Receiving) fail(err error) {
	if r.over {
		return
	}
	r.over, r.data = true, nil
	r.end.later = append(r.end.later, func() {
		if h := r.end.handler; h != nil && h.Failed != nil {
			h.Failed(r, err)
		}
	})
}

// Incoming returns the unfinished transfers from a sender, oldest first. from is a client, or 0 for the server.
func Incoming(e netcode.Endpoint, from netcode.ClientID) []*Receiving {
	if of, ok := extend.ExtensionOf[*end](e); ok && of.peers[from] != nil {
		return slices.Clone(of.peers[from].receiving)
	}
	return nil
}

// begun handles the begin of a transfer.
func (e *end) begun(from *peerState, m *begin) error {
	if m.ID <= from.newest {
		return errMessage
	}
	from.newest = m.ID
	r := &Receiving{end: e, from: from, id: m.ID, name: m.Name, size: int(m.Size)}
	if text := e.refusal(from, r); text != "" {
		r.over = true
		answer(e, from, stop{ID: m.ID, Text: cut(text, textLimit)})
		return nil
	}
	if r.over { // Begin cancelled it.
		return nil
	}
	from.receiving = append(from.receiving, r)
	r.moved()
	return nil
}

// refusal returns the reason to refuse a transfer, "" if it is accepted.
func (e *end) refusal(from *peerState, r *Receiving) string {
	switch limit := e.limit(false); {
	case e.handler == nil:
		return "nobody takes transfers here: see transfer.On"
	case limit == 0:
		return "none are taken"
	case uint64(uint32(r.size)) > uint64(limit):
		return fmt.Sprintf("%d bytes are more than %d", r.size, limit)
	case len(from.receiving) >= e.feature.config.AtOnce:
		return "too many at once"
	case e.handler.Begin == nil:
		return ""
	}
	if err := e.handler.Begin(r); err != nil {
		return cmp.Or(err.Error(), "it does not say why") // An empty text would mean no refusal.
	}
	return ""
}

// came handles a piece.
func (e *end) came(from *peerState, m *piece) error {
	i := slices.IndexFunc(from.receiving, func(r *Receiving) bool { return r.id == m.ID })
	switch {
	case m.ID > from.newest || len(m.Data) == 0:
		return errMessage
	case i < 0:
		return nil // It was refused or cancelled, and the sender did not know yet.
	}
	r := from.receiving[i]
	if len(m.Data) > r.size-len(r.data) {
		return errMessage
	}
	r.data = append(r.data, m.Data...)
	r.moved()
	return nil
}

// moved tells the game and the sender how much was received.
func (r *Receiving) moved() {
	h := r.end.handler
	done := len(r.data) == r.size
	if len(r.data) > 0 && h.Moved != nil {
		h.Moved(r, len(r.data), r.size)
	}
	if r.over { // Moved cancelled it.
		return
	}
	if done || len(r.data)-r.told >= gotEvery {
		r.told = len(r.data)
		answer(r.end, r.from, got{ID: r.id, Bytes: uint32(len(r.data))})
	}
	if done {
		r.drop()
		r.over = true
		if h.Done != nil {
			h.Done(r, r.data)
		}
		r.data = nil
	}
}

// stopped handles a stop from the other end.
func (e *end) stopped(from *peerState, m *stop) error {
	if m.Sender {
		if i := slices.IndexFunc(from.receiving, func(r *Receiving) bool { return r.id == m.ID }); i >= 0 {
			r := from.receiving[i]
			r.drop()
			r.fail(ErrCancelled)
		}
		return nil
	}
	if i := slices.IndexFunc(from.sending, func(s *Sending) bool { return s.id == m.ID }); i >= 0 {
		s := from.sending[i]
		s.drop()
		s.finish(&RefusedError{Text: m.Text})
	}
	return nil
}

// String tells the name, the progress and the sender.
func (r *Receiving) String() string {
	return fmt.Sprintf("%q from %s: %d of %d bytes", r.name, peerName(r.from.id), len(r.data), r.size)
}

// peerName names an end by its id.
func peerName(id netcode.ClientID) string {
	if id == 0 {
		return "the server"
	}
	return fmt.Sprintf("client %d", id)
}
