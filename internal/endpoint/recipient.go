package endpoint

import (
	"fmt"

	"github.com/arche-netcode/netcode/wire"
)

// Recipient is a netcode.Recipient; the zero value is nobody.
type Recipient struct {
	kind recipientKind
	who  uint64          // A client or an entity.
	list []wire.ClientID // Of toMany.
}

type recipientKind uint8

const (
	toNobody recipientKind = iota
	toOne
	toMany
	toAllBut
	toOwner
	toSeers
	toSelf
)

// To implements netcode.To, as the following functions do for those of their names.
func To(client wire.ClientID) Recipient { return Recipient{kind: toOne, who: uint64(client)} }

// ToMany is each client of a list, once.
func ToMany(clients []wire.ClientID) Recipient { return Recipient{kind: toMany, list: clients} }

// ToAllBut is every connected client but one; 0 is every client.
func ToAllBut(client wire.ClientID) Recipient {
	return Recipient{kind: toAllBut, who: uint64(client)}
}

// ToOwner is the client that an entity belongs to.
func ToOwner(entity wire.NetworkID) Recipient { return Recipient{kind: toOwner, who: packed(entity)} }

// ToSeers is every client that may see an entity.
func ToSeers(entity wire.NetworkID) Recipient { return Recipient{kind: toSeers, who: packed(entity)} }

// ToSelf is the sending end itself.
func ToSelf() Recipient { return Recipient{kind: toSelf} }

func packed(entity wire.NetworkID) uint64 {
	return uint64(entity.Generation)<<32 | uint64(entity.Index)
}

// client is the one of To and ToAllBut.
func (r Recipient) client() wire.ClientID { return wire.ClientID(r.who) }

// entity is the one of ToOwner and ToSeers.
func (r Recipient) entity() wire.NetworkID {
	return wire.NetworkID{Index: uint32(r.who), Generation: uint32(r.who >> 32)}
}

// String returns the recipient in words, such as "client 3" or "all but client 3".
func (r Recipient) String() string {
	switch r.kind {
	case toOne:
		return endName(r.client())
	case toMany:
		return fmt.Sprintf("clients %v", r.list)
	case toAllBut:
		if r.client() == 0 {
			return "all"
		}
		return "all but " + endName(r.client())
	case toOwner:
		return "the owner of " + r.entity().String()
	case toSeers:
		return "the seers of " + r.entity().String()
	case toSelf:
		return "itself"
	}
	return "nobody"
}

// endName names an end by its id.
func endName(id wire.ClientID) string {
	if id == 0 {
		return "the server"
	}
	return fmt.Sprintf("client %d", id)
}
