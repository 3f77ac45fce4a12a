package interest

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// roll holds one thing for each client, in ascending order of clients: what goes through it goes in the same order
// everywhere.
type roll[T any] struct {
	clients []wire.ClientID
	of      []*T
	spare   []*T // of clients that were retired, as good as new
}

// get is the client's, nil if it has none.
func (r *roll[T]) get(client wire.ClientID) *T {
	if at, found := slices.BinarySearch(r.clients, client); found {
		return r.of[at]
	}
	return nil
}

// open is the client's, a new one if it had none.
func (r *roll[T]) open(client wire.ClientID) *T {
	at, found := slices.BinarySearch(r.clients, client)
	if found {
		return r.of[at]
	}
	var of *T
	if last := len(r.spare) - 1; last >= 0 {
		of, r.spare = r.spare[last], r.spare[:last]
	} else {
		of = new(T)
	}
	r.clients = slices.Insert(r.clients, at, client)
	r.of = slices.Insert(r.of, at, of)
	return of
}

// retire drops the client's, which is as if it were new, to be used again.
func (r *roll[T]) retire(client wire.ClientID) {
	if of := r.get(client); of != nil {
		r.spare = append(r.spare, of)
		r.drop(client)
	}
}

func (r *roll[T]) drop(client wire.ClientID) {
	if at, found := slices.BinarySearch(r.clients, client); found {
		r.clients = slices.Delete(r.clients, at, at+1)
		r.of = slices.Delete(r.of, at, at+1)
	}
}
