package snapshot

import "github.com/arche-netcode/netcode/wire"

// Between Begin and Commit nobody knows yet what a tick will be. What is asked of a view then waits for the commit: it
// takes effect when the view observes that, in the order of the calls, as if they had been made behind it.

// order is one such call.
type order struct {
	what   orderKind
	id     wire.NetworkID
	rows   Mask
	weight uint16
	show   bool
}

type orderKind uint8

const (
	orderShow orderKind = iota
	orderHide
	orderKeep
	orderRows
	orderWeight
	orderAgain
	orderShowNew
	orderShowAll
)

// waitsForCommit keeps an order until the commit, if a tick is open, and else observes the newest one, as every order
// does before it is obeyed.
func (v *View) waitsForCommit(o order) bool {
	if v.store.open {
		v.orders = append(v.orders, o)
		return true
	}
	v.Observe()
	return false
}

// obey carries out what waited for the commit that was observed.
func (v *View) obey() {
	for i := range v.orders {
		switch o := &v.orders[i]; o.what {
		case orderShow:
			v.Show(o.id)
		case orderHide:
			v.Hide(o.id)
		case orderKeep:
			v.Keep(o.id)
		case orderRows:
			v.SetRows(o.id, o.rows)
		case orderWeight:
			v.SetWeight(o.id, o.weight)
		case orderAgain:
			v.Again(o.id)
		case orderShowNew:
			v.ShowNew(o.show)
		case orderShowAll:
			v.ShowAll()
		}
	}
	v.orders = v.orders[:0]
}
