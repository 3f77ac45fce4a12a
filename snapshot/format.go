package snapshot

import "github.com/arche-netcode/netcode/snapshot/format"

// Names of package format for users of a Store.
type (
	// Mask is a set of rows. See [format.Mask].
	Mask = format.Mask
	// Schema is the components of a protocol. See [format.Schema].
	Schema = format.Schema
	// RowOptions are the options of a component. See [format.RowOptions].
	RowOptions = format.RowOptions
	// Config is the limits of a Store, its Views and their Replicas. See [format.Config].
	Config = format.Config
)

const (
	// MaxRows is the number of replicated component types that a protocol may have.
	MaxRows = format.MaxRows
	// MoreRows ends an error message about more than MaxRows.
	MoreRows = format.MoreRows
	// MaxEntities bounds network indexes.
	MaxEntities = format.MaxEntities
	// NormalWeight is the weight of priority 1, and of relevance 1.
	NormalWeight = format.NormalWeight
)

// AllRows returns the mask with every row that a protocol may have. See [format.AllRows].
func AllRows() Mask { return format.AllRows() }
