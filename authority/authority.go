package authority

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Errors of Write.
var (
	// ErrSharedWorld means that a host's player writes a component by assigning to it, in the world that it shares with the server.
	ErrSharedWorld = errors.New("netcode: a host assigns to the component in the server's world")
	// ErrNotAllowed means that the component is not this client's to write.
	ErrNotAllowed = errors.New("netcode: not this client's to write")
)

// Writer is the end that may write a component.
type Writer uint8

// The writers of a component.
const (
	ServerWrites Writer = iota // Nobody else.
	OwnerWrites                // The client that the entity belongs to: components.Owner, netcode.Server.SetOwner.
	NamedWrites                // The client that Grant names for the entity.
)

// WrittenBy is an option of netcode.Replicate that sets the writer of a component. Without it that is the server. The client
// that may write the component assigns to it in its own world. The value is sent to the server and to the other clients, not
// back to its author. While a client has the right, values that the server's own game writes reach the others and not the
// author. To correct an author, take the right first, by Grant(server, entity, 0) or another owner, and give it back later.
// The server takes a value only from the client that may write it at that moment. Such a component names no entities. Call
// WrittenBy with the same writer on both sides.
func WrittenBy(w Writer) netcode.Option {
	if w > NamedWrites {
		panic(fmt.Sprintf("netcode: WrittenBy(%d): no such writer", w))
	}
	return netcode.ForComponent("WrittenBy", func(p *netcode.Protocol, plan *quantize.Plan) { note(p, plan, w) })
}

// writers is the rows of a protocol that clients write.
type writers struct {
	byPlan map[*quantize.Plan]Writer // Looked up only.
	owner  snapshot.Mask
	named  snapshot.Mask
}

// note takes over the writer of a component that is being registered.
func note(p *netcode.Protocol, plan *quantize.Plan, by Writer) {
	if by == ServerWrites {
		return
	}
	if len(plan.Refs()) > 0 || plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: Replicate[%s]: a component that clients write has fields, and none of them names an entity", plan.Type()))
	}
	w, ok := netcode.ExtensionOf[*writers](p)
	if !ok {
		w = &writers{byPlan: map[*quantize.Plan]Writer{}}
		p.Extend(netcode.Extension{
			Name: "authority", State: w, Upstream: true,
			Freeze: w.freeze, Server: ends{w}, Client: ends{w},
		})
		addMessages(p)
	}
	w.byPlan[plan] = by
}

// ends makes the hooks of both ends.
type ends struct{ *writers }

// of returns the rows that the owner, or the named client, of an entity may write.
func (w *writers) of(owns, named bool) (rows snapshot.Mask) {
	if owns {
		rows = rows.Union(w.owner)
	}
	if named {
		rows = rows.Union(w.named)
	}
	return rows
}

// freeze finds the rows, and adds the writers to the canonical description.
func (w *writers) freeze(f *netcode.Freezing) {
	for _, c := range f.Schema.Banded() {
		if plan := f.Schema.Plan(c.Row); w.byPlan[plan] != ServerWrites {
			panic(fmt.Sprintf("netcode: Replicate[%s]: WrittenBy does not go with Bands: a client would write coarse values over fine ones", plan.Type()))
		}
	}
	for row := range f.Schema.Rows() {
		switch w.byPlan[f.Schema.Plan(row)] {
		case OwnerWrites:
			w.owner = w.owner.With(row)
			f.DescribeComponent(row, "[owner]")
		case NamedWrites:
			w.named = w.named.With(row)
			f.DescribeComponent(row, "[named]")
		}
	}
	if n := w.owner.Union(w.named).Count(); n > maxWritten {
		panic(fmt.Sprintf("netcode: WrittenBy: clients write %d component types, at most %d are possible: join some into one", n, maxWritten))
	}
}

// maxWritten is the number of component types that clients may write in a protocol.
const maxWritten = 64

// numbered returns the rows that bits of right.Rows are, of those that both ends have.
func (w *writers) numbered(both snapshot.Mask) snapshot.Mask {
	if both.Count() > maxWritten {
		return both.Intersect(w.owner.Union(w.named))
	}
	return both
}

// wordOf returns rows as a bit for each of numbered.
func wordOf(rows, numbered snapshot.Mask) (word uint64) {
	for bit := uint64(1); !numbered.IsZero(); numbered, bit = numbered.Rest(), bit<<1 {
		if rows.Has(numbered.Lowest()) {
			word |= bit
		}
	}
	return word
}

// maskOf returns the rows of what wordOf returned.
func maskOf(word uint64, numbered snapshot.Mask) (rows snapshot.Mask) {
	for ; word != 0 && !numbered.IsZero(); numbered, word = numbered.Rest(), word>>1 {
		if word&1 != 0 {
			rows = rows.With(numbered.Lowest())
		}
	}
	return rows
}

// right tells a client which rows of an entity it may write from a tick on; none any more when Rows is 0. Bits of Rows are the rows that both
// ends have. Where these are more than 64 they are those that clients write, in the schema's order.
type right struct {
	Entity wire.NetworkID
	Rows   uint64
	Tick   uint32
}

// wish asks the server to name the client for an entity, or gives that up.
type wish struct {
	Entity wire.NetworkID
	GiveUp bool
}

// addMessages registers the messages of authority. No Go type has names like theirs, so none of the game's is taken.
func addMessages(p *netcode.Protocol) {
	channel, over, stage := netcode.OnChannel(wire.MaxChannels-1), netcode.Over(netcode.ReliableOrdered), netcode.AtStage(netcode.StageInitialization)
	netcode.Handle(p, func(ctx *netcode.Context, m *right) {
		if c, ok := netcode.ExtensionOf[*client](ctx.End); ok {
			c.setRight(m)
		}
	}, netcode.Named("netcode.right"), channel, over, stage, netcode.FromServer())
	netcode.Handle(p, func(ctx *netcode.Context, m *wish) {
		if s, ok := netcode.ExtensionOf[*server](ctx.End); ok {
			s.wished(ctx.Sender, m)
		}
	}, netcode.Named("netcode.wish"), channel, over, stage, netcode.FromClient())
}

// WriterOf is the writer of the component with this plan in a protocol. It is for other features.
func WriterOf(p *netcode.Protocol, plan *quantize.Plan) Writer {
	if w, ok := netcode.ExtensionOf[*writers](p); ok {
		return w.byPlan[plan]
	}
	return ServerWrites
}

// ClientsWrite tells if any component was registered with WrittenBy a client. It freezes the protocol.
func ClientsWrite(p *netcode.Protocol) bool {
	p.Schema()
	_, ok := netcode.ExtensionOf[*writers](p)
	return ok
}

// MayWrite tells if the client, or the server, may write component T of an entity by now. Nobody may write a T that was not given
// to netcode.Replicate, and OnError is told once: netcode.ErrNoComponent. It is a right, and no sign that the entity has a T by now.
func MayWrite[T any](end netcode.Endpoint, entity netcode.NetworkID) bool {
	s, c := netcode.ServerOf(end), netcode.ClientOf(end)
	var p *netcode.Protocol
	switch {
	case s != nil:
		p = s.Protocol()
	case c != nil:
		p = c.Protocol()
	default:
		return false
	}
	row := p.RowOf(reflect.TypeFor[T]())
	if row < 0 {
		netcode.Misused(end, "authority.MayWrite", reflect.TypeFor[T](), netcode.ErrNoComponent)
		return false
	}
	if s != nil {
		return s.Has(entity)
	}
	return Rights(c, entity).Has(row)
}

// Stats counts the writes of clients at one end.
type Stats struct {
	Writes     uint64 // Rows taken in that clients wrote. Zero on clients.
	WritesLate uint64 // Writes refused because they are no longer their sender's to make, or not visible to it. Zero on clients.
	Rights     uint64 // Entities that a client may write at present. Zero on servers.
}

// StatsOf is a copy of the counters of a server or a client.
func StatsOf(end netcode.Endpoint) Stats {
	if s, ok := netcode.ExtensionOf[*server](end); ok {
		return s.stats
	}
	if c, ok := netcode.ExtensionOf[*client](end); ok {
		return Stats{Rights: uint64(len(c.rights))}
	}
	return Stats{}
}
