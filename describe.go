package netcode

import (
	"fmt"

	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
)

// Kinds of entries, as they stand in a canonical description.
const (
	kindLimits    = "limits"
	kindComponent = "component"
	kindMessage   = "message"
	kindSection   = "section"
)

// describe lists the entries of limits, components and messages in canonical order; the lists are sorted by wire name.
func (p *Protocol) describe() []canon.Entry {
	entries := make([]canon.Entry, 0, 1+len(p.components)+len(p.handled))
	limits := fmt.Sprintf("%s netcode{version:%d;acks:33;rows:%d;entities:%d;window:%d..%d;packet:%d..%d;reliable:%d;credit:%d;fragments:%d", kindLimits,
		peer.Version, snapshot.MaxRows, snapshot.MaxEntities, MinWindow, MaxWindow, MinPacketSize, MaxPacketSize,
		peer.ReliableWindow, peer.InitialCredit, peer.MaxFragments)
	limits += ";tables:" + p.describeTables()
	if p.unpacked {
		limits += ";unpacked"
	}
	limits += "}"
	entries = append(entries, canon.Entry{Kind: kindLimits, Name: "netcode", Text: limits})
	for _, plan := range p.components {
		entries = append(entries, describePlan(kindComponent, plan))
	}
	entries = append(entries, p.described.before...)
	for _, m := range p.handled {
		entries = append(entries, describeMessage(m))
	}
	return entries
}

// describePlan is the entry of one type.
func describePlan(kind string, plan *quantize.Plan) canon.Entry {
	text := plan.Describe(append([]byte(kind), ' '))
	return canon.Entry{Kind: kind, Name: plan.Name(), Text: string(text)}
}

// describeMessage is the entry of one message type. Questions and answers say so after the rest.
func describeMessage(m handled) canon.Entry {
	text := m.of.Describe([]byte(kindMessage + " "))
	switch m.role {
	case question:
		text = append(text, "[question]"...)
	case answer:
		text = append(text, "[answer]"...)
	}
	return canon.Entry{Kind: kindMessage, Name: m.of.Name, Text: string(text)}
}
