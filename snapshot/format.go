package snapshot

import "github.com/arche-netcode/netcode/snapshot/format"

// The names of package format that users of a Store meet.
type (
	Mask       = format.Mask
	Schema     = format.Schema
	RowOptions = format.RowOptions
	Config     = format.Config
)

const (
	MaxRows      = format.MaxRows
	MaxEntities  = format.MaxEntities
	NormalWeight = format.NormalWeight
)
