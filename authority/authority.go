package authority

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Errors of Write.
var (
	// ErrSharedWorld means that a host's player must assign to the component in the world that it shares with the server.
	ErrSharedWorld = errors.New("netcode: a host assigns to the component in the server's world")
	// ErrNotAllowed means that this client may not write the component.
	ErrNotAllowed = errors.New("netcode: not this client's to write")
)

// Writer selects the end that may write a component.
type Writer uint8

// Values of Writer.
const (
	ServerWrites Writer = iota // Only the server.
	OwnerWrites                // The owner of the entity: components.Owner, netcode.Server.SetOwner.
	NamedWrites                // The client that Grant names for the entity.
)

// WrittenBy is an option of netcode.Replicate that sets the writer of a component. The default is the server. Pass the same
// writer on both sides. Such a component must not contain entities.
//
// The writing client assigns to the component in its own world. The value is sent to the server and from there to the other
// clients, but not back to the writer. The server accepts a value only from the client that may write it at that moment.
//
// A value that the server's game writes wins: the writer gets it too, its writes from before are refused, and OnError is told once
// an entity and component (ServerWroteError). To correct the writer call Correct, which takes effect at once and reports nothing.
func WrittenBy(w Writer) netcode.Option {
	if w > NamedWrites {
		panic(fmt.Sprintf("netcode: WrittenBy(%d): no such writer", w))
	}
	return netcode.Option(extend.ForComponent("WrittenBy", func(p extend.Registered, plan *quantize.Plan) {
		if of, ok := p.(*netcode.Protocol); ok {
			note(of, plan, w)
		}
	}))
}

// writers is the set of rows of a protocol that clients write.
type writers struct {
	byPlan map[*quantize.Plan]Writer // For lookup only.
	owner  snapshot.Mask
	named  snapshot.Mask
	place  []int // By row that clients write: its place among them.
}

// note registers the writer of a component.
func note(p *netcode.Protocol, plan *quantize.Plan, by Writer) {
	if by == ServerWrites {
		return
	}
	if len(plan.Refs()) > 0 || plan.Lanes() == 0 {
		panic(fmt.Sprintf("netcode: Replicate[%s]: a component that clients write has fields, and none of them names an entity", plan.Type()))
	}
	w, ok := extend.ExtensionOf[*writers](p)
	if !ok {
		w = &writers{byPlan: map[*quantize.Plan]Writer{}}
		extend.OfProtocol(p).Extend(extend.Extension{
			Name: "authority", State: w, Upstream: true,
			Freeze: w.freeze, Server: ends{w}, Client: ends{w},
		})
		addMessages(p)
	}
	w.byPlan[plan] = by
}

// ends makes the hooks of both ends.
type ends struct{ *writers }

// of returns the rows that a client may write, by whether it owns the entity and whether it is named for it.
func (w *writers) of(owns, named bool) (rows snapshot.Mask) {
	if owns {
		rows = rows.Union(w.owner)
	}
	if named {
		rows = rows.Union(w.named)
	}
	return rows
}

// freeze collects the rows and adds the writers to the canonical description of the protocol.
func (w *writers) freeze(f *extend.Freezing) {
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
	w.place = make([]int, f.Schema.Rows())
	for m, n := w.owner.Union(w.named), 0; !m.IsZero(); m, n = m.Rest(), n+1 {
		w.place[m.Lowest()] = n
	}
	if n := w.owner.Union(w.named).Count(); n > maxWritten {
		panic(fmt.Sprintf("netcode: WrittenBy: clients write %d component types, at most %d are possible: join some into one", n, maxWritten))
	}
}

// maxWritten is the maximum number of component types of a protocol that clients write.
const maxWritten = 64

// numbered returns the rows that the bits of right.Rows stand for. both is the rows that both ends have.
func (w *writers) numbered(both snapshot.Mask) snapshot.Mask {
	if both.Count() > maxWritten {
		return both.Intersect(w.owner.Union(w.named))
	}
	return both
}

// wordOf encodes rows as bits, one for each row in numbered.
func wordOf(rows, numbered snapshot.Mask) (word uint64) {
	for bit := uint64(1); !numbered.IsZero(); numbered, bit = numbered.Rest(), bit<<1 {
		if rows.Has(numbered.Lowest()) {
			word |= bit
		}
	}
	return word
}

// maskOf decodes the result of wordOf.
func maskOf(word uint64, numbered snapshot.Mask) (rows snapshot.Mask) {
	for ; word != 0 && !numbered.IsZero(); numbered, word = numbered.Rest(), word>>1 {
		if word&1 != 0 {
			rows = rows.With(numbered.Lowest())
		}
	}
	return rows
}

// right tells a client the rows of an entity that it may write; Rows 0 means none. The bits of Rows and Renewed stand for the rows that
// both ends have, or for those of them that clients write if there are more than 64.
//
// Number is the number of the right, 0 without rows: it is higher than that of every right that the session was told before. The
// client's records of the entity name it in place of the generation. Renewed is the rows of Rows that begin with the server's state of
// Tick or later: they are new, were taken and given back, or were corrected. The server refuses them under an older number.
type right struct {
	Entity  wire.NetworkID
	Rows    uint64
	Renewed uint64
	Number  uint32
	Tick    uint32
}

// wish asks the server to name the client for an entity, or to name nobody. Number is the newest number of a right that the client was
// told, of any entity; 0 is none.
type wish struct {
	Entity wire.NetworkID
	Number uint32
	GiveUp bool
}

// addMessages registers the messages of authority. Their names cannot collide with names of Go types.
func addMessages(p *netcode.Protocol) {
	channel, over, stage := netcode.OnChannel(wire.MaxChannels-1), netcode.Over(netcode.ReliableOrdered), netcode.AtStage(tick.Initialization)
	netcode.Handle(p, func(ctx *netcode.Context, m *right) {
		if c, ok := extend.ExtensionOf[*client](ctx.End); ok {
			c.setRight(m)
		}
	}, netcode.Named("netcode.right"), channel, over, stage, netcode.FromServer())
	netcode.Handle(p, func(ctx *netcode.Context, m *wish) {
		if s, ok := extend.ExtensionOf[*server](ctx.End); ok {
			s.wished(ctx.Sender, m)
		}
	}, netcode.Named("netcode.wish"), channel, over, stage, netcode.FromClient())
}

// WriterOf returns the writer of a component in a protocol, for other features.
func WriterOf(p *netcode.Protocol, plan *quantize.Plan) Writer {
	if w, ok := extend.ExtensionOf[*writers](p); ok {
		return w.byPlan[plan]
	}
	return ServerWrites
}

// ClientsWrite reports whether clients write any component of a protocol. It freezes the protocol.
func ClientsWrite(p *netcode.Protocol) bool {
	p.Schema()
	_, ok := extend.ExtensionOf[*writers](p)
	return ok
}

// MayWrite reports whether this client or server may write component T of an entity now. It does not tell whether the entity has
// a T. If T is not replicated it returns false and reports errs.ErrNoComponent to OnError once.
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
	row := p.Schema().RowOf(reflect.TypeFor[T]())
	if row < 0 {
		extend.Misused(end, "authority.MayWrite", reflect.TypeFor[T](), errs.ErrNoComponent)
		return false
	}
	if s != nil {
		return s.Has(entity)
	}
	return Rights(c, entity).Has(row)
}

// ServerWroteError is reported to OnError of a server whose game wrote a component that a client may write, once for each entity,
// component and client. The client gets the value, and what it had on its way is refused, as after Correct.
type ServerWroteError struct {
	Entity    netcode.NetworkID // The entity of the component.
	Component string            // Its wire name.
	Client    netcode.ClientID  // The client that has the right.
}

// Error implements error.
func (e *ServerWroteError) Error() string {
	return fmt.Sprintf("netcode: the server wrote %s of entity %s, which client %d has the right to write: the server's value wins; "+
		"call authority.Correct when that is meant, else leave the component to the client", e.Component, e.Entity, e.Client)
}

// Stats has the counters of one end.
type Stats struct {
	Writes      uint64 // Rows accepted from clients. Zero on clients.
	WritesLate  uint64 // Writes rejected because the sender may no longer write them, was corrected, or does not see the entity. Zero on clients.
	Corrections uint64 // Rights told anew because the server wrote or called Correct. Zero on clients.
	AsksDropped uint64 // Requests of Ask beyond the limit of a client and tick. Zero on clients.
	Rights      uint64 // Entities that a client may write now. Zero on servers.
}

// StatsOf returns the counters of a server or a client.
func StatsOf(end netcode.Endpoint) Stats {
	if s, ok := extend.ExtensionOf[*server](end); ok {
		return s.stats
	}
	if c, ok := extend.ExtensionOf[*client](end); ok {
		return Stats{Rights: uint64(c.countRights())}
	}
	return Stats{}
}
