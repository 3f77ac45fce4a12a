package interest

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// RowsFunc tells which components of an entity a client may see, given that it may see the entity. Components that the
// entity lacks do not matter. It is not asked again each tick: see NewRows for when, and call Rows.Refresh when its answer
// for an entity has changed.
type RowsFunc func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) snapshot.Mask

// Rows is visibility for each component, on top of a policy that tells which entities are visible.
type Rows struct {
	lifetimes
	of     Policy
	rows   RowsFunc
	store  *snapshot.Store
	owners owners
	asked  Set               // entities whose rows game code wants to have asked again
	again  Set               // entities whose rows all clients are asked for in this tick
	round  uint64            // counts the calls of RefreshAll
	rounds perClient[uint64] // the round in which a client was asked about everything
}

// NewRows returns a policy that shows the entities that another one shows, and of each the components that rows allows.
// rows is asked when an entity comes into a client's sight, when its owner has changed, and after [Rows.Refresh],
// [Rows.RefreshAll] and [Rows.RefreshClient].
func NewRows(of Policy, rows RowsFunc) *Rows { return &Rows{of: of, rows: rows} }

// OwnerRows keeps some components for the client that an entity belongs to: everybody else sees all but those.
func OwnerRows(private snapshot.Mask) RowsFunc {
	return func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) snapshot.Mask {
		if s.Owner(id) == client {
			return snapshot.AllRows()
		}
		return private.Not()
	}
}

// Refresh asks again for the rows of an entity, for every client that sees it. Call it when the function's answer has changed.
func (r *Rows) Refresh(id wire.NetworkID) {
	if r.is(id) {
		r.asked.add(id.Index)
	}
}

// RefreshAll makes rows be asked again about every entity, for every client that sees it.
func (r *Rows) RefreshAll() {
	refreshAll(r.of)
	r.round++
}

// RefreshClient makes rows be asked again about every entity that a client sees.
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

// RowOf is the place of a component among the rows of a schema. It panics if the protocol does not replicate T.
func RowOf[T any](schema *snapshot.Schema) int {
	for row := range schema.Rows() {
		if schema.Plan(row).Type() == reflect.TypeFor[T]() {
			return row
		}
	}
	panic(fmt.Sprintf("interest: %v is not replicated", reflect.TypeFor[T]()))
}

// MaskOf is the mask with T alone, for [OwnerRows] and the like. It panics if the protocol does not replicate T.
func MaskOf[T any](schema *snapshot.Schema) snapshot.Mask {
	return snapshot.Mask{}.With(RowOf[T](schema))
}

// Blind reports whether the policy of entities shows a client nothing for want of a viewpoint.
func (r *Rows) Blind(client wire.ClientID) bool { return isBlind(r.of, client) }
