package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

func TestFetchReadsWhatRowReads(t *testing.T) {
	d := newDuo(t)
	var ids []wire.NetworkID
	p := d.at(1, func() {
		for x := range uint32(2*pageRows + 3) {
			ids = append(ids, d.spawn(x))
		}
	})
	for ; p != nil; p = d.write() {
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	for p = d.at(2, func() { d.move(ids[pageRows], 9) }); p != nil; p = d.write() {
		d.deliver(p)
		d.view.Acked(p.seq)
	}
	require.Equal(t, len(ids), d.replica.Len())
	for row := range d.store.schema.Rows() {
		fetch := d.replica.Fetch(row)
		for _, id := range ids {
			if want := d.replica.Row(id.Index, row); want != nil {
				require.Equal(t, want, fetch.At(id.Index), "row %d of %s", row, id)
			}
		}
	}
	fetch := d.replica.Fetch(rowPosition)
	require.EqualValues(t, 9, fetch.At(ids[pageRows].Index)[0])
}
