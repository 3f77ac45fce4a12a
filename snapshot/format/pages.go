package format

// PageEntities is how many entities one page has: those of one word of a bitset, neighbours by index.
const PageEntities = 64

// MaxPages is how many pages there are.
const MaxPages = MaxEntities / PageEntities

// MaxNear is how many ticks N lies before R at most: the farther, the less it tells about the movement at R.
const MaxNear = 15

// NibbleSize is how many entities of a page have one symbol.
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
