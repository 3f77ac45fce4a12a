package systems

import (
	"errors"
	"fmt"
	"io"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// ErrNotInitialized means that a call came before Initialize of the systems. A Runner initialises them in its first
// frame.
var ErrNotInitialized = errors.New("netcode: the systems are not initialized: call this in a system, or after the first Step of a Runner")

// Load spawns the entities of a saved game of record.Save in a server's world, and returns them. They are replicated from
// the next network tick on. Entity handles and relations are mapped to the new entities. Owners and named writers are the
// saved ones. Other entities of the world stay.
//
// Call it after the systems' Initialize, while no query is open. The errors are those of record.ReadSaved,
// ErrNotInitialized, and one for a server without enough room. After an error nothing has changed.
func Load(group *ServerSystems, w *netecs.World, in io.Reader) ([]netecs.Entity, error) {
	return load(group, w, in, nil)
}

// LoadFor is Load of what one player owned, as record.SaveSome writes it: all entities belong to client, by a components.Owner.
// Other numbers of clients in components are those of the server that saved.
func LoadFor(group *ServerSystems, w *netecs.World, in io.Reader, client netcode.ClientID) ([]netecs.Entity, error) {
	entities, err := load(group, w, in, &client)
	for _, e := range entities {
		netecs.Own(w, e, client)
	}
	return entities, err
}

// load is Load. client, if not nil, takes the place of each saved client.
func load(group *ServerSystems, w *netecs.World, in io.Reader, client *netcode.ClientID) ([]netecs.Entity, error) {
	s := group.Server
	schema := s.Protocol().Schema()
	if group.Tick.capture == nil {
		return nil, ErrNotInitialized
	}
	saved, err := record.ReadSaved(in, schema)
	if err != nil {
		return nil, err
	}
	if room := s.Store().MaxEntities() - s.Store().Len(); saved.Len() > room {
		return nil, fmt.Errorf("netcode: systems.Load: %d saved entities, and Config.MaxEntities leaves room for %d", saved.Len(), room)
	}
	ids := make([]netcode.NetworkID, saved.Len())
	return netecs.Restore(w, schema, &netecs.Restored{
		Len: saved.Len(),
		Rows: func(i int) snapshot.Mask {
			rows, _, _ := saved.Entity(i)
			return rows
		},
		Row: saved.Row,
		Made: func(i int, e netecs.Entity) {
			_, owner, named := saved.Entity(i)
			if client != nil && named != 0 {
				named = *client
			}
			if client != nil {
				owner = *client
			}
			ids[i], _ = group.ID(e)
			s.SetOwner(ids[i], owner)
			s.Store().SetNamed(ids[i], named)
		},
		ID: func(i int) wire.NetworkID { return ids[i] },
	}), nil
}
