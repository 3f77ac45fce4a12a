package format

// PageEntities is the number of entities of a page, neighbours by index. They are one word of a bitset.
const PageEntities = 64

// MaxPages is the number of pages.
const MaxPages = MaxEntities / PageEntities

// MaxNear is the most ticks from N to R: the farther, the less N tells about the movement at R.
const MaxNear = 15

// NibbleSize is the number of entities of a page that share one symbol.
const NibbleSize = 4

// The alphabet of Codes.Nibble: bit i is set when there is a record of the i-th.
const (
	NibbleEnd   = 1 << NibbleSize // no more of the page
	nibbleCount = NibbleEnd + 1
)

// Contexts of Codes.Nibble: how many of the four before there was a record of.
const (
	AfterNone = iota
	AfterSome
	AfterAll // and at first
	nibbleContexts
)

// AfterNibble is the context behind a symbol.
func AfterNibble(symbol int) int {
	switch symbol {
	case 0:
		return AfterNone
	case NibbleEnd - 1:
		return AfterAll
	}
	return AfterSome
}
