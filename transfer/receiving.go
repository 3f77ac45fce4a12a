package transfer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arche-netcode/netcode"
)

// Receiving is a transfer that comes.
type Receiving struct {
	end  *end
	from *peerState
	id   uint32
	name string
	size int
	data []byte
	told int // Bytes that the sender was told of.
	over bool
}

// From is the sender: a client, or 0 for the server.
func (r *Receiving) From() netcode.ClientID { return r.from.id }

// Name is the name that the sender gave it.
func (r *Receiving) Name() string { return r.name }

// Progress returns how many bytes have come, and how many there are.
func (r *Receiving) Progress() (received, all int) { return len(r.data), r.size }

// Cancel ends the transfer: the sender is told the text, of at most 120 bytes, and what has come is forgotten. Of one that is over it
// does nothing.
func (r *Receiving) Cancel(text string) {
	if r.over {
		return
	}
	r.drop()
	answer(r.end, r.from, stop{ID: r.id, Text: cut(text, textLimit)})
	r.fail(ErrCancelled)
}

// drop takes the transfer out of those that are under way.
func (r *Receiving) drop() {
	r.from.receiving = slices.DeleteFunc(r.from.receiving, func(other *Receiving) bool { return other == r })
}

// fail ends the transfer.
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

// Incoming returns the transfers from a sender that are under way, the oldest first: of a client, or of the server, which is 0.
func Incoming(e netcode.Endpoint, from netcode.ClientID) []*Receiving {
	if of, ok := netcode.ExtensionOf[*end](e); ok && of.peers[from] != nil {
		return slices.Clone(of.peers[from].receiving)
	}
	return nil
}

// begun takes a transfer that begins.
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

// refusal returns why a transfer is not taken; "" if it is.
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
		return cmp.Or(err.Error(), "it does not say why") // An empty text would be no refusal.
	}
	return ""
}

// came takes a piece.
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

// moved tells the game and the sender how much has come.
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

// stopped takes the word of the other end that a transfer is over.
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
