package netecs

import (
	"encoding/binary"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// The parameters of the 64-bit FNV-1a hash (Fowler, Noll, Vo).
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func hash(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// known is an entity with a network id.
type known struct {
	id     wire.NetworkID
	entity ecs.Entity
}

// byID lists the entities of a world that have a network id, in id order. The
// order of Arche's iteration depends on history.
func byID(w *ecs.World, b *binding) []known {
	var list []known
	with := ecs.All(b.replicated)
	for query := w.Query(&with); query.Next(); {
		id := replicatedOf(w, query.Entity(), b.replicated).ID
		if !id.IsZero() {
			list = append(list, known{id, query.Entity()})
		}
	}
	slices.SortFunc(list, func(a, b known) int {
		switch {
		case a.id.Less(b.id):
			return -1
		case b.id.Less(a.id):
			return 1
		}
		return 0
	})
	return list
}

// appendHead appends what a digest says of an entity before its rows.
func appendHead(b []byte, id wire.NetworkID, rows snapshot.Mask) []byte {
	b = binary.LittleEndian.AppendUint32(b, id.Index)
	b = binary.LittleEndian.AppendUint32(b, id.Generation)
	return binary.LittleEndian.AppendUint64(b, uint64(rows))
}

// Digest is a hash of the replicated state of a world: of the network ids in
// their order, the schema's components that each has, and the bytes of the
// fields that travel, entity fields and targets being network ids. Two clients that see the same have the same digest, and
// it is [DigestStore] of what they see. It is FNV-1a with 64 bits: made to find
// faults, not to resist attacks.
//
// A server's world has digests of its own: its values are not quantised.
func Digest(w *ecs.World, schema *snapshot.Schema) uint64 {
	b := bind(w, schema)
	list := byID(w, &b)
	own := newNames(w, &b, list)
	h := fnvOffset
	var buf []byte
	for _, k := range list {
		mask := w.Mask(k.entity)
		rows := b.rows(&mask)
		buf = appendHead(buf[:0], k.id, rows)
		for ; rows != 0; rows &= rows - 1 {
			buf = own.of(k.entity, first(rows)).append(buf)
		}
		h = hash(h, buf)
	}
	return h
}

// DigestStore is the digest that a client's world has when it holds exactly
// what the store holds of the visible entities. A nil visible means all.
func DigestStore(store *snapshot.Store, schema *snapshot.Schema, visible func(wire.NetworkID) bool) uint64 {
	sight := newSight(store, schema, visible)
	h := fnvOffset
	var buf []byte
	for id := range store.All {
		if visible != nil && !visible(id) {
			continue
		}
		rows := store.Mask(id)
		buf = appendHead(buf[:0], id, rows)
		for ; rows != 0; rows &= rows - 1 {
			buf = sight.of(id, first(rows)).append(buf)
		}
		h = hash(h, buf)
	}
	return h
}
