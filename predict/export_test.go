package predict

import (
	"context"

	"github.com/arche-netcode/netcode"
)

// AskLocals asks a server for the local components of entities, whoever they are of.
func AskLocals(end *netcode.Client, entities []netcode.NetworkID, f func(data []byte, err error)) error {
	return netcode.Call(context.Background(), end, 0, &askLocals{Entities: entities}, func(a *localsAnswer, err error) {
		if err != nil {
			f(nil, err)
			return
		}
		f(a.Data, nil)
	})
}
