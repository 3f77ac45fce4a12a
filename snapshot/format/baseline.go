package format

import (
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Baseline is an entity after a record that other records are coded against.
type Baseline struct {
	ID    wire.NetworkID // the entity
	Tick  tick.Tick      // tick of the record
	Base  tick.Tick      // tick of the record that it was coded against itself; tick.None: none, or not needed
	Rows  Mask           // rows that it has
	Lanes []uint32       // lanes of the rows, in ascending order of row
}
