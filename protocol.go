package netcode

import (
	"fmt"
	"reflect"
	"sort"
	"sync"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// Protocol is what both ends must agree on before they talk: which components travel and how, and which messages
// there are. Build it once with NewProtocol, Replicate and Handle, on server and client alike; the order of those
// calls does not matter. The first NewServer or NewClient freezes it, and from then on any number of servers and
// clients, on any goroutines, may share it.
type Protocol struct {
	components []*wire.Plan
	messages   message.Registry
	handled    []*message.Type

	freezing sync.Once
	frozen   bool

	schema  *snapshot.Schema
	entries []entry
	digest  peer.Digest
	hash    uint64
}

// NewProtocol makes an empty protocol: no components, no messages.
func NewProtocol() *Protocol { return &Protocol{} }

// Hash is the number that both ends must share to talk: FNV-1a 64 over the canonical descriptions of everything in
// the protocol (PROTOCOL.md gives the text). It does not depend on the order of registration. Asking freezes the
// protocol.
func (p *Protocol) Hash() uint64 {
	p.freeze()
	return p.hash
}

// Schema lists the components in the protocol's canonical order, by wire name: a component's place is its row
// number. Asking freezes the protocol.
func (p *Protocol) Schema() *snapshot.Schema {
	p.freeze()
	return p.schema
}

// freeze ends registration: it puts the components in order, gives the messages their numbers and computes the hash.
func (p *Protocol) freeze() {
	p.freezing.Do(func() {
		p.frozen = true
		sort.Slice(p.components, func(a, b int) bool { return p.components[a].Name() < p.components[b].Name() })
		sort.Slice(p.handled, func(a, b int) bool { return p.handled[a].Name < p.handled[b].Name })
		p.messages.Freeze()
		p.schema = snapshot.NewSchema(p.components)
		p.entries = describe(p.components, p.handled)
		p.digest, p.hash = digest(p.entries)
	})
}

// mustBeOpen panics when it is too late to register.
func (p *Protocol) mustBeOpen(call string, t reflect.Type) {
	if p.frozen {
		panic(fmt.Sprintf("netcode: %s[%s]: the protocol is frozen: register everything before the first NewServer or NewClient", call, t))
	}
}
