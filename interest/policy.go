package interest

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Policy decides what each client sees of each entity. [New] turns a policy into an interest. For a rule of the game's own,
// [NewRows] with a function is enough.
type Policy interface {
	// Prepare is called once a network tick, after the capture of the world. A second call for the same tick does nothing: a
	// policy may be part of several others. all is true if more may have changed than the store's newest capture tells: at first,
	// after captures without a call, and in [Interest.RefreshAll].
	Prepare(s *snapshot.Store, all bool)
	// Changed adds the entities for which Sees may answer otherwise than before, at least those of the last two ticks. Entities that
	// are new or have a new owner are in again already.
	Changed(client wire.ClientID, again *Again)
	// Sees returns the components that a client sees of an entity, which is alive. None hides the entity. A component with distance
	// bands is sent as the finest band in rows. weight is the entity's priority for the client in 1/[snapshot.NormalWeight]; 0 is
	// the normal one. was is what the client sees now. The call changes nothing.
	Sees(client wire.ClientID, id wire.NetworkID, was snapshot.Mask) (rows snapshot.Mask, weight uint16)
	// Leave drops a client that has disconnected.
	Leave(client wire.ClientID)
}

// ticking is a policy that keeps no answers.
type ticking struct {
	store *snapshot.Store
	tick  tick.Tick
}

// begin reports whether a network tick begins.
func (t *ticking) begin(s *snapshot.Store) bool {
	begins := t.store != s || t.tick != s.Tick()
	t.store, t.tick = s, s.Tick()
	return begins
}

// Prepare implements [Policy].
func (t *ticking) Prepare(s *snapshot.Store, _ bool) { t.begin(s) }

// Changed implements [Policy].
func (t *ticking) Changed(wire.ClientID, *Again) {}

// Leave implements [Policy].
func (t *ticking) Leave(wire.ClientID) {}

// past reports whether an entity has lived and is dead.
func (t *ticking) past(id wire.NetworkID) bool { return t.store != nil && t.store.Past(id) }

// parts are the policies that another one is made of.
type parts []Policy

// Prepare implements [Policy].
func (p parts) Prepare(s *snapshot.Store, all bool) {
	for _, part := range p {
		part.Prepare(s, all)
	}
}

// Changed implements [Policy].
func (p parts) Changed(client wire.ClientID, again *Again) {
	for _, part := range p {
		part.Changed(client, again)
	}
}

// Leave implements [Policy].
func (p parts) Leave(client wire.ClientID) {
	for _, part := range p {
		part.Leave(client)
	}
}

func (p parts) partsOf() []Policy { return p }

// all is the policy that shows everything.
type all struct{ ticking }

// All returns the policy that shows everything to everybody, as a server without a policy does. Use it as part of others, such as
// [Rows].
func All() Policy { return &all{} }

// Sees implements [Policy].
func (a *all) Sees(wire.ClientID, wire.NetworkID, snapshot.Mask) (snapshot.Mask, uint16) {
	return snapshot.AllRows(), 0
}

// combined is the union or the intersection of what several policies show.
type combined struct {
	parts
	both bool
}

// Any returns a policy that shows of an entity what at least one of the policies shows. It panics without any policy.
func Any(policies ...Policy) Policy { return combine(policies, false) }

// Both returns a policy that shows of an entity what all of the policies show, two or more. It panics without any policy.
func Both(policies ...Policy) Policy { return combine(policies, true) }

func combine(policies []Policy, both bool) Policy {
	if len(policies) == 0 {
		panic("interest: no policies to combine")
	}
	return &combined{parts: append([]Policy(nil), policies...), both: both}
}

// Changed implements [Policy]. A client is blind in an intersection if it is in one part. In a union it is blind in all parts, or
// follows an entity without a position in one.
func (c *combined) Changed(client wire.ClientID, again *Again) {
	blinds, worst := 0, again.blind
	for _, part := range c.parts {
		again.blind = looks
		part.Changed(client, again)
		if again.blind != looks {
			blinds++
		}
		if c.both || again.blind == astray {
			worst = max(worst, again.blind)
		}
	}
	if again.blind = worst; blinds == len(c.parts) {
		again.blind = max(worst, blind)
	}
}

// Sees implements [Policy].
func (c *combined) Sees(client wire.ClientID, id wire.NetworkID, was snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	for i, part := range c.parts {
		of, w := part.Sees(client, id, was)
		switch weight = max(weight, w); {
		case !c.both || i == 0:
			rows = rows.Union(of)
		default:
			rows = rows.Intersect(of)
		}
	}
	return rows, weight
}

// OwnerConfig selects the entities that [OwnerOnly] shows in addition to a client's own.
type OwnerConfig struct {
	ServersToAll bool // Entities of the server are visible to everybody; otherwise to nobody.
}

// OwnerOnly shows an entity to its owner only. A client that leaves keeps its entities until the game changes their owner: until
// then nobody sees them.
type OwnerOnly struct {
	ticking
	config OwnerConfig
}

// NewOwnerOnly returns a policy that shows each client its own entities.
func NewOwnerOnly(c OwnerConfig) *OwnerOnly { return &OwnerOnly{config: c} }

// Sees implements [Policy].
func (o *OwnerOnly) Sees(client wire.ClientID, id wire.NetworkID, _ snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	if owner := o.store.Owner(id); owner == client || owner == 0 && o.config.ServersToAll {
		rows = snapshot.AllRows()
	}
	return rows, 0
}

// RowsFunc returns the components of an entity that a client may see. None hides the entity. Bits of components that the entity
// lacks are ignored.
type RowsFunc func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) snapshot.Mask

// Rows limits what another policy shows.
type Rows struct {
	parts
	rows  RowsFunc
	store *snapshot.Store
}

// NewRows returns a policy that shows what another one shows, limited to the components that rows returns. rows is called when the
// other policy's answer may have changed: when an entity comes into sight or changes its owner. When its own result has changed,
// call [Interest.Refresh], [Interest.RefreshClient] or [Interest.RefreshAll]. Put it around the whole policy: within Any, NewTeams or
// NewChildren another part, a team mate or the parent's owner may show what it hides.
func NewRows(of Policy, rows RowsFunc) *Rows { return &Rows{parts: parts{of}, rows: rows} }

// OwnerRows returns a RowsFunc that shows the private components to the entity's owner only.
func OwnerRows(private snapshot.Mask) RowsFunc {
	return func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) snapshot.Mask {
		if s.Owner(id) == client {
			return snapshot.AllRows()
		}
		return private.Not()
	}
}

// Prepare implements [Policy].
func (r *Rows) Prepare(s *snapshot.Store, all bool) {
	r.store = s
	r.parts.Prepare(s, all)
}

// Sees implements [Policy].
func (r *Rows) Sees(client wire.ClientID, id wire.NetworkID, was snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	if rows, weight = r.parts[0].Sees(client, id, was); rows.IsZero() {
		return rows, weight
	}
	return rows.Intersect(r.store.Schema().Unfold(r.rows(r.store, client, id))), weight
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
