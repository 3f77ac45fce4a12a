package collections

import (
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/wire"
)

// Forge sends arbitrary bytes as a collection, on any channel, about any entity or none.
func Forge(s *netcode.Server, to netcode.ClientID, channel wire.Channel, about netcode.NetworkID, body []byte) error {
	all, _ := extend.ExtensionOf[*types](s.Protocol())
	registered := reflect.ValueOf(all.raw).Elem()
	forged := reflect.New(registered.Type())
	forged.Elem().Set(registered)
	forged.Elem().FieldByName("Channel").Set(reflect.ValueOf(channel))
	raw, ok := forged.Interface().(extend.Raw)
	if !ok {
		return errs.ErrMisuse
	}
	return raw.Send(extend.OfServer(s).Session(to), about, body)
}
