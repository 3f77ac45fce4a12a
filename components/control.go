package components

import "github.com/arche-netcode/netcode/wire"

// The components in this file control how an entity replicates. Game code on the server writes them, and the capture notices
// changes, whether or not they are registered with netcode.Replicate. Register one if clients need to see it. An entity without
// one behaves as with its zero value, except that the default priority is 1.

// Owner is the client to which an entity belongs. Interest policies, collections and game code that applies inputs read it. The
// owner may write components registered with authority.WrittenBy(authority.OwnerWrites). A new owner takes effect with the
// capture that notices it.
type Owner struct {
	Client wire.ClientID `net:"short"` // 0: the server
}

// Group makes entities arrive together. One packet contains all unacknowledged changes of the entities with one group ID, so that
// a client never sees half of a change. This includes members that despawn, become invisible, or leave the group. Example: an
// item moves from one member to another. Code that skips entities that are Replicated.Gone never sees it with both members or
// with neither.
// If the visible members are too large for a packet, they are sent entity by entity. A group that is too large as a whole is
// reported. If despawns and leaving members make it too large, these are sent separately.
//
// A group combines changes that were captured in one tick. With a Rate or netcode.Every, members are captured in the same ticks.
// Values written together are seen together if they are captured equally often: with the same Rate of the members and the same
// Every of the components. Otherwise the less frequent value is seen later, except in common ticks: periods of 2 and 4 ticks meet
// in every fourth. Added components and new members do not wait, and are newer than the rest until its next capture. An entity
// that changes groups more often than its period may not be captured meanwhile, because each group has its own ticks.
type Group struct {
	ID uint32 // 0: no group. The numbers have no order
}

// Priority is the weight of an entity if the bandwidth does not suffice for all. Twice the weight means sent twice as often, up
// to once a tick. It is multiplied with the relevance to each client (package interest) and with the netcode.Importance of the
// changed components.
type Priority struct {
	Weight float32 // 1 is normal; 0 to 255 in steps of 1/256; 0 counts as 1/256. Other values are clamped and reported
}

// Rate is the period at which an entity's components are captured. Changes in between are sent with the next capture, including
// the last value before rest. The phase depends on the entity, or on its group: see Group. Added and removed components, spawn
// and despawn, and the components Owner, Group, Priority and Rate do not wait.
type Rate struct {
	Every uint16 // period in ticks; 0 and 1: every tick
}

// Kind is the game's number for a kind of entity. Clients use it to add local components, such as a sprite (OnSpawnKind).
// Register it with netcode.Replicate.
type Kind struct {
	ID uint16 // the game's number of the kind
}
