package netcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/delta"
)

type tableRow struct{ A, B, C, D, E, F, G int32 }

// What tables of no component are called is a component's name like any other.
func TestComponentsMayHaveNamesOfTables(t *testing.T) {
	for _, name := range []string{"rows", "class", "list", "rows.1", "class.which1", "list.four"} {
		p := netcode.NewProtocol()
		netcode.Replicate[tableRow](p, netcode.Named(name))
		require.NotPanics(t, func() { p.Hash() }, name)
	}
}

func TestTablesOfAnotherFormAreToldAtTheStart(t *testing.T) {
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, false)
	old := netcode.NewProtocol()
	netcode.Replicate[position](old, netcode.Named("Place"))
	require.NoError(t, old.Schema().SetTables(counting))
	tables, err := trainer.Build()
	require.NoError(t, err)
	changed := netcode.NewProtocol()
	netcode.Replicate[tableRow](changed, netcode.Named("Place"))
	changed.UseTables(tables)
	said := func() (said any) {
		defer func() { said = recover() }()
		changed.Hash()
		return nil
	}()
	require.Regexp(t, "^netcode: UseTables: .* train them anew .*component Place: .*table Place.which0", said)
}
