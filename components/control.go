package components

import "github.com/arche-netcode/netcode/wire"

// The components here say how an entity replicates. Game code on the server writes them like any others and the
// capture notices, whether or not they are registered with netcode.Replicate: registering one is for clients that shall
// see it too. Without one, or when it is taken away, an entity is as its zero value says, but that the priority is 1.

// Owner tells which client an entity belongs to. Interest policies, collections and game code that applies inputs read it, and the
// owner may write the components that were registered with authority.WrittenBy(authority.OwnerWrites). A new owner counts from
// the capture in which it is noticed.
type Owner struct {
	Client wire.ClientID // 0: the server
}

// Group makes entities arrive together: all changes that a client lacks of the entities with one number are sent in one packet, so
// that no client ever sees a part of a change. That includes members that despawn, leave the client's sight, or leave the
// group: code that skips entities that are Replicated.Gone never sees an item that passes from one member to another with
// both of them, or with neither. If the members that a client sees are too large for a packet, they are sent to it entity by entity, and
// a group that is too large as a whole is reported. If despawns and departures make it too large, they are sent separately.
//
// Changes that are captured in one tick are seen together. With a Rate, or netcode.Every, members have their turns in the
// same ticks. Values that are written at once are seen at once if they are captured equally often: by the same Rate
// of the members and the same Every of the components. Otherwise the less frequent one is seen later, except where
// the turns meet: those of 2 and of 4 ticks in every fourth. Components that are added, and members that are born, do not wait,
// and so show a later moment than the rest until its next turn. An entity that changes groups more often than every that many ticks may
// have no turn for as long as that goes on, since each group has its own.
type Group struct {
	ID uint32 // 0: none. Groups have no order, any number is as good as another
}

// Priority tells how much an entity counts where the bandwidth does not suffice for all. One of twice the weight is
// sent twice as often, up to once a tick. It is multiplied with the relevance to each client, which is a matter of interest,
// and with the netcode.Importance of the components that have changed.
type Priority struct {
	Weight float32 // 1 is normal; 0 to 255 in steps of 1/256, 0 being as little as 1/256. Others are clamped and reported
}

// Rate tells how often an entity's components are captured. Changes in between are sent with the next capture, the
// last value before rest too. Which ticks are its turn depends on the entity, or on its group: see Group. Components that
// are added or removed, the entity's birth and death, and the components Owner, Group, Priority and Rate do not wait.
type Rate struct {
	Every uint16 // ticks; 0 and 1: each tick
}

// Kind is the game's own number for a kind of entities. Clients use it to give an entity its local components, such as a sprite
// (OnSpawnKind). Register it with netcode.Replicate.
type Kind struct {
	ID uint16 // the game's own number for it
}
