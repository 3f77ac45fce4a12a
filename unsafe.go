package netcode

import (
	"unsafe"

	"github.com/arche-netcode/netcode/wire"
)

// listOf returns the Recipient of a list.
func listOf(clients []wire.ClientID) Recipient {
	// SAFETY: where the list begins and how long it is are kept beside each other, and taken apart by many only.
	return Recipient{kind: toMany, list: unsafe.SliceData(clients), who: uint64(len(clients))}
}

// many returns the list of ToMany.
func (r Recipient) many() []wire.ClientID {
	if r.kind != toMany {
		return nil
	}
	// SAFETY: listOf took the two from one slice; nothing else makes a Recipient of this kind.
	return unsafe.Slice(r.list, int(r.who))
}
