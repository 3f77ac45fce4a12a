package netcode

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Writer says who may write a component.
type Writer uint8

// The writers of a component.
const (
	ServerWrites Writer = iota // Nobody else.
	OwnerWrites                // The client that the entity belongs to: components.Owner, Server.SetOwner.
	NamedWrites                // The client that Server.Grant names for the entity.
)

// WrittenBy says who writes a component; without it that is the server. The client that does writes it in its own world
// with plain assignments, and it goes to the server and on to the other clients as the server's own does, but not back to
// its author, whose world is not touched meanwhile: what the server's own game writes while a client has the right reaches the
// others and not the author. To correct an author, take the right first, Server.Grant(entity, 0) or another owner, and give it
// back later. The server takes it only from whom it may come at that moment. Such a
// component names no entities. Call it with the same writer on both sides.
func WrittenBy(w Writer) Option {
	if w > NamedWrites {
		panic(fmt.Sprintf("netcode: WrittenBy(%d): no such writer", w))
	}
	return func(r *registration) { r.writer = w }
}

// writers is which rows are written by whom.
type writers struct {
	byPlan map[*quantize.Plan]Writer // Looked up only.
	owner  snapshot.Mask
	named  snapshot.Mask
}

// note takes over the writer of a component that is being registered.
func (w *writers) note(t reflect.Type, plan *quantize.Plan, by Writer) {
	if by == ServerWrites {
		return
	}
	if len(plan.Refs()) > 0 || plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: Replicate[%s]: a component that clients write has fields, and none of them names an entity", t))
	}
	if w.byPlan == nil {
		w.byPlan = map[*quantize.Plan]Writer{}
	}
	w.byPlan[plan] = by
}

// any tells if clients write anything.
func (w *writers) any() bool { return len(w.byPlan) > 0 }

// all are the rows that clients may write.
func (w *writers) all() snapshot.Mask { return w.owner | w.named }

// of are the rows that somebody may write of an entity.
func (w *writers) of(owns, named bool) (rows snapshot.Mask) {
	if owns {
		rows |= w.owner
	}
	if named {
		rows |= w.named
	}
	return rows
}

// freeze finds the rows; text is what the canonical description of a component says about its writer.
func (w *writers) freeze(row int, plan *quantize.Plan) (text string) {
	switch w.byPlan[plan] {
	case OwnerWrites:
		w.owner = w.owner.With(row)
		return "[owner]"
	case NamedWrites:
		w.named = w.named.With(row)
		return "[named]"
	}
	return ""
}

// right tells a client which rows of an entity it may write from a tick on; none any more when Rows is 0.
type right struct {
	Entity wire.NetworkID
	Rows   uint64
	Tick   uint32
}

// wish asks the server to be named for an entity, or gives that up.
type wish struct {
	Entity wire.NetworkID
	GiveUp bool
}

// The internal messages of authority. No Go type has such a name, so none of the game's is taken.
const (
	rightName        = "netcode.right"
	wishName         = "netcode.wish"
	authorityChannel = wire.MaxChannels - 1
)

// addMessages registers what the two ends say to each other about authority.
func (w *writers) addMessages(p *Protocol) {
	add(p, "Handle", registration{
		name: rightName, delivery: wire.ReliableOrdered, number: authorityChannel, stage: tick.Initialization, staged: true,
		direction: message.FromServer,
	}, alone, func(ctx *Context, m *right) {
		if c := courierOf(ctx.End); c != nil && c.client != nil {
			if !c.client.writes.set(m, c.client.holds(m.Entity)) {
				c.client.refuseEntities("entities that this client writes")
			}
		}
	})
	add(p, "Handle", registration{
		name: wishName, delivery: wire.ReliableOrdered, number: authorityChannel, stage: tick.Initialization, staged: true,
		direction: message.FromClient,
	}, alone, func(ctx *Context, m *wish) {
		if c := courierOf(ctx.End); c != nil && c.server != nil {
			c.server.wished(ctx.Sender, m)
		}
	})
}

// Grant names the client that writes the components of an entity that were registered with NamedWrites, 0 being nobody but
// the server. It takes effect in the present tick, which it returns: whatever arrives from the one before from now on is
// refused, and that client is told, as is the new one. It says false if there is no such entity.
func (s *Server) Grant(entity NetworkID, client ClientID) (from Tick, ok bool) {
	return s.Tick(), s.store.SetNamed(entity, client)
}

// Granted is the client that Grant named for an entity; 0 if there is none.
func (s *Server) Granted(entity NetworkID) ClientID { return s.store.Named(entity) }

// OnAuthority sets the function that is asked when a client wants to be named for an entity that it may see; without one
// all, and with nil, are refused. Where it says yes, the client is named as by Grant. It may ask Granted who is.
func (s *Server) OnAuthority(f func(client ClientID, entity NetworkID) bool) { s.askAuthority = f }

// wished answers a client's wish.
func (s *Server) wished(client ClientID, m *wish) {
	c := s.client(client)
	switch {
	case m.GiveUp && c != nil && s.store.Named(m.Entity) == client: // also of what has left its sight: it holds it all the same
		s.Grant(m.Entity, 0)
	case c == nil || !s.sees(c, m.Entity):
		s.stats.NotVisible++
	case m.GiveUp:
	case s.askAuthority != nil && s.askAuthority(client, m.Entity):
		s.Grant(m.Entity, client)
	}
}

// MayWrite tells if T of an entity is what the client, or the server, may write by now. A T that was not given to Replicate nobody may
// write, and OnError is told once: ErrNoComponent.
func MayWrite[T any](end Endpoint, entity NetworkID) bool {
	c := courierOf(end)
	if c == nil {
		return false
	}
	row := rowOfType(c.protocol.Schema(), reflect.TypeFor[T]())
	if row < 0 {
		c.report.misused("MayWrite", reflect.TypeFor[T](), ErrNoComponent)
		return false
	}
	if c.server != nil {
		return c.server.store.Alive(entity)
	}
	return c.client.Rights(entity).Has(row)
}

// strike counts what no honest client sends; after Config.Strikes of them the connection ends.
func (s *Server) strike(c *Session) {
	s.stats.NotAllowed++
	if c.strikes++; c.strikes >= s.config.Strikes {
		s.end(c, &peer.Error{Reason: peer.ReasonNotAllowed, Detail: fmt.Sprintf("%d writes without authority", c.strikes)}, endTold)
	}
}

// ClientsWrite tells if any component was registered with WrittenBy a client. Asking freezes the protocol.
func (p *Protocol) ClientsWrite() bool {
	p.freeze()
	return p.writers.any()
}
