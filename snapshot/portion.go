package snapshot

import "github.com/arche-netcode/netcode/tick"

// portion is whether what a client sees of a group is too large for a packet: what
// it does not see takes no room, and what others see is nothing to it.
type portion struct {
	tick  tick.Tick // as of which that was found out,
	looks uint64    // and after how many changes of what the client sees
	large bool
}

// groupOf is the group of an index that is sent to this client in one piece, nil when
// it has none.
func (v *View) groupOf(index uint32) *members {
	group := v.store.groups.at(index)
	if group == 0 {
		return nil
	}
	if m := v.store.groups.members[group]; !v.splits(m) {
		return m
	}
	return nil
}

// splits reports whether a group is sent to this client one by one, since what it
// sees of it does not fit a packet in the worst case. It is found out once a tick, and
// only of groups that are too large for who sees all, or by a client with smaller packets.
func (v *View) splits(m *members) bool {
	s := v.store
	if !m.split && v.payload >= s.cfg.Payload {
		return false
	}
	v.portions = grown(v.portions, m.number+1, s.groups.made)
	p := &v.portions[m.number]
	if looks := v.sights + v.own.looks; p.tick != s.tick || p.looks != looks {
		*p = portion{tick: s.tick, looks: looks, large: v.large(m)}
	}
	return p.large
}

// large measures what the client sees of a group, up to more than a packet.
func (v *View) large(m *members) bool {
	s, size := v.store, emptyBits
	for _, index := range m.indexes {
		if !v.visible.has(index) {
			continue
		}
		if size += s.schema.recordBits(v.maskOf(index), s.gens[index]); size > 8*v.payload {
			return true
		}
	}
	return false
}

// SetPayload bounds what Write makes for this client, in bytes: less than Config.Payload for one whose packets are smaller. More than
// that counts as that. Groups that do not fit are sent to this client one by one.
func (v *View) SetPayload(n int) {
	if v.store.cfg.Payload <= 0 {
		return
	}
	v.payload = min(max(n, 1), v.store.cfg.Payload)
	clear(v.portions)
}
