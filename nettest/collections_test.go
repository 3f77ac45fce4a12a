package nettest_test

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
)

// thing is an element that names an entity and is rounded on its way.
type thing struct {
	Kind uint16
	Wear float32           `net:"min=0,max=1,step=0.01"`
	Of   netcode.NetworkID `net:"entity"`
}

// shelf is a protocol with a collection of each kind.
type shelf struct {
	protocol *netcode.Protocol
	list     *collections.List[thing]
	set      *collections.Set[uint32]
	table    *collections.Map[int16, thing]
}

func newShelf() *shelf {
	p := protocol()
	return &shelf{
		protocol: p, list: collections.NewList[thing](p, "things", collections.MaxElements(200)),
		set: collections.NewSet[uint32](p, "marks"), table: collections.NewMap[int16, thing](p, "table", collections.MaxBytes(900)),
	}
}

// elements returns all of a list.
func elements(l collections.ListOf[thing]) (all []thing) {
	for _, v := range l.All() {
		all = append(all, v)
	}
	return all
}
