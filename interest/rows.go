package interest

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// RowsFunc returns the components of an entity that a client may see, given that it may see the entity. Bits of components that
// the entity lacks are ignored. The result is cached, see [NewRows]. Call [Rows.Refresh] when the result for an entity has
// changed.
type RowsFunc func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) snapshot.Mask

// Rows limits the visible components of the entities that another policy shows.
type Rows struct {
	lifetimes
	of     Policy
	rows   RowsFunc
	store  *snapshot.Store
	owners owners
	asked  Set               // entities passed to Refresh since the last Prepare
	again  Set               // entities for which rows is called for all clients in this tick
	round  uint64            // counts the calls of RefreshAll
	rounds perClient[uint64] // round in which rows was last called for everything that the client sees
}

// NewRows returns a policy that shows the entities of another one, limited to the components that rows returns. rows is called
// when an entity comes into a client's sight, when its owner changes, and after [Rows.Refresh], [Rows.RefreshAll] and
// [Rows.RefreshClient].
func NewRows(of Policy, rows RowsFunc) *Rows { return &Rows{of: of, rows: rows} }

// OwnerRows returns a RowsFunc that shows the private components to the entity's owner only.
func OwnerRows(private snapshot.Mask) RowsFunc {
	return func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) snapshot.Mask {
		if s.Owner(id) == client {
			return snapshot.AllRows()
		}
		return private.Not()
	}
}

// Refresh makes rows be called again for an entity, for every client that sees it. Call it when the result has changed.
func (r *Rows) Refresh(id wire.NetworkID) {
	if r.is(id) {
		r.asked.add(id.Index)
	}
}

// RefreshAll makes rows be called again for every entity and client.
func (r *Rows) RefreshAll() {
	refreshAll(r.of)
	r.round++
}

// RefreshClient makes rows be called again for every entity that a client sees.
func (r *Rows) RefreshClient(client wire.ClientID) {
	refreshClient(r.of, client)
	*r.rounds.open(client) = r.round - 1
}

// Prepare implements [Policy].
func (r *Rows) Prepare(s *snapshot.Store) {
	r.of.Prepare(s)
	if !r.follow(s) {
		return
	}
	r.store = s
	r.owners.follow(s, &r.lifetimes)
	r.again.reset(len(r.alive))
	r.again.addAll(r.owners.changed)
	r.again.addAll(r.asked)
	clear(r.asked)
}

// Sees implements [Policy].
func (r *Rows) Sees(client wire.ClientID) Set { return r.of.Sees(client) }

// Leave implements [Policy].
func (r *Rows) Leave(client wire.ClientID) {
	r.rounds.drop(client)
	r.of.Leave(client)
}

// Refine implements [Policy].
func (r *Rows) Refine(client wire.ClientID, v View, sees, shown Set) {
	r.of.Refine(client, v, sees, shown)
	whole := uint64(0)
	if round := r.rounds.open(client); *round != r.round {
		*round = r.round
		whole = ^whole
	}
	for w, word := range sees {
		for word &= shown.word(w) | r.again.word(w) | whole; word != 0; word &= word - 1 {
			id := r.id(indexOf(w, word))
			v.SetRows(id, r.rows(r.store, client, id))
		}
	}
}

// RowOf returns the row number of component T in a schema. It panics if the protocol does not replicate T.
func RowOf[T any](schema *snapshot.Schema) int {
	for row := range schema.Rows() {
		if schema.Plan(row).Type() == reflect.TypeFor[T]() {
			return row
		}
	}
	panic(fmt.Sprintf("interest: %v is not replicated", reflect.TypeFor[T]()))
}

// MaskOf returns the mask with T only, for example for [OwnerRows]. It panics if the protocol does not replicate T.
func MaskOf[T any](schema *snapshot.Schema) snapshot.Mask {
	return snapshot.Mask{}.With(RowOf[T](schema))
}

// Blind reports whether the inner policy shows a client nothing because it has no viewpoint.
func (r *Rows) Blind(client wire.ClientID) bool { return isBlind(r.of, client) }
