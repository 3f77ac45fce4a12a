package inspect

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode/wire"
)

// Filter selects what Tap writes. The zero value selects all.
type Filter struct {
	client    wire.ClientID
	address   netip.AddrPort // port 0: all ports
	entity    string         // index, or index and generation as 12v3
	component string         // part of a name, in lower case
}

// ErrFilter means that a text selects no client or no entity.
var ErrFilter = errors.New("inspect: no filter")

// NewFilter returns a filter from three texts, of which empty ones select all:
//
//   - client: its number, as in its Welcome, such as "3"; or an address with or without a port, such as "127.0.0.1:9001"
//   - entity: its index, such as "12", or its id, such as "12v3"
//   - component: a part of its name, in any case
//
// Of a datagram that has nothing of that entity or component Tap writes nothing. A client is known by its number from its
// Welcome on, so that the capture must have that. The error is ErrFilter.
func NewFilter(client, entity, component string) (f Filter, err error) {
	if client != "" {
		number, errNumber := strconv.ParseUint(client, 10, 32)
		address, errAddress := netip.ParseAddr(client)
		f.client = wire.ClientID(number)
		if errNumber != nil && errAddress == nil {
			f.address = netip.AddrPortFrom(address, 0)
		} else if errNumber != nil {
			f.address, errAddress = netip.ParseAddrPort(client)
		}
		if errNumber != nil && errAddress != nil || errNumber == nil && number == 0 {
			return f, fmt.Errorf("%w: %q is neither the number of a client, from 1, nor an address such as 127.0.0.1:9001", ErrFilter, client)
		}
	}
	index, generation, whole := strings.Cut(entity, "v")
	for _, part := range []string{index, generation} {
		if _, err := strconv.ParseUint(part, 10, 32); err != nil && entity != "" && (part != "" || whole) {
			return f, fmt.Errorf("%w: %q is no entity: an index such as 12, or an id such as 12v3", ErrFilter, entity)
		}
	}
	f.entity, f.component = entity, strings.ToLower(component)
	return f, nil
}

// Flags adds the flags client, entity and component to a program's command, and returns the function that makes the
// filter of them, for after the parsing.
func Flags(flags *flag.FlagSet) func() (Filter, error) {
	client := flags.String("client", "", "write the datagrams of this client alone: its `number or address`")
	entity := flags.String("entity", "", "write this entity alone: its `index or id`, such as 12 or 12v3")
	component := flags.String("component", "", "write components alone whose name has this `part`")
	return func() (Filter, error) { return NewFilter(*client, *entity, *component) }
}

// takesFlow reports whether a datagram between two addresses is of the client. clients has those that are known by number.
func (f *Filter) takesFlow(between flow, clients map[netip.AddrPort]wire.ClientID) bool {
	for _, end := range [...]netip.AddrPort{between.from, between.to} {
		switch {
		case f.client != 0:
			if clients[end] == f.client {
				return true
			}
		case !f.address.IsValid() || end == f.address || f.address.Port() == 0 && end.Addr() == f.address.Addr():
			return true
		}
	}
	return false
}

// Beginnings of lines of a dump.
const (
	entityLine   = "   entity "
	despawnLine  = "   despawn "
	tickLine     = "   tick "
	rowLine      = "    "
	messageLine  = "  message "
	messageAbout = ", about "
)

// cut removes lines of a datagram's text from at on that are not of the entity and the component; all if none is left.
func (f *Filter) cut(text []byte, at int) []byte {
	if f.entity == "" && f.component == "" {
		return text
	}
	lines := bytes.SplitAfter(bytes.Clone(text[at:]), []byte("\n"))
	kept, head, found := text[:at], []byte(nil), false
	about, inEntity := false, false
	for n, line := range lines {
		switch s := string(line); {
		case n == 0 || strings.HasPrefix(s, tickLine):
			kept = append(kept, line...)
		case strings.HasPrefix(s, despawnLine):
			head, about = nil, false
			if inEntity = f.component == "" && f.isEntity(s[len(despawnLine):]); inEntity {
				kept, found = append(kept, line...), true
			}
		case strings.HasPrefix(s, entityLine):
			about, inEntity = false, f.isEntity(strings.TrimPrefix(s[len(entityLine):], "at "))
			if head = nil; inEntity && f.component != "" {
				head = line
			} else if inEntity {
				kept, found = append(kept, line...), true
			}
		case strings.HasPrefix(s, messageLine):
			_, id, named := strings.Cut(s, messageAbout)
			head, inEntity = nil, false
			if about = f.component == "" && named && f.isEntity(id); about {
				kept, found = append(kept, line...), true
			}
		case about && strings.HasPrefix(s, "   "), inEntity && f.isRow(s):
			kept, head, found = append(append(kept, head...), line...), nil, true
		}
	}
	if !found {
		return text[:at]
	}
	return kept
}

// isEntity reports whether a line's rest begins with the entity. A record against an earlier one tells the index alone.
func (f *Filter) isEntity(rest string) bool {
	id := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789v"))]
	index, _, whole := strings.Cut(id, "v")
	want, _, exact := strings.Cut(f.entity, "v")
	return f.entity == "" || index == want && (!exact || !whole || id == f.entity)
}

// isRow reports whether a line is one of a component that is selected.
func (f *Filter) isRow(line string) bool {
	rest, ok := strings.CutPrefix(line, rowLine)
	name, _, _ := strings.Cut(rest, " ")
	return ok && strings.Contains(strings.ToLower(name), f.component)
}
