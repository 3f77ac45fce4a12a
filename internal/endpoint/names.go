package endpoint

import (
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// mayName reports whether an entity may be named to another end. At a server it is true for an entity with a reserved id: the
// message is held back until the next capture.
func (e *End) mayName(l *Link, entity wire.NetworkID) bool {
	return e.atServer() && e.Store.Reserved(entity) || e.owner.Sees(l, entity)
}

// MayConcern reports whether a message that came by a link may name an entity, and counts if not. The link may be nil.
func (e *End) MayConcern(l *Link, entity wire.NetworkID) bool {
	may := l != nil && e.owner.Sees(l, entity)
	if !may {
		e.Counters.NotVisible++
	}
	return may
}

// namesEarly reports whether an encoded message refers to an entity with a reserved id, whose visibility is not known yet. A client's
// never does.
func (e *End) namesEarly(kind wire.MessageType, body []byte) bool {
	if !e.atServer() || !e.Store.Reserves() {
		return false
	}
	plan, row := e.namesOf(kind, body)
	if plan == nil {
		return false
	}
	for _, lane := range plan.Refs() {
		if e.Store.Reserved(wire.NetworkID{Index: row[lane], Generation: row[lane+1]}) {
			return true
		}
	}
	return false
}

// hideNames clears the entity references of an encoded message to a client that the client may not see now. It returns body if
// it clears none, otherwise bytes that are valid until the next call. It reads only types with entity fields. A client's message hides nothing.
func (e *End) hideNames(l *Link, kind wire.MessageType, body []byte) []byte {
	if !e.atServer() {
		return body
	}
	plan, row := e.namesOf(kind, body)
	if plan == nil {
		return body
	}
	hidden := false
	for _, lane := range plan.Refs() {
		id := wire.NetworkID{Index: row[lane], Generation: row[lane+1]}
		if id.Generation != 0 && !e.owner.Sees(l, id) && (l.Loopback == nil || !e.Store.Reserved(id)) {
			row[lane], row[lane+1] = 0, 0
			hidden = true
		}
	}
	if !hidden {
		return body
	}
	size := (plan.Bits() + 7) / 8
	if cap(e.body) < size {
		e.body = make([]byte, size)
	}
	return writeNames(plan, row, e.body[:size])
}

// writeNames encodes a row into a buffer and returns the used part.
func writeNames(plan *quantize.Plan, row []uint32, buffer []byte) []byte {
	w := wire.NewBitWriter(buffer)
	plan.WriteRow(&w, row)
	return buffer[:w.Finish()]
}

// namesOf decodes an encoded message of a type with entity fields. The plan is nil for other types. The row is valid
// until the next call.
func (e *End) namesOf(kind wire.MessageType, body []byte) (*quantize.Plan, []uint32) {
	plan := e.Types.Naming[kind]
	if plan == nil {
		return nil, nil
	}
	if cap(e.row) < plan.Lanes() {
		e.row = make([]uint32, plan.Lanes())
	}
	r, row := wire.NewBitReader(body), e.row[:plan.Lanes()]
	if !plan.ReadRow(&r, row) {
		return nil, nil // Encode has written the body, so that this never happens.
	}
	return plan, row
}
