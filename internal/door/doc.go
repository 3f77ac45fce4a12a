// Package door opens a server, a client or a protocol for packages of this module: what games do not see of it.
//
// The types of package netcode embed a [Door] under a name that is not exported. [Of] finds the value behind it; package extend
// and package steps ask that for their interfaces.
package door

// Door keeps the value behind a type.
type Door struct{ behind any }

// New makes the door to a value.
func New(behind any) Door { return Door{behind} }

// opened returns the value behind the door.
func (d *Door) opened() any { return d.behind }

// Of returns the value behind a type with a Door, or a type that embeds one; nil for other values and nil pointers.
func Of(with any) any {
	d, ok := with.(interface{ opened() any })
	if !ok {
		return nil
	}
	defer func() { _ = recover() }() // A nil pointer, to d or within it, has no Door.
	return d.opened()
}
